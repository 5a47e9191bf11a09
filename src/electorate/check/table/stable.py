"""The stable graph on the table engine: every state in which faults may have ended.

Only the states met last have rows. Of the others there are edges, and the state that each was met
from; a row is found again by replaying the way to it.
"""

from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any, Protocol

import numpy as np
from numba import njit

from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.engine import Path
from electorate.check.graph import Stretch
from electorate.check.interned import Pulse
from electorate.check.loops import PLAIN, TICK, Loops, NumberArray
from electorate.check.space import StateSpace
from electorate.check.stable import chain
from electorate.check.table.kernel import compiled, fingerprints
from electorate.check.table.observed import JudgedObservations
from electorate.check.table.visited import Level, Visited
from electorate.check.table.workers import Workers

Array = np.ndarray[Any, Any]

STRETCH = 1 << 22
"""So many states are expanded before their edges are put in order."""
SWEEPS_MAX = 40
MAPPED_MIN = 1 << 24
"""From so many bytes on edges are kept in a file."""


def _full(size: int, fill: int, kind: str) -> NumberArray:
    return np.full(size, fill, kind)


COMPILED = Loops(_full, *map(compiled, PLAIN[1:]))
"""The loops over graphs, compiled as they stand."""


class Searched(Protocol):
    """The states of the search that a stable graph grows beside."""

    space: StateSpace
    shares: list[Level]

    def numbers(self, owner: int) -> Array:
        """The numbers of one owner's states of the present level."""

    def way(self, state: int) -> tuple[Path, Row]:
        """A shortest way from where a run begins to a state, and the row of that."""

    def step_to(self, row: Row, half: int) -> tuple[Move, Row]:
        """The move to the row with such a fingerprint, and that row."""


