"""The breadth-first search of the reference explorer, on the table engine."""

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from electorate.check.anywhere import Met, anywhere, exploring, met_at
from electorate.check.calm import handed_over
from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.judge import Judge, lack_of
from electorate.check.limit import Limits
from electorate.check.memory import Memory
from electorate.check.model import Model
from electorate.check.order import STATES_MAX, ordered_violation
from electorate.check.progress import Effort, LimitReached, Progress, Report
from electorate.check.start import Beginning, beginnings
from electorate.check.table.calm import TableCalm
from electorate.check.table.engine import Engine
from electorate.check.table.liveness import judge_goal
from electorate.check.table.scenery import Scenery
from electorate.check.table.visited import HALF, NUMBERS_MAX, Level, Visited
from electorate.check.telling import Finding
from electorate.check.verdict import Violation
from electorate.check.world import World, resumptions
from electorate.claims import Claim, Kind, Witness
from electorate.core import Machine, Turns

THREADS_MAX = 8

Array = np.ndarray[Any, Any]
State = int
"""A state's number at its owner, times the number of owners, plus the owner; -1 for no parent."""


class TableSearch:
    """One exhaustive search. Rows are kept for the present level only."""

    def __init__(
        self,
        machine: Machine[Any],
        model: Model,
        claims: Sequence[Claim],
        limits: Limits,
    ) -> None:
        began = time.perf_counter()
        self.world = World(Turns(machine), model, claims)
        self.claims = claims
        self.judge = Judge(self.world, claims)
        self._limits = limits
        self.states_max = limits.states
        self._met: list[set[int]] | None = None
        self._bytes_per_state: float | None = None
        self._memory = Memory(limits.memory)
        workers = limits.threads or min(THREADS_MAX, len(os.sched_getaffinity(0)))
        self.stable_states = 0
        self.broken: dict[str, tuple[State, Witness]] = {}
        self._depth = 0
        self._owners = workers
        self._engine = Engine(self.world, workers, self._memory)
        self._visited = Visited(self.world.width, workers)
        self._origins: dict[Row, Beginning] = {}
        self._scenery = Scenery(self._engine.layout)
        self._last_rows: dict[str, tuple[Row, Row]] = {}
        """The rows between which claims about two rows break."""
        if self.judge.steps:
            self._engine.on_step = self._step
        self._calm: TableCalm | None = None
        self._handed_over = handed_over(self.world, limits)
        if any(claim.kind is Kind.GOAL for claim in claims):
            # The stable graph is closed up by one worker, which sees all of it.
            self._calm = TableCalm(
                self.world,
                self.judge,
                Engine(self.world, workers, self._memory, self._engine.book, owners=1),
                self._calm_replay,
                tells_ways=limits.tells_ways,
            )
        self._engine.warm_up(self._visited)
        self._began = time.perf_counter()
        self._compiling = self._began - began

    @property
    def states(self) -> int:
        """How many states were met."""
        return self._visited.size

    @property
    def depth(self) -> int:
        """How many moves the farthest of them is away."""
        return self._depth

    @property
    def transitions(self) -> int:
        """How many moves were made."""
        stable = self._calm.transitions if self._calm and self._handed_over is not None else 0
        return self._engine.transitions + stable

    @property
    def bytes_per_state(self) -> float:
        """Memory for a visited state, beyond the frontier, while the search goes on."""
        return self._bytes_per_state or self._visited.bytes / max(1, self.states)

    def run(self, report: Report) -> bool:
        """Explore until all is seen, or every claim that can break has; says which."""
        always = sum(claim.kind.is_safety for claim in self.claims)
        for beginning in self._beginnings(report):
            self._origins.setdefault(beginning.row, beginning)
            self.world.beginnings.setdefault(beginning.row, beginning)
        self._begin()
        level = 0
        while True:
            shares = self._visited.next_levels()
            if self._met is not None:
                self._collect(self._met, shares)
            self._judge_level(shares)
            frontier = sum(share.size for share in shares)
            if not frontier:
                return True
            self._depth = level
            report(self.progress("search", level, frontier))
            if always and len(self.broken) == always and not self._limits.keep_going:
                return False
            if self.states > min(self.states_max, NUMBERS_MAX):
                raise LimitReached(f"more than {self.states_max:,} states (--states-max)")
            if self._calm is not None:
                for owner, share in enumerate(shares):
                    self._calm.meet(share.rows, self._numbers(owner, share))
                self._advance(self._calm)
            for owner, share in enumerate(shares):
                self._expand(share.rows, share.marks, self._numbers(owner, share))
            level += 1

    def _expand(self, rows: Array, marks: Array, numbers: Array) -> None:
        if self._handed_over is not None:
            mine = np.flatnonzero(rows[:, -1] != self._handed_over)
            rows, marks, numbers = rows[mine], marks[mine], numbers[mine]
        self._engine.run(rows, marks, numbers, self._visited, keep_all=False, accept=self._take_in)

    def _beginnings(self, report: Report) -> list[Beginning]:
        if not self.world.model.begins_anywhere:
            return beginnings(self.world, lack_of)
        first = TableSearch(self.world.machine, exploring(self.world.model), (), self._limits)
        met = first.met(report)
        self.judge.go_on_from(first.judge)
        self.world.cuts.update(first.world.cuts)
        return anywhere(self.world, met, self.states_max)

    def met(self, report: Report) -> list[set[Met]]:
        """What every node is met as."""
        self._met = [set() for _ in self.world.ids]
        try:
            self.run(report)
        finally:
            self.close()
        return [
            {met_at(self.world, pair >> 32, pair & HALF) for pair in pairs} for pairs in self._met
        ]

    def _collect(self, met: list[set[int]], shares: list[Level]) -> None:
        """Take down the codes of each node and of its detector."""
        watch = self.world.watch_column if self.world.machine.uses_views else 0
        for place, pairs in enumerate(met):
            for share in shares:
                rows = share.rows.astype(np.int64)
                pairs.update(map(int, np.unique(rows[:, place] << 32 | rows[:, watch + place])))

    def _numbers(self, owner: int, share: Level) -> np.ndarray[Any, Any]:
        """The numbers of one owner's states of a level."""
        numbers = np.arange(share.first, share.first + share.size, dtype=np.int64)
        return numbers * self._owners + owner

    def _begin(self) -> None:
        self._engine.book.keep_up()  # The rows that runs begin with have parts that are new to it.
        room = self._visited.room_after(len(self._origins))
        self._visited.grow(room, self._engine.each_owner)
        for row in self._origins:
            mark = self._engine.mark(row)
            self._visited.take_in(
                self._engine.owner(mark),
                np.array([row], np.int32),
                np.array([mark], np.uint64),
                np.array([-1], np.int64),
            )

    def _take_in(self, owner: int) -> None:
        for rows, marks, sources, _ in self._engine.offered(owner):
            self._visited.take_in(owner, rows, marks, sources)

    # --- the stable phase ---

    def findings(self, report: Report) -> list[Finding]:
        """What becomes of every goal once nothing fails any more."""
        assert self._calm is not None
        self._bytes_per_state = self.bytes_per_state
        self._visited.forget_slots()
        while self._calm.frontier:
            report(self.progress("stable phase", self._depth, self._calm.frontier))
            self._advance(self._calm)
        self._calm.complete()
        self.judge.note(self._calm.facts)
        goals = [claim for claim in self.claims if claim.kind is Kind.GOAL]
        return [judge_goal(self._calm, goal) for goal in goals]

    # --- claims ---

    def _judge_level(self, shares: list[Level]) -> None:
        """Judge every scene that has not been judged before."""
        sights = self._engine.book.tables().sights
        for owner, share in enumerate(shares):
            for place in self._scenery.new_among(share.rows, sights):
                judgement = self.judge.of(tuple(map(int, share.rows[place])))
                self.judge.note_scene(judgement)
                number = (share.first + place) * self._owners + owner
                for claim, witness in judgement.broken:
                    self.broken.setdefault(claim.name, (number, witness))
        self.judge.note(self._engine.facts)

    def _step(self, number: int, before: Row, after: Row) -> None:
        """Judge the claims about two rows that follow one another."""
        for claim, witness in self.judge.of_step(before, after):
            if claim.name not in self.broken:
                self.broken[claim.name] = (number, witness)
                self._last_rows[claim.name] = (before, after)

    # --- runs ---

    def path(self, state: State) -> list[tuple[Row, Move]]:
        """The way to a state, found again move by move with the reference world."""
        return self._replayed(state)[0]

    def _replayed(self, state: State) -> tuple[list[tuple[Row, Move]], Row]:
        halves: list[int] = []
        while state >= 0:
            state, half = self._visited.trails[state % self._owners].of(state // self._owners)
            halves.append(half)
        halves.reverse()
        row = next(row for row in self._origins if self._half(row) == halves[0])
        path = list(self._origins[row].path)
        for half in halves[1:]:
            move, after = self._step_to(row, half)
            path.append((row, move))
            row = after
        return path, row

    def _half(self, row: Row) -> int:
        """The lower half of a row's fingerprint."""
        return int(self._engine.mark(row)) & HALF

    def _calm_replay(self, state: State) -> tuple[list[tuple[Row, Move]], Row]:
        """The way to a state in which the faults end, where whoever is paused is resumed."""
        path, row = self._replayed(state)
        return [*path, *resumptions(self.world, row)], row

    def _advance(self, calm: TableCalm) -> None:
        try:
            calm.advance(self.states_max)
        finally:
            self.stable_states = len(calm)

    def _step_to(self, row: Row, half: int) -> tuple[Move, Row]:
        cuts = self.world.cuts.copy()
        for move, after in self.world.successors(row):
            if self._half(after) == half:
                self.world.cuts = cuts  # To look again is no new cut.
                return move, after
        raise AssertionError("the reference explorer does not know this step of the table engine")

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

    def _breaking_path(self, name: str, state: State) -> list[tuple[Row, Move]]:
        path = self.path(state)
        if name in self._last_rows:
            before, after = self._last_rows[name]
            path.append((before, self._step_to(before, self._half(after))[0]))
        return path

    def close(self) -> None:
        """Let the workers go."""
        self._engine.close()
        if self._calm is not None:
            self._calm.close()

    def progress(self, phase: str, level: int, frontier: int) -> Progress:
        """How far this search has come."""
        book = self._engine.book
        effort = Effort(
            time.perf_counter() - self._began,
            self._compiling,
            Memory.used(),
            self.bytes_per_state,
            book.size,
            max(0.0, 1 - book.filled / max(1, self._engine.look_ups)),
        )
        states = max(self.states, self.stable_states)
        return Progress(phase, level, frontier, states, self.transitions, effort)
