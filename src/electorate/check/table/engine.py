"""Driving the kernel: chunks of rows out to the workers, candidates back to their owners."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from electorate.check.board import Row
from electorate.check.table.book import CUT_KINDS, Book
from electorate.check.table.expand import Origin, Sink, expand
from electorate.check.table.kernel import Notes, fingerprint
from electorate.check.table.visited import Visited
from electorate.check.world import World

CHUNK = 1 << 14
ROOM = 1 << 18
MISSES = 4096
OWNERS_MAX = 4


class Worker:
    """What one worker writes into."""

    def __init__(self, owners: int, width: int) -> None:
        self.sink = Sink(
            np.empty((owners, ROOM, width), np.int32),
            np.empty((owners, ROOM), np.uint64),
            np.empty((owners, ROOM), np.int64),
            np.empty((owners, ROOM), np.uint8),
            np.zeros(owners, np.int64),
        )
        self.notes = Notes(np.empty((MISSES, 4), np.int64), np.zeros(1, np.int64))
        self.redo = np.empty(CHUNK, np.int64)
        self.totals = np.zeros(2 + len(CUT_KINDS), np.int64)


class Engine:
    """Expands rows by tables, with as many workers as there are owners of states."""

    def __init__(self, world: World, workers: int, book: Book | None = None) -> None:
        self.world = world
        self.book = book or Book(world)
        self.transitions = 0
        self.facts = 0
        self._layout = self.book.layout()
        self._owners = workers
        self._workers = [Worker(workers, world.width) for _ in range(workers)]
        self._pool = ThreadPoolExecutor(workers)

    def mark(self, row: Row) -> Any:
        """The fingerprint of a row."""
        return fingerprint(np.array(row, np.int32))

    def owner(self, mark: Any) -> int:
        """Which share of the states a fingerprint belongs to."""
        return (int(mark) >> 60) % self._owners

    def run(
        self,
        rows: np.ndarray[Any, Any],
        marks: np.ndarray[Any, Any],
        numbers: np.ndarray[Any, Any],
        visited: list[Visited],
        *,
        keep_all: bool,
        accept: Callable[[], None],
    ) -> np.ndarray[Any, Any]:
        """Expand all rows; `accept` is called whenever the workers hold candidates.

        Returns for each row whether a bound cut some of its moves.
        """
        was_cut = np.zeros(len(rows), np.bool_)
        batch = CHUNK * self._owners
        for first in range(0, len(rows), batch):
            todo = np.arange(first, min(first + batch, len(rows)), dtype=np.int64)
            while len(todo):
                # Always so many: a tuple of another length would be compiled for anew.
                slots = tuple(visited[k % len(visited)].slots for k in range(OWNERS_MAX))
                origin = Origin(rows, marks, numbers, slots, self._owners, keep_all)
                tables = self.book.tables()
                shares = np.array_split(todo, self._owners)
                left = [
                    self._pool.submit(self._expand, tables, origin, share, worker, was_cut)
                    for share, worker in zip(shares, self._workers, strict=True)
                ]
                todo = np.concatenate([future.result() for future in left])
                accept()
                self._settle()
        return was_cut

    def _expand(
        self, tables: Any, origin: Origin, todo: Any, worker: Worker, was_cut: Any
    ) -> np.ndarray[Any, Any]:
        """Expand one worker's share; what is left of it to do (again)."""
        worker.sink.filled[:] = 0
        done, again = expand(
            self._layout,
            tables,
            origin,
            todo,
            worker.sink,
            worker.notes,
            worker.redo,
            worker.totals,
            was_cut,
        )
        return np.concatenate([worker.redo[:again], todo[done:]])

    def _settle(self) -> None:
        """Add up what the workers counted, and look up for them what they missed."""
        for worker in self._workers:
            self.transitions += int(worker.totals[0])
            self.facts |= int(worker.totals[1])
            for kind, count in zip(CUT_KINDS, worker.totals[2:], strict=True):
                if count:
                    self.world.cuts[kind] += int(count)
            worker.totals[:] = 0
        missed = [w.notes.missed[: w.notes.count[0]] for w in self._workers]
        if any(map(len, missed)):
            self.book.fill(np.concatenate(missed))
            for worker in self._workers:
                worker.notes.count[0] = 0

    def offered(self, owner: int) -> Iterator[tuple[Any, Any, Any, Any]]:
        """What the workers hold for one owner: rows, fingerprints, sources and ticks."""
        for worker in self._workers:
            sink, count = worker.sink, int(worker.sink.filled[owner])
            if count:
                yield (
                    sink.rows[owner, :count],
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
