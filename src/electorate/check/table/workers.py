"""Driving the kernel: chunks of rows out to the workers, candidates back to their owners."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from electorate.check.column import Row
from electorate.check.effort import Memory
from electorate.check.engine import OnStep
from electorate.check.moves import Moves
from electorate.check.table.expand import (
    FIRST_CUT,
    LOOK_UPS,
    SUCCESSORS,
    Origin,
    Scratch,
    Sink,
    expand,
)
from electorate.check.table.kernel import MEMORY, RENAME, STEP, Layout, Notes, fingerprint
from electorate.check.table.rename import rename_all
from electorate.check.table.tables import CUT_KINDS, GrowingTables
from electorate.check.table.visited import Visited

CHUNK = 1 << 14
ROOM = 1 << 18
MISSES = 4096
WORD = 0xFFFFFFFFFFFFFFFF


class Worker:
    """What one worker writes into."""

    def __init__(self, owners: int, layout: Layout) -> None:
        width = layout.width
        self.sink = Sink(
            np.empty((owners * ROOM, width), np.int32),
            np.empty((owners, ROOM), np.uint64),
            np.empty((owners, ROOM), np.int64),
            np.empty((owners, ROOM), np.uint8),
            np.zeros(owners, np.int64),
        )
        self.notes = Notes(
            np.empty((MISSES, 4), np.int64),
            np.zeros(1, np.int64),
            np.empty((MISSES, width), np.int32),
        )
        self.scratch = Scratch(
            np.empty((SUCCESSORS, layout.width), np.int32),
            np.empty(SUCCESSORS, np.uint64),
            np.empty(SUCCESSORS, np.int64),
            np.empty(SUCCESSORS, np.uint8),
            np.empty(layout.channels + 2 * layout.n + 1, np.uint64),
            np.zeros(FIRST_CUT + len(CUT_KINDS), np.int64),
            np.zeros(owners, np.int64),
        )
        self.redo = np.empty(CHUNK, np.int64)
        self.totals = np.zeros(FIRST_CUT + len(CUT_KINDS), np.int64)

    @property
    def bytes(self) -> int:
        """What the buffers take."""
        return sum(int(each.nbytes) for each in (*self.sink, self.notes.rows))


class Workers:
    """Expands rows by tables, with as many workers as there are owners of states."""

    def __init__(
        self,
        moves: Moves,
        workers: int,
        memory: Memory,
        tables: GrowingTables | None = None,
        owners: int | None = None,
    ) -> None:
        self.space = moves.space
        self.tables = tables or GrowingTables(moves)
        self.transitions = 0
        self.look_ups = 0
        self.facts = 0
        self.on_step: OnStep | None = None
        """Called with the number of a state, its row and the next one, for each new step."""
        self.layout = self.tables.layout()
        self._owners = owners or workers
        self._memory = memory
        self._workers = [Worker(self._owners, self.layout) for _ in range(workers)]
        self._pool = ThreadPoolExecutor(workers)

    def warm_up(self, visited: Visited) -> None:
        """Have everything compiled, or read from where it is kept compiled."""
        none, worker, empty = np.empty(0, np.int64), self._workers[0], visited.levels[0]
        origin = Origin(empty.rows, empty.marks, none, visited.slots, self._owners, False)
        self._expand(self.tables.arrays(), origin, none, worker, np.empty(0, np.bool_))
        visited.take_in(0, empty.rows, empty.marks, none)
        visited.grow(visited.slots.shape[1], self.each_owner)

    def mark(self, row: Row) -> Any:
        """The fingerprint of a row."""
        return fingerprint(np.array(row, np.int32))

    def owner(self, mark: Any) -> int:
        """Which share of the states a fingerprint belongs to."""
        return (int(mark) & 0xFFF) % self._owners

    @property
    def bytes(self) -> int:
        """What tables and buffers take."""
        return self.tables.bytes + sum(worker.bytes for worker in self._workers)

    def run(
        self,
        rows: np.ndarray[Any, Any],
        marks: np.ndarray[Any, Any],
        numbers: np.ndarray[Any, Any],
        visited: Visited,
        *,
        keep_all: bool,
        accept: Callable[[int], None],
    ) -> np.ndarray[Any, Any]:
        """Expand all rows; `accept` is called for each owner that the workers hold candidates for.

        Returns for each row whether a bound cut some of its moves.
        """
        was_cut = np.zeros(len(rows), np.bool_)
        batch = CHUNK * len(self._workers)
        for first in range(0, len(rows), batch):
            todo = np.arange(first, min(first + batch, len(rows)), dtype=np.int64)
            while len(todo):
                origin = Origin(rows, marks, numbers, visited.slots, self._owners, keep_all)
                tables = self.tables.arrays()
                shares = np.array_split(todo, len(self._workers))
                left = [
                    self._pool.submit(self._expand, tables, origin, share, worker, was_cut)
                    for share, worker in zip(shares, self._workers, strict=True)
                ]
                todo = np.concatenate([future.result() for future in left])
                offered = sum(worker.sink.filled for worker in self._workers)
                self.make_room(visited, int(np.max(offered)))
                self.each_owner(accept)
                self._settle(origin)
        return was_cut

    def expect(self, more: int) -> None:
        """Stop the search if so many more bytes would be too much."""
        self._memory.expect(more)

    def make_room(self, visited: Visited, most: int) -> None:
        """Let the tables grow, so that an owner has room for so many more states."""
        room = visited.room_after(most)
        self._memory.expect(visited.growth(most, room))
        if room > visited.slots.shape[1]:
            visited.grow(room, self.each_owner)

    def _expand(
        self, tables: Any, origin: Origin, todo: Any, worker: Worker, was_cut: Any
    ) -> np.ndarray[Any, Any]:
        """Expand one worker's share; what is left of it to do (again)."""
        worker.sink.filled[:] = 0
        done, again = expand(
            self.layout,
            tables,
            origin,
            todo,
            worker.scratch,
            worker.sink,
            worker.notes,
            worker.redo,
            worker.totals,
            was_cut,
        )
        return np.concatenate([worker.redo[:again], todo[done:]])

    def _settle(self, origin: Origin) -> None:
        """Add up what the workers counted, and look up for them what they missed."""
        for worker in self._workers:
            self.transitions += int(worker.totals[0])
            self.facts |= int(worker.totals[1])
            self.look_ups += int(worker.totals[LOOK_UPS])
            for kind, count in zip(CUT_KINDS, worker.totals[FIRST_CUT:], strict=True):
                if count:
                    self.space.cuts[kind] += int(count)
            worker.totals[:] = 0
        missed = [w.notes.missed[: w.notes.count[0]] for w in self._workers]
        if any(map(len, missed)):
            for worker in self._workers:
                self._look_back(worker.notes, origin)
            found = np.concatenate(missed)
            self.tables.fill(found[found[:, 0] < MEMORY])
            for worker in self._workers:
                worker.notes.count[0] = 0

    def _look_back(self, notes: Notes, origin: Origin) -> None:
        """Work out memories and judge steps that the kernel did not know."""
        for place in range(int(notes.count[0])):
            kind, key, at, _ = map(int, notes.missed[place])
            after = tuple(map(int, notes.rows[place]))
            if kind == RENAME:
                self.tables.fill_renames(key & WORD, after)
            elif kind == MEMORY:
                self.tables.fill_memory(key & WORD, after)
            elif kind == STEP and not self.tables.is_judged(key & WORD) and self.on_step:
                before = tuple(map(int, origin.rows[at]))
                self.on_step(int(origin.numbers[at]), before, after)

    def rename_all(self, rows: np.ndarray[Any, Any]) -> None:
        """Rename the numbers in rows that did not come about by a move."""
        notes, first = self._workers[0].notes, 0
        while self.layout.families and first < len(rows):
            first = rename_all(self.layout, self.tables.arrays(), rows, first, notes)
            for place in range(int(notes.count[0])):
                row = tuple(map(int, notes.rows[place]))
                self.tables.fill_renames(int(notes.missed[place, 1]) & WORD, row)
            notes.count[0] = 0
            self.tables.keep_up()

    def offered(self, owner: int) -> Iterator[tuple[Any, Any, Any, Any]]:
        """What the workers hold for one owner: rows, fingerprints, sources and ticks."""
        for worker in self._workers:
            sink, count = worker.sink, int(worker.sink.filled[owner])
            if count:
                yield (
                    sink.rows[owner * ROOM : owner * ROOM + count],
                    sink.marks[owner, :count],
                    sink.sources[owner, :count],
                    sink.ticks[owner, :count],
                )

    def each_owner(self, act: Callable[[int], None]) -> None:
        """Have something done for every owner, side by side."""
        list(self._pool.map(act, range(self._owners)))

    def close(self) -> None:
        """Let the workers go."""
        self._pool.shutdown()
