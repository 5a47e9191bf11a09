"""The breadth-first search of the reference explorer, on the table engine."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from electorate.check.board import Row
from electorate.check.judge import ELECTED, TORN, Judge
from electorate.check.model import Model
from electorate.check.order import ordered_violation
from electorate.check.progress import LimitReached, Progress, Report
from electorate.check.start import Beginning, beginnings
from electorate.check.table.book import ELECTED_FACT, TORN_FACT, view_keys
from electorate.check.table.calm import TableCalm
from electorate.check.table.engine import Engine
from electorate.check.table.liveness import judge_goal
from electorate.check.table.visited import Visited
from electorate.check.telling import Finding
from electorate.check.verdict import Violation
from electorate.check.world import Move, World, resumptions
from electorate.claims import Claim, Kind, Witness
from electorate.core import Machine, Turns

State = int
"""A state's number at its owner, times the number of owners, plus the owner; -1 for no parent."""


class TableSearch:
    """One exhaustive search. Rows are kept for the present level only."""

    def __init__(
        self,
        machine: Machine[Any],
        model: Model,
        claims: Sequence[Claim],
        states_max: int,
        workers: int = 2,
    ) -> None:
        self.world = World(Turns(machine), model)
        self.claims = claims
        self.judge = Judge(self.world, claims)
        self.states_max = states_max
        self.stable_states = 0
        self.broken: dict[str, tuple[State, Witness]] = {}
        self._depth = 0
        self._owners = workers
        self._engine = Engine(self.world, workers)
        self._visited = [Visited(self.world.width, numbered=False) for _ in range(workers)]
        self._origins: dict[Row, Beginning] = {}
        self._judged: set[Any] = set()
        self._began = time.perf_counter()
        self._calm: TableCalm | None = None
        if any(claim.kind is Kind.GOAL for claim in claims):
            # The stable graph is closed up by one worker, which sees all of it.
            self._calm = TableCalm(
                self.world, self.judge, Engine(self.world, 1, self._engine.book), self._calm_path
            )

    @property
    def states(self) -> int:
        """How many states were met."""
        return sum(each.size for each in self._visited)

    @property
    def depth(self) -> int:
        """How many moves the farthest of them is away."""
        return self._depth

    @property
    def transitions(self) -> int:
        """How many moves were made."""
        return self._engine.transitions

    @property
    def bytes_per_state(self) -> float:
        """Memory for a visited state, beyond the frontier."""
        return sum(each.bytes for each in self._visited) / max(1, self.states)

    def run(self, report: Report) -> bool:
        """Explore until all is seen, or every claim that can break has; says which."""
        always = sum(claim.kind is Kind.ALWAYS for claim in self.claims)
        for beginning in beginnings(self.world, self._lack):
            self._origins.setdefault(beginning.row, beginning)
        self._begin()
        level = 0
        firsts = [0] * self._owners
        while True:
            lasts = [each.size for each in self._visited]
            self._judge_level(firsts, lasts)
            frontier = sum(lasts) - sum(firsts)
            if not frontier:
                return True
            self._depth = level
            report(self.progress("search", level, frontier))
            if always and len(self.broken) == always:
                return False
            if self.states > self.states_max:
                raise LimitReached(f"more than {self.states_max:,} states (--states-max)")
            if self._calm is not None:
                self._enter_calm(firsts, lasts)
            self._expand_level(firsts, lasts)
            for each, last in zip(self._visited, lasts, strict=True):
                each.drop_rows_before(last)
            firsts, level = lasts, level + 1

    def _begin(self) -> None:
        for row in self._origins:
            mark = self._engine.mark(row)
            self._visited[self._engine.owner(mark)].take_in(
                np.array([row], np.int32), np.array([mark]), np.array([-1], np.int64)
            )

    def _expand_level(self, firsts: list[int], lasts: list[int]) -> None:
        for owner, each in enumerate(self._visited):
            rows = each.rows[firsts[owner] - each.kept_from : lasts[owner] - each.kept_from]
            numbers = np.arange(firsts[owner], lasts[owner], dtype=np.int64)
            numbers = numbers * self._owners + owner
            marks = each.marks[firsts[owner] : lasts[owner]]
            # Copies, because taking states in may move the arrays these stand in.
            self._engine.run(
                rows.copy(),
                marks.copy(),
                numbers,
                self._visited,
                keep_all=False,
                accept=self._accept,
            )

    def _accept(self) -> None:
        self._engine.each_owner(self._take_in)

    def _take_in(self, owner: int) -> None:
        for rows, marks, sources, _ in self._engine.offered(owner):
            self._visited[owner].take_in(rows, marks, sources)

    # --- the stable phase ---

    def _enter_calm(self, firsts: list[int], lasts: list[int]) -> None:
        assert self._calm is not None
        for owner, each in enumerate(self._visited):
            rows = each.rows[firsts[owner] - each.kept_from : lasts[owner] - each.kept_from]
            numbers = np.arange(firsts[owner], lasts[owner], dtype=np.int64)
            self._calm.meet(rows, numbers * self._owners + owner)

    def findings(self, report: Report) -> list[Finding]:
        """What becomes of every goal once nothing fails any more."""
        assert self._calm is not None
        try:
            self._calm.close_up(self.states_max, report, self.progress)
        finally:
            self.stable_states = len(self._calm)
        goals = [claim for claim in self.claims if claim.kind is Kind.GOAL]
        return [judge_goal(self._calm, goal) for goal in goals]

    # --- claims ---

    def _judge_level(self, firsts: list[int], lasts: list[int]) -> None:
        """Judge every row of views that has not been judged before."""
        for owner, each in enumerate(self._visited):
            rows = each.rows[firsts[owner] - each.kept_from : lasts[owner] - each.kept_from]
            for place in self._strange(rows):
                row = tuple(map(int, rows[place]))
                judgement = self.judge.of(row)
                self.judge.sometimes_overlapped(judgement)
                number = (firsts[owner] + int(place)) * self._owners + owner
                for claim, witness in judgement.broken:
                    self.broken.setdefault(claim.name, (number, witness))
        facts = self._engine.facts
        self.judge.sometimes[ELECTED] |= bool(facts & ELECTED_FACT)
        self.judge.sometimes[TORN] |= bool(facts & TORN_FACT)

    def _strange(self, rows: np.ndarray[Any, Any]) -> list[int]:
        """One place for each row of views that is new."""
        keys = view_keys(self._engine.book, rows, self.world.n)
        unique, places = np.unique(keys, return_index=True)
        new = [int(p) for key, p in zip(unique, places, strict=True) if key not in self._judged]
        self._judged.update(unique)
        return sorted(new)

    def _lack(self, world: World, row: Row) -> str | None:
        lacking = Judge(world, self.claims).of(row).lacking
        return lacking[0][1].text if lacking else None

    # --- runs ---

    def path(self, state: State) -> list[tuple[Row, Move]]:
        """The way to a state, found again move by move with the reference world."""
        return self._replayed(state)[0]

    def _replayed(self, state: State) -> tuple[list[tuple[Row, Move]], Row]:
        marks: list[Any] = []
        while state >= 0:
            each = self._visited[state % self._owners]
            marks.append(each.marks[state // self._owners])
            state = int(each.parents[state // self._owners])
        marks.reverse()
        row = next(row for row in self._origins if self._engine.mark(row) == marks[0])
        path = list(self._origins[row].path)
        for mark in marks[1:]:
            move, after = self._step_to(row, mark)
            path.append((row, move))
            row = after
        return path, row

    def _calm_path(self, state: State) -> list[tuple[Row, Move]]:
        """The way to a state in which the faults end: whoever is paused is resumed."""
        path, row = self._replayed(state)
        return [*path, *resumptions(self.world, row)]

    def _step_to(self, row: Row, mark: Any) -> tuple[Move, Row]:
        cuts = self.world.cuts.copy()
        for move, after in self.world.successors(row):
            if self._engine.mark(after) == mark:
                self.world.cuts = cuts  # To look again is no new cut.
                return move, after
        raise AssertionError("the reference explorer does not know this step of the table engine")

    def violations(self) -> list[Violation]:
        """Every broken safety claim with its shortest run."""
        starts = list(self._origins.values())
        return [
            ordered_violation(self.world, self.judge, name, starts, self.path(state), self.states)
            for name, (state, _) in self.broken.items()
        ]

    def progress(self, phase: str, level: int, frontier: int) -> Progress:
        """How far this search has come."""
        seconds = time.perf_counter() - self._began
        return Progress(phase, level, frontier, self.states, self.transitions, seconds)
