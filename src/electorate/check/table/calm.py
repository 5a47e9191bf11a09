"""The stable graph on the table engine: every state in which faults may have ended.

It grows beside the search, level by level, so that only the states met last have rows. Of the
others there are edges, whether they lack a goal, and the state that each was met from; a row is
found again by replaying the way to it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from electorate.check.column import Row
from electorate.check.judge import Judge
from electorate.check.part import Pulse
from electorate.check.progress import LimitReached
from electorate.check.table.component import sorted_edges
from electorate.check.table.engine import Engine
from electorate.check.table.kernel import fingerprints
from electorate.check.table.scenery import Scenery
from electorate.check.table.visited import HALF, Level, Visited
from electorate.check.verdict import Way, ways_of
from electorate.check.world import Move, World
from electorate.claims import Claim

Path = list[tuple[Row, Move]]
Array = np.ndarray[Any, Any]

STATES_MAX = 1 << 31


class TableCalm:
    """Rows without budget, and their edges."""

    def __init__(
        self,
        world: World,
        judge: Judge,
        engine: Engine,
        replay: Callable[[int], tuple[Path, Row]],
    ) -> None:
        self.world = world
        self.judge = judge
        self.starts = self.targets = self.ticks = np.empty(0, np.int64)
        self.cut: Array = np.empty(0, np.bool_)
        """States some of whose successors lie beyond a bound."""
        self.roots: Array = np.empty(0, np.int32)
        """States in which faults ended."""
        self.depths: Array = np.empty(0, np.int32)
        """How many moves each state is away, faulty ones included."""
        self._engine = engine
        self._replay = replay
        self._states = Visited(world.width, 1, numbered=True)
        self._scenery = Scenery(engine.layout)
        self._pieces: dict[str, list[Array]] = {name: [] for name in PIECES}
        self._found: list[tuple[Array, Array, Array]] = []
        self._lacks: Array = np.empty(0, np.int32)
        self._shortfalls: list[dict[str, str]] = []
        """What some state lacks: for each goal that it misses, in what way."""
        self._codes: dict[tuple[tuple[str, str], ...], int] = {}
        self._rows: dict[int, Row] = {}
        self._depth = 0

    def __len__(self) -> int:
        return self._states.size

    @property
    def frontier(self) -> int:
        """How many states are still to be expanded."""
        return self._states.levels[0].size

    def meet(self, rows: Array, numbers: Array) -> None:
        """Enter faulty states of one level as states in which the faults ended."""
        world = self.world
        stable = rows.copy()
        stable[:, -1] = world.budgets.code(world.model.last_budget())
        if world.model.first_budget().pauses:
            stable[:, : world.n] = self._resumed()[rows[:, : world.n]]
        before = len(self)
        self._engine.make_room(self._states, len(stable))
        # Odd numbers are those of faulty states, even ones those of stable states.
        self._states.take_in(0, stable, fingerprints(stable), 2 * numbers + 1)
        self._pieces["roots"].append(np.arange(before, len(self), dtype=np.int32))

    def _resumed(self) -> Array:
        cards = list(self.world.locals.cards)
        codes = [
            self.world.resumed(card.value) if card.value.pulse is Pulse.PAUSED else code
            for code, card in enumerate(cards)
        ]
        self._engine.book.keep_up()
        return np.array(codes, np.int32)

    def advance(self, states_max: int) -> None:
        """Add all successors of the states met last."""
        if len(self) > min(states_max, STATES_MAX):
            raise LimitReached(f"more than {states_max:,} stable states (--states-max)")
        (level,) = self._states.next_levels()
        numbers = np.arange(level.first, level.first + level.size, dtype=np.int64)
        cut = self._engine.run(
            level.rows, level.marks, numbers, self._states, keep_all=True, accept=self._accept
        )
        starts, targets, ticks = sorted_edges(level.size, level.first, *self._joined_edges())
        add = self._pieces
        add["counts"].append(np.diff(starts).astype(np.uint32))
        add["targets"].append(targets)
        add["ticks"].append(ticks)
        add["cut"].append(cut)
        add["lacks"].append(self._judged(level))
        add["depths"].append(np.full(level.size, self._depth, np.int32))
        self._depth += 1

    def _accept(self, owner: int) -> None:
        for rows, marks, sources, ticks in self._engine.offered(owner):
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

    def _judged(self, level: Level) -> Array:
        """For each state the code of what it lacks."""
        sights = self._engine.book.tables().sights
        for place in self._scenery.new_among(level.rows, sights):
            row = tuple(map(int, level.rows[place]))
            lacking = self.judge.of(row).lacking
            key = tuple((claim.name, witness.text) for claim, witness in lacking)
            code = self._codes.setdefault(key, len(self._codes))
            if code == len(self._shortfalls):
                self._shortfalls.append(dict(key))
            self._scenery.set(level.rows, place, sights, code)
        return self._scenery.values(level.rows, sights)

    def complete(self) -> None:
        """All states are known: put the graph together."""
        pieces = {name: self._join(name, kind) for name, kind in PIECES.items()}
        self._states.forget_slots()
        self.starts = np.zeros(len(self) + 1, np.int64)
        np.cumsum(pieces["counts"], out=self.starts[1:])
        self.targets, self.ticks, self.cut = pieces["targets"], pieces["ticks"], pieces["cut"]
        self.roots, self.depths, self._lacks = pieces["roots"], pieces["depths"], pieces["lacks"]

    def _join(self, name: str, kind: Any) -> Array:
        parts, self._pieces[name] = self._pieces[name], []
        self._engine.expect(sum(part.nbytes for part in parts))
        return np.concatenate([np.empty(0, kind), *parts])

    def lacks(self, claim: Claim) -> Array:
        """For each state whether it lacks the goal."""
        lacking: Array = np.array([claim.name in each for each in self._shortfalls], np.bool_)
        return lacking[self._lacks]

    def ways(self, claim: Claim, states: Array) -> tuple[Way, ...]:
        """In what ways these states lack the goal, and how far the nearest of each is away."""
        codes = self._lacks[states]
        nearest = {
            self._shortfalls[code][claim.name]: int(self.depths[states[codes == code]].min())
            for code in map(int, np.unique(codes))
        }
        return ways_of(nearest)

    def close(self) -> None:
        """Let the workers go."""
        self._engine.close()

    # --- runs ---

    def edges(self, state: int) -> list[tuple[int, int]]:
        """Where one can go from a state, and whether time passes on the way."""
        span = slice(self.starts[state], self.starts[state + 1])
        return [(int(t), int(k)) for t, k in zip(self.targets[span], self.ticks[span], strict=True)]

    def stem(self, state: int) -> tuple[Path, list[int]]:
        """How to get to a state: the path up to the last fault, and the states after it."""
        origin, states = self._chain(state)
        return self._replay(origin)[0], states

    def _chain(self, state: int) -> tuple[int, list[int]]:
        """The faulty state that a state comes from, and the stable states on the way."""
        states = [state]
        trail = self._states.trails[0]
        while True:
            source = trail.of(states[-1])[0]
            if source % 2:
                return source // 2, states[::-1]
            states.append(source // 2)

    def row(self, state: int) -> Row:
        """The row of a state."""
        if state not in self._rows:
            origin, states = self._chain(state)
            row = self._rows[states[0]] = self.world.stabilised(self._replay(origin)[1])
            for after in states[1:]:
                half = self._states.trails[0].of(after)[1]
                row = self._rows[after] = self._next(row, half)
        return self._rows[state]

    def _next(self, row: Row, half: int) -> Row:
        cuts = self.world.cuts.copy()
        after = next(
            after
            for _, after in self.world.successors(row)
            if int(self._engine.mark(after)) & HALF == half
        )
        self.world.cuts = cuts  # To look again is no new cut.
        return after


PIECES: dict[str, Any] = {
    "counts": np.uint32,
    "targets": np.int32,
    "ticks": np.uint8,
    "cut": np.bool_,
    "lacks": np.int32,
    "depths": np.int32,
    "roots": np.int32,
}
"""What is kept of the states, level by level."""
