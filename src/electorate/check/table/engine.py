"""The table engine: states by fingerprint, expanded by compiled loops over tables."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.effort import Effort, Limits, Memory
from electorate.check.engine import OnStep, Path
from electorate.check.model import Model
from electorate.check.moves import Moves
from electorate.check.search import Search
from electorate.check.table.observed import JudgedObservations
from electorate.check.table.stable import TableStable
from electorate.check.table.visited import HALF, Level, Visited
from electorate.check.table.workers import Workers
from electorate.claims import Claim, Kind
from electorate.core import Machine

THREADS_MAX = 8

Array = np.ndarray[Any, Any]
State = int
"""A state's number at its owner, times the number of owners, plus the owner; -1 for no parent."""


class Table:
    """All states of a search. Rows are kept for the present level only."""

    def __init__(self, moves: Moves, limits: Limits) -> None:
        self.moves = moves
        self.space = moves.space
        self.shares: list[Level] = []
        """The states of the present level, by owner."""
        self._bytes_per_state: float | None = None
        memory = Memory(limits.memory)
        owners = limits.threads or min(THREADS_MAX, len(os.sched_getaffinity(0)))
        self._owners = owners
        self._workers = Workers(moves, owners, memory)
        self._visited = Visited(self.space.columns.width, owners)
        self._observed = JudgedObservations(self._workers.layout)
        self._first: list[Row] = []
        self.stable: TableStable | None = None
        if any(claim.kind is Kind.GOAL for claim in self.space.claims):
            # The stable graph is closed up by one owner, which sees all of it.
            alone = Workers(moves, owners, memory, self._workers.tables, owners=1)
            self.stable = TableStable(self, alone)
        self._workers.warm_up(self._visited)

    @property
    def states(self) -> int:
        """How many were met."""
        return self._visited.size

    @property
    def transitions(self) -> int:
        """How many moves were made."""
        return self._workers.transitions

    @property
    def facts(self) -> int:
        """What moves have shown to be possible."""
        return self._workers.facts

    def begin(self, rows: Iterable[Row]) -> None:
        """Enter the rows that runs begin with."""
        self._first = list(rows)
        self._workers.tables.keep_up()  # These rows have parts that are new to it.
        room = self._visited.room_after(len(self._first))
        self._visited.grow(room, self._workers.each_owner)
        for row in self._first:
            mark = self._workers.mark(row)
            self._visited.take_in(
                self._workers.owner(mark),
                np.array([row], np.int32),
                np.array([mark], np.uint64),
                np.array([-1], np.int64),
            )

    def next_level(self) -> int:
        """Turn to the states that were met last; how many they are."""
        self.shares = self._visited.next_levels()
        return sum(share.size for share in self.shares)

    def unjudged(self) -> Iterator[tuple[State, Row]]:
        """The states of this level that show claims what no state before them has shown."""
        sights = self._workers.tables.arrays().sights
        for owner, share in enumerate(self.shares):
            for place in self._observed.new_among(share.rows, sights):
                number = (share.first + place) * self._owners + owner
                yield number, tuple(map(int, share.rows[place]))

    def pairs(self) -> Iterator[set[tuple[int, int]]]:
        """For each node the codes that it and its detector have at this level."""
        watch = self.space.columns.watch_column if self.space.machine.uses_views else 0
        for place in range(self.space.n):
            pairs: set[int] = set()
            for share in self.shares:
                rows = share.rows.astype(np.int64)
                pairs.update(map(int, np.unique(rows[:, place] << 32 | rows[:, watch + place])))
            yield {(pair >> 32, pair & HALF) for pair in pairs}

    def numbers(self, owner: int) -> Array:
        """The numbers of one owner's states of the present level."""
        share = self.shares[owner]
        numbers = np.arange(share.first, share.first + share.size, dtype=np.int64)
        return numbers * self._owners + owner

    def expand(self, skipped: int | None, on_step: OnStep | None) -> None:
        """Meet the successors of this level, but for those of states with the budget `skipped`."""
        self._workers.on_step = on_step
        for owner, share in enumerate(self.shares):
            rows, marks, numbers = share.rows, share.marks, self.numbers(owner)
            if skipped is not None:
                mine = np.flatnonzero(rows[:, -1] != skipped)
                rows, marks, numbers = rows[mine], marks[mine], numbers[mine]
            self._workers.run(
                rows, marks, numbers, self._visited, keep_all=False, accept=self._take_in
            )

    def _take_in(self, owner: int) -> None:
        for rows, marks, sources, _ in self._workers.offered(owner):
            self._visited.take_in(owner, rows, marks, sources)

    def way(self, state: State) -> tuple[Path, Row]:
        """A shortest way from where a run begins to a state, found again move by move."""
        halves: list[int] = []
        while state >= 0:
            state, half = self._visited.trails[state % self._owners].of(state // self._owners)
            halves.append(half)
        halves.reverse()
        row = next(row for row in self._first if self.half(row) == halves[0])
        path: Path = []
        for half in halves[1:]:
            move, after = self.step_to(row, half)
            path.append((row, move))
            row = after
        return path, row

    def half(self, row: Row) -> int:
        """The lower half of a row's fingerprint."""
        return int(self._workers.mark(row)) & HALF

    def step_to(self, row: Row, half: int) -> tuple[Move, Row]:
        """The move to the row with such a fingerprint, and that row."""
        with self.space.looking_again():
            for move, after in self.moves.successors(row):
                if self.half(after) == half:
                    return move, after
        raise AssertionError("the reference explorer does not know this step of the table engine")

    def complete(self) -> None:
        """All states are known: let go of what found them."""
        self._bytes_per_state = self.bytes_per_state
        self._visited.forget_slots()

    @property
    def bytes_per_state(self) -> float:
        """Memory for a visited state, beyond the frontier, while the search goes on."""
        return self._bytes_per_state or self._visited.bytes / max(1, self.states)

    def effort(self, preparing: float, searching: float) -> Effort:
        """What was taken, given the seconds before and after the search began."""
        tables = self._workers.tables
        return Effort(
            searching,
            preparing,
            Memory.used(),
            self.bytes_per_state,
            tables.size,
            max(0.0, 1 - tables.filled / max(1, self._workers.look_ups)),
        )

    def close(self) -> None:
        """Let the workers go."""
        self._workers.close()
        if self.stable is not None:
            self.stable.close()


def table_search(
    machine: Machine[Any], model: Model, claims: Sequence[Claim], limits: Limits
) -> Search[Table]:
    """A search by the table engine."""
    return Search(machine, model, claims, limits, Table)
