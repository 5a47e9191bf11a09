"""The reference explorer: breadth-first over every run, shortest counterexamples first.

Plain Python, meant to be read; faster engines must agree with it, state for state.
"""

import time
from collections.abc import Sequence
from typing import Any

from electorate.check.anywhere import Met, anywhere, exploring, met_at
from electorate.check.calm import Calm, handed_over
from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.judge import Judge, lack_of
from electorate.check.limit import Limits
from electorate.check.liveness import judge_goal
from electorate.check.memory import Memory
from electorate.check.model import Model
from electorate.check.order import STATES_MAX, ordered_violation
from electorate.check.progress import Effort, LimitReached, Progress, Report
from electorate.check.start import Beginning, beginnings
from electorate.check.telling import Finding
from electorate.check.verdict import Violation
from electorate.check.world import World, resumptions
from electorate.claims import Claim, Kind, Witness
from electorate.core import Machine, Turns

MEMORY_EVERY = 1024
"""After so many states memory is looked at."""


class Search:
    """One exhaustive search, with a parent for every state so that runs can be told."""

    def __init__(
        self,
        machine: Machine[Any],
        model: Model,
        claims: Sequence[Claim],
        limits: Limits,
    ) -> None:
        self.world = World(Turns(machine), model, claims)
        self.claims = claims
        self.judge = Judge(self.world, claims)
        self._limits = limits
        self.states_max = limits.states
        self._memory = Memory(limits.memory)
        self.rows: list[Row] = []
        self.parents: list[tuple[int, Move] | None] = []
        self.depths: list[int] = []
        self.transitions = 0
        self._facts = 0
        """What moves have shown to be possible."""
        self.stable_states = 0
        self.broken: dict[str, tuple[int, Witness]] = {}
        self._index: dict[Row, int] = {}
        self._last_moves: dict[str, tuple[Row, Move]] = {}
        """The moves that break claims about two rows."""
        self._origins: dict[Row, Beginning] = {}
        self._started = time.perf_counter()

    def run(self, report: Report) -> bool:
        """Explore until all is seen, or every claim that can break has; says which."""
        always = sum(claim.kind.is_safety for claim in self.claims)
        for beginning in self._beginnings(report):
            self._origins.setdefault(beginning.row, beginning)
            self.world.beginnings.setdefault(beginning.row, beginning)
            self._meet(beginning.row, None, 0)
        level, first = 0, 0
        stable = handed_over(self.world, self._limits)
        while first < len(self.rows):
            last = len(self.rows)
            report(self.progress("search", level, last - first))
            if always and len(self.broken) == always and not self._limits.keep_going:
                return False
            for place in range(first, last):
                self._expect()
                if self.rows[place][-1] != stable:
                    self._expand(place, level)
            self.judge.note(self._facts)
            first, level = last, level + 1
        return True

    def _beginnings(self, report: Report) -> list[Beginning]:
        if not self.world.model.begins_anywhere:
            return beginnings(self.world, lack_of)
        first = Search(self.world.machine, exploring(self.world.model), (), self._limits)
        first.run(report)
        self.judge.go_on_from(first.judge)
        self.world.cuts.update(first.world.cuts)
        return anywhere(self.world, first.met(), self.states_max)

    def met(self) -> list[set[Met]]:
        """What every node was met as."""
        world = self.world
        watch = world.watch_column if world.machine.uses_views else 0
        pairs = [{(row[p], row[watch + p]) for row in self.rows} for p in range(world.n)]
        return [{met_at(world, *pair) for pair in found} for found in pairs]

    def _expect(self) -> None:
        """Stop at a limit."""
        if len(self.rows) > self.states_max:
            raise LimitReached(f"more than {self.states_max:,} states (--states-max)")
        if len(self.rows) % MEMORY_EVERY == 0:
            self._memory.expect()

    def _expand(self, place: int, level: int) -> None:
        row, index, facts = self.rows[place], self._index, self._facts
        steps = self.world.steps(row)
        self.transitions += len(steps)
        for effect, after in steps:
            facts |= effect.facts
            if after not in index:
                self._meet(after, (place, effect.move), level + 1)
        self._facts = facts
        if self.judge.steps:
            for effect, after in steps:
                self._step(place, row, effect.move, after)

    def _step(self, place: int, row: Row, move: Move, after: Row) -> None:
        """Judge the claims about two rows that follow one another."""
        for claim, witness in self.judge.of_step(row, after):
            if claim.name not in self.broken:
                self.broken[claim.name] = (place, witness)
                self._last_moves[claim.name] = (row, move)

    def _meet(self, row: Row, parent: tuple[int, Move] | None, depth: int) -> None:
        if row in self._index:
            return
        place = self._index[row] = len(self.rows)
        self.rows.append(row)
        self.parents.append(parent)
        self.depths.append(depth)
        judgement = self.judge.of(row)
        self.judge.note_scene(judgement)
        for claim, witness in judgement.broken:
            self.broken.setdefault(claim.name, (place, witness))

    def path(self, place: int) -> list[tuple[Row, Move]]:
        """The shortest way to a state."""
        path: list[tuple[Row, Move]] = []
        while (parent := self.parents[place]) is not None:
            place, move = parent
            path.append((self.rows[place], move))
        return [*self._origins[self.rows[place]].path, *reversed(path)]

    def _path_to_calm(self, place: int) -> list[tuple[Row, Move]]:
        """The shortest way to a state in which the faults end: whoever is paused is resumed."""
        return [*self.path(place), *resumptions(self.world, self.rows[place])]

    def violations(self, *, tidy: bool) -> list[Violation]:
        """Every broken safety claim with its shortest run, the tidiest of them if that matters."""
        starts = list(self._origins.values())
        return [
            ordered_violation(
                self.world,
                self.judge,
                claim.name,
                starts,
                self._breaking_path(claim.name, self.broken[claim.name][0]),
                self.states,
                STATES_MAX if tidy else 0,
            )
            for claim in self.claims
            if claim.name in self.broken
        ]

    def _breaking_path(self, name: str, place: int) -> list[tuple[Row, Move]]:
        last = self._last_moves.get(name)
        return self.path(place) if last is None else [*self.path(place), last]

    @property
    def states(self) -> int:
        """How many states were met."""
        return len(self.rows)

    @property
    def depth(self) -> int:
        """How many moves the farthest of them is away."""
        return self.depths[-1] if self.depths else 0

    def findings(self, report: Report) -> list[Finding]:
        """What becomes of every goal once nothing fails any more."""
        calm = self.calm(report)
        goals = [claim for claim in self.claims if claim.kind is Kind.GOAL]
        return [judge_goal(calm, goal) for goal in goals]

    def calm(self, report: Report) -> Calm:
        """Everything that can follow once nothing fails any more."""
        tells = self._limits.tells_ways
        calm = Calm(self.world, self.judge, self._path_to_calm, tells_ways=tells)
        roots: list[list[int]] = [[] for _ in range(self.depths[-1] + 1)]
        for place, depth in enumerate(self.depths):
            roots[depth].append(place)
        level = 0
        while level < len(roots) or calm.frontier:
            for place in roots[level] if level < len(roots) else ():
                calm.meet(self.world.stabilised(self.rows[place]), place, level)
            report(self.progress("stable phase", level, len(calm.frontier)))
            calm.expand_frontier()
            self._memory.expect()
            self.stable_states = len(calm.rows)
            if self.stable_states > self.states_max:
                raise LimitReached(f"more than {self.states_max:,} stable states (--states-max)")
            level += 1
        if handed_over(self.world, self._limits) is not None:
            self.transitions += len(calm.graph.targets)
        return calm

    def close(self) -> None:
        """There is nothing to let go of."""

    def progress(self, phase: str, level: int, frontier: int) -> Progress:
        """How far this search has come."""
        effort = Effort(time.perf_counter() - self._started, memory=Memory.used())
        return Progress(phase, level, frontier, len(self.rows), self.transitions, effort)