class TableStable:
    """Rows without budget, and their edges."""

    loops = COMPILED
    sweeps_max = SWEEPS_MAX

    def __init__(self, searched: Searched, workers: Workers) -> None:
        self._searched = searched
        self._space = searched.space
        self._workers = workers
        self._states = Visited(self._space.columns.width, 1, numbered=True)
        self._observed = JudgedObservations(workers.layout)
        self._found: list[tuple[Array, Array, Array]] = []
        self._codes_max = 0
        self._rows: dict[int, Row] = {}

    @property
    def size(self) -> int:
        """How many states there are."""
        return self._states.size

    @property
    def frontier(self) -> int:
        """How many of them are still to be expanded."""
        return self._states.levels[0].size

    @property
    def facts(self) -> int:
        """What moves have shown to be possible."""
        return self._workers.facts

    def meet(self) -> None:
        """Enter the states of the search's present level, as they are once nothing fails."""
        space = self._space
        for owner, share in enumerate(self._searched.shares):
            stable = share.rows.copy()
            stable[:, -1] = space.last_budget
            if space.may_pause:
                stable[:, : space.n] = self._resumed()[share.rows[:, : space.n]]
            self._forget_lost(stable)
            self._workers.rename_all(stable)
            self._workers.make_room(self._states, len(stable))
            # Odd numbers are those of the search, even ones those of stable states.
            numbers = 2 * self._searched.numbers(owner) + 1
            self._states.take_in(0, stable, fingerprints(stable), numbers)

    def _forget_lost(self, rows: Array) -> None:
        """Drop what can never matter again, as `StateSpace.drop_lost` does."""
        space = self._space
        down = self._workers.tables.arrays().local_up[rows[:, : space.n]] == 0
        for column, to in space.columns.channels if space.drops_mail else ():
            lost = down[:, to]
            if space.columns.has_cuts:
                link = space.columns.link_of_channel[column]
                lost = lost | (rows[:, space.columns.links_column] >> link & 1 == 1)
            rows[lost, column] = space.empty
        if space.drops_saved:
            rows[:, : space.n][down] = space.gone

    def _resumed(self) -> Array:
        cards = list(self._space.locals.cards)
        codes = [
            self._space.resumed(card.value) if card.value.pulse is Pulse.PAUSED else code
            for code, card in enumerate(cards)
        ]
        self._workers.tables.keep_up()
        return np.array(codes, np.int32)

    def expand(
        self, depth: int, lack: Callable[[Row], int]
    ) -> Iterator[tuple[Stretch, NumberArray]]:
        """Add all successors of the states met last, which are so many moves away."""
        (level,) = self._states.next_levels()
        for at in range(0, level.size, STRETCH):
            first, rows = level.first + at, level.rows[at : at + STRETCH]
            numbers = np.arange(first, first + len(rows), dtype=np.int64)
            marks = level.marks[at : at + STRETCH]
            cut = self._workers.run(
                rows, marks, numbers, self._states, keep_all=True, accept=self._accept
            )
            starts, edges = sorted_edges(len(rows), first, *self._joined_edges())
            lacks = self._lacks(rows, lack)
            yield (
                Stretch(first, starts, mapped(edges), lacks, depth),
                (np.flatnonzero(cut) + first).astype(np.int32),
            )

    def _accept(self, owner: int) -> None:
        for rows, marks, sources, ticks in self._workers.offered(owner):
            places = np.empty(len(marks), np.int64)
            self._states.take_in(owner, rows, marks, 2 * sources, places)
            found = (sources.astype(np.int32), places.astype(np.int32), ticks.copy())
            self._found.append(found)

    def _joined_edges(self) -> Sequence[Array]:
        kinds = (np.int32, np.int32, np.uint8)
        joined = [
            np.concatenate([np.empty(0, kind), *(found[k] for found in self._found)])
            for k, kind in enumerate(kinds)
        ]
        self._found.clear()
        return joined

    def _lacks(self, rows: Array, lack: Callable[[Row], int]) -> Array:
        """For each state the code of what it lacks."""
        sights = self._workers.tables.arrays().sights
        for place in self._observed.new_among(rows, sights):
            code = lack(tuple(map(int, rows[place])))
            self._codes_max = max(self._codes_max, code + 1)
            self._observed.set(rows, place, sights, code)
        return self._observed.values(rows, sights).astype(np.min_scalar_type(self._codes_max))

    def complete(self) -> None:
        """All states are known: let go of what found them."""
        self._states.forget_slots()

    def close(self) -> None:
        """Let the workers go."""
        self._workers.close()

    # --- runs ---

    def parent(self, state: int) -> int:
        """The state that it was met from; minus one minus that of the search, if faults ended."""
        source = self._states.trails[0].of(state)[0]
        return -1 - source // 2 if source % 2 else source // 2

    def row(self, state: int) -> Row:
        """The row of a state."""
        if state not in self._rows:
            origin, states = chain(self, state)
            end = self._searched.way(origin)[1]
            row = self._rows[states[0]] = self._space.stabilised(end)
            for after in states[1:]:
                half = self._states.trails[0].of(after)[1]
                row = self._rows[after] = self._searched.step_to(row, half)[1]
        return self._rows[state]


def mapped(edges: Array) -> Array:
    """The same edges, if they are many in a file without a name instead of in memory."""
    if edges.nbytes < MAPPED_MIN:
        return edges
    with TemporaryFile() as file:
        edges.tofile(file)
        return np.asarray(np.memmap(file, edges.dtype, "c", shape=edges.shape))


@njit(cache=True)
def sorted_edges(states: Any, first: Any, sources: Any, targets: Any, ticks: Any) -> Any:
    """The edges of the states from `first` on, by source: where each state's begin, and all."""
    starts = np.zeros(states + 1, np.uint32)
    for edge in range(sources.shape[0]):
        starts[sources[edge] - first + 1] += 1
    for state in range(states):
        starts[state + 1] += starts[state]
    cursor = starts.copy()
    edges = np.empty(targets.shape[0], np.uint32)
    for edge in range(sources.shape[0]):
        state = sources[edge] - first
        edges[cursor[state]] = np.uint32(targets[edge]) | np.uint32(TICK if ticks[edge] else 0)
        cursor[state] += 1
    return starts, edges
