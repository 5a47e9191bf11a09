"""The search: breadth-first over every run, shortest counterexamples first, whatever the engine."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.effort import LimitReached, Limits, Progress, Report
from electorate.check.engine import Path, SearchEngine
from electorate.check.judge import Judge, lack_of
from electorate.check.liveness import judge_goal
from electorate.check.model import Model
from electorate.check.moves import Moves, resumptions
from electorate.check.space import StateSpace
from electorate.check.stable import StableGraph, handed_over
from electorate.check.start import Beginning, anywhere, beginnings, exploring, met_at
from electorate.check.tidy_run import STATES_MAX, ordered_violation
from electorate.check.verdict import Violation
from electorate.check.witness_run import Finding
from electorate.claims import Claim, Kind, Witness
from electorate.core import Machine, Turns

NUMBERS_MAX = 0xFFFFFFFE
"""No engine can number more states."""

E = TypeVar("E", bound=SearchEngine)


class Search(Generic[E]):
    """One exhaustive search, with a way to every state so that runs can be told."""

    def __init__(
        self,
        machine: Machine[Any],
        model: Model,
        claims: Sequence[Claim],
        limits: Limits,
        make_engine: Callable[[Moves, Limits], E],
    ) -> None:
        began = time.perf_counter()
        self.space = StateSpace(Turns(machine), model, claims)
        self.moves = Moves(self.space)
        self.claims = claims
        self.judge = Judge(self.space, claims)
        self.states_max = limits.states
        self.broken: dict[str, tuple[int, Witness]] = {}
        """The claims that break, each with the first state where it does, or before which."""
        self.engine = make_engine(self.moves, limits)
        self.stable: StableGraph | None = None
        if self.engine.stable is not None:
            tells = limits.tells_ways
            self.stable = StableGraph(
                self.moves, self.judge, self.engine.stable, self._path_to_stable, tells_ways=tells
            )
        self.origins: dict[Row, Beginning] = {}
        """The rows that runs begin with, and how each is reached."""
        self._make_engine = make_engine
        self._limits = limits
        self._handed_over = handed_over(self.space, limits)
        self._depth = 0
        self._last_rows: dict[str, tuple[Row, Row]] = {}
        """The rows between which claims about two rows break."""
        self._met: list[set[tuple[int, int]]] | None = None
        self._began = time.perf_counter()
        self._preparing = self._began - began

    # --- what was seen ---

    @property
    def states(self) -> int:
        """How many states were met."""
        return self.engine.states

    @property
    def depth(self) -> int:
        """How many moves the farthest of them is away."""
        return self._depth

    @property
    def transitions(self) -> int:
        """How many moves were made."""
        lean = self.stable is not None and self._handed_over is not None
        stable = self.stable.transitions if self.stable is not None and lean else 0
        return self.engine.transitions + stable

    @property
    def stable_states(self) -> int:
        """How many states the stable graph has."""
        return 0 if self.stable is None else len(self.stable)

    def progress(self, phase: str, level: int, frontier: int) -> Progress:
        """How far this search has come."""
        effort = self.engine.effort(self._preparing, time.perf_counter() - self._began)
        states = max(self.states, self.stable_states)
        return Progress(phase, level, frontier, states, self.transitions, effort)

    def close(self) -> None:
        """Let go of whatever the engine holds."""
        self.engine.close()

    # --- the search ---

    def run(self, report: Report) -> bool:
        """Explore until all is seen, or every claim that can break has; says which."""
        safety = sum(claim.kind.is_safety for claim in self.claims)
        for beginning in self._beginnings(report):
            self.origins.setdefault(beginning.row, beginning)
            self.space.beginnings.setdefault(beginning.row, beginning)
        self.engine.begin(self.origins)
        level = 0
        while True:
            frontier = self.engine.next_level()
            self._judge_level()
            if not frontier:
                return True
            self._depth = level
            report(self.progress("search", level, frontier))
            if safety and len(self.broken) == safety and not self._limits.keep_going:
                return False
            if self.states > min(self.states_max, NUMBERS_MAX):
                raise LimitReached(f"more than {self.states_max:,} states (--states-max)")
            if self.stable is not None:
                self.stable.meet()
                self.stable.advance(self.states_max)
            self.engine.expand(self._handed_over, self._step if self.judge.steps else None)
            level += 1

    def _judge_level(self) -> None:
        for state, row in self.engine.unjudged():
            judgement = self.judge.of(row)
            self.judge.note_observation(judgement)
            for claim, witness in judgement.broken:
                self.broken.setdefault(claim.name, (state, witness))
        self.judge.note(self.engine.facts)
        if self._met is not None:
            for known, pairs in zip(self._met, self.engine.pairs(), strict=True):
                known |= pairs

    def _step(self, state: int, before: Row, after: Row) -> None:
        """Judge the claims about two rows that follow one another."""
        for claim, witness in self.judge.of_step(before, after):
            if claim.name not in self.broken:
                self.broken[claim.name] = (state, witness)
                self._last_rows[claim.name] = (before, after)

    def _beginnings(self, report: Report) -> list[Beginning]:
        if not self.space.model.begins_anywhere:
            return beginnings(self.moves, lack_of)
        model = exploring(self.space.model)
        first = Search(self.space.machine, model, (), self._limits, self._make_engine)
        first._met = [set() for _ in self.space.ids]
        try:
            first.run(report)
        finally:
            first.close()
        self.judge.go_on_from(first.judge)
        self.space.cuts.update(first.space.cuts)
        met = [{met_at(first.space, *pair) for pair in pairs} for pairs in first._met]
        return anywhere(self.space, met, self.states_max)

    # --- the stable phase ---

    def findings(self, report: Report) -> list[Finding]:
        """What becomes of every goal once nothing fails any more."""
        stable = self.stable
        assert stable is not None
        self.engine.complete()
        report(self.progress("stable phase", self._depth, stable.states.frontier))
        while stable.states.frontier:
            stable.advance(self.states_max)
            report(self.progress("stable phase", self._depth, stable.states.frontier))
        stable.states.complete()
        self.judge.note(stable.states.facts)
        goals = [claim for claim in self.claims if claim.kind is Kind.GOAL]
        return [judge_goal(stable, goal) for goal in goals]

    # --- runs ---

    def path(self, state: int) -> Path:
        """The shortest way to a state, with the way to where its run begins."""
        return self._path_and_end(state)[0]

    def _path_and_end(self, state: int) -> tuple[Path, Row]:
        way, end = self.engine.way(state)
        first = way[0][0] if way else end
        return [*self.origins[first].path, *way], end

    def _path_to_stable(self, state: int) -> Path:
        """The shortest way to a state in which the faults end: all who are paused are resumed."""
        path, end = self._path_and_end(state)
        return [*path, *resumptions(self.space, end)]

    def violations(self, *, tidy: bool) -> list[Violation]:
        """Every broken safety claim with its shortest run, the tidiest of them if that matters."""
        starts = list(self.origins.values())
        return [
            ordered_violation(
                self.moves,
                self.judge,
                claim.name,
                starts,
                self._breaking_path(claim.name),
                self.states,
                STATES_MAX if tidy else 0,
            )
            for claim in self.claims
            if claim.name in self.broken
        ]

    def _breaking_path(self, name: str) -> Path:
        path = self.path(self.broken[name][0])
        if name in self._last_rows:
            before, after = self._last_rows[name]
            path.append((before, self._move_to(before, after)))
        return path

    def _move_to(self, row: Row, after: Row) -> Move:
        with self.space.looking_again():
            return next(move for move, other in self.moves.successors(row) if other == after)
