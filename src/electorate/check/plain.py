"""The reference engine: plain Python, meant to be read; other engines must agree with it.

It interprets the lists of effects row by row, and keeps every row.
"""

import gc
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from electorate.check.column import Row
from electorate.check.compiler import TICKS, Move
from electorate.check.effort import Effort, Limits, Memory
from electorate.check.engine import OnStep, Path
from electorate.check.graph import Stretch
from electorate.check.loops import PLAIN, TICK, NumberArray
from electorate.check.model import Model
from electorate.check.moves import Moves, Step
from electorate.check.search import Search
from electorate.claims import Claim, Kind
from electorate.core import Machine

MEMORY_EVERY = 1024
"""After so many states memory is looked at."""
SHARED_MAX = 50_000
"""So many states of a level are expanded only once where search and stable graph both have them."""


@contextmanager
def no_collecting() -> Iterator[None]:
    """Do not look for garbage that holds itself: rows never do, and looking takes long."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


class Plain:
    """All states of a search, each with its row and a parent."""

    def __init__(self, moves: Moves, limits: Limits) -> None:
        self.moves = moves
        self.space = moves.space
        self.facts = 0
        self.transitions = 0
        self.rows: list[Row] = []
        self.parents: list[tuple[int, Move] | None] = []
        self.depths: list[int] = []
        self.shared: dict[Row, list[Step]] = {}
        """The moves of states that the stable graph has just expanded, if no bound cuts any."""
        has_goals = any(claim.kind is Kind.GOAL for claim in self.space.claims)
        self.memory = Memory(limits.memory)
        self.stable = PlainStable(self) if has_goals else None
        self._index: dict[Row, int] = {}
        self._shown: set[tuple[int, ...]] = set()
        self._first = self._last = 0
        """Which states are those of the present level."""

    @property
    def states(self) -> int:
        """How many were met."""
        return len(self.rows)

    @property
    def level(self) -> range:
        """The states of the present level."""
        return range(self._first, self._last)

    def begin(self, rows: Iterable[Row]) -> None:
        """Enter the rows that runs begin with."""
        for row in rows:
            if row not in self._index:
                self._meet(row, None, 0)

    def next_level(self) -> int:
        """Turn to the states that were met last; how many they are."""
        self._first, self._last = self._last, len(self.rows)
        return len(self.level)

    def unjudged(self) -> Iterator[tuple[int, Row]]:
        """The states of this level that show claims what no state before them has shown."""
        space, shown = self.space, self._shown
        for state in self.level:
            row = self.rows[state]
            observation = space.shown(row)
            if observation not in shown:
                shown.add(observation)
                yield state, row

    def pairs(self) -> Iterator[set[tuple[int, int]]]:
        """For each node the codes that it and its detector have at this level."""
        watch = self.space.columns.watch_column if self.space.machine.uses_views else 0
        rows = self.rows[self._first : self._last]
        return ({(row[p], row[watch + p]) for row in rows} for p in range(self.space.n))

    def expand(self, skipped: int | None, on_step: OnStep | None) -> None:
        """Meet the successors of this level, but for those of states with the budget `skipped`."""
        with no_collecting():
            self._expand(skipped, on_step)
        self.shared.clear()

    def _expand(self, skipped: int | None, on_step: OnStep | None) -> None:
        rows, index, shared, facts = self.rows, self._index, self.shared, self.facts
        for state in self.level:
            if state % MEMORY_EVERY == 0:
                self.memory.expect()
            row = rows[state]
            if row[-1] == skipped:
                continue
            steps = shared.pop(row, None) or self.moves.steps(row)
            self.transitions += len(steps)
            depth = self.depths[state] + 1
            for effect, after in steps:
                facts |= effect.facts
                if after not in index:
                    self._meet(after, (state, effect.move), depth)
            if on_step is not None:
                for _, after in steps:
                    on_step(state, row, after)
        self.facts = facts

    def _meet(self, row: Row, parent: tuple[int, Move] | None, depth: int) -> None:
        self._index[row] = len(self.rows)
        self.rows.append(row)
        self.parents.append(parent)
        self.depths.append(depth)

    def way(self, state: int) -> tuple[Path, Row]:
        """A shortest way from where a run begins to a state, and the row of that."""
        path: Path = []
        end = self.rows[state]
        while (parent := self.parents[state]) is not None:
            state, move = parent
            path.append((self.rows[state], move))
        return path[::-1], end

    def complete(self) -> None:
        """Everything is kept."""

    def effort(self, preparing: float, searching: float) -> Effort:
        """What was taken, given the seconds before and after the search began."""
        return Effort(preparing + searching, memory=Memory.used())

    def close(self) -> None:
        """There is nothing to let go of."""


class PlainStable:
    """The states of the stable graph, each with its row and the state that it was met from."""

    loops = PLAIN
    sweeps_max = 0
    """To find the components takes as long as a few sweeps."""

    def __init__(self, engine: Plain) -> None:
        self.facts = 0
        self._engine = engine
        self._moves = engine.moves
        self._space = engine.space
        self._rows: list[Row] = []
        self._parents: list[int] = []
        self._index: dict[Row, int] = {}
        self._lacks: dict[tuple[int, ...], int] = {}
        self._first = 0

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._rows)

    @property
    def frontier(self) -> int:
        """How many of them are still to be expanded."""
        return len(self._rows) - self._first

    def meet(self) -> None:
        """Enter the states of the search's present level, as they are once nothing fails."""
        rows, index, stabilised = self._engine.rows, self._index, self._space.stabilised
        for state in self._engine.level:
            # Most were met already, as successors here: nothing was to fail any more there either.
            if rows[state] not in index:
                row = stabilised(rows[state])
                if row not in index:
                    self._add(row, -1 - state)

    def _add(self, row: Row, parent: int) -> int:
        state = self._index[row] = len(self._rows)
        self._rows.append(row)
        self._parents.append(parent)
        return state

    def expand(
        self, depth: int, lack: Callable[[Row], int]
    ) -> Iterator[tuple[Stretch, NumberArray]]:
        """Add all successors of the states met last, which are so many moves away."""
        if self.frontier:
            with no_collecting():
                found = self._expand(depth, lack)
            yield found

    def _expand(self, depth: int, lack: Callable[[Row], int]) -> tuple[Stretch, NumberArray]:
        space, moves = self._space, self._moves
        index, shared = self._index, self._engine.shared
        first, last = self._first, len(self._rows)
        self._first = last
        starts, edges, lacks, cut = array("I", [0]), array("I"), array("I"), array("i")
        facts = self.facts
        for state in range(first, last):
            if state % MEMORY_EVERY == 0:
                self._engine.memory.expect()
            row = self._rows[state]
            observation = space.shown(row)
            if observation not in self._lacks:
                self._lacks[observation] = lack(row)
            lacks.append(self._lacks[observation])
            cuts = space.cuts.total() if space.cuts else 0
            steps = moves.steps(row)
            for effect, after in steps:
                facts |= effect.facts
                target = index.get(after)
                if target is None:
                    target = self._add(after, state)
                edges.append(target | TICK if effect is TICKS else target)
            starts.append(len(edges))
            if space.cuts and space.cuts.total() > cuts:
                cut.append(state)
            elif len(shared) < SHARED_MAX:
                shared[row] = steps
        self.facts = facts
        return Stretch(first, starts, edges, lacks, depth), cut

    def parent(self, state: int) -> int:
        """The state that it was met from; minus one minus that of the search, if faults ended."""
        return self._parents[state]

    def row(self, state: int) -> Row:
        """Its row."""
        return self._rows[state]

    def complete(self) -> None:
        """Everything is kept."""


def plain_search(
    machine: Machine[Any], model: Model, claims: Sequence[Claim], limits: Limits
) -> Search[Plain]:
    """A search by the reference engine."""
    return Search(machine, model, claims, limits, Plain)
