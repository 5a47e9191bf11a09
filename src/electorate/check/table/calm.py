"""The stable graph on the table engine: every state in which faults may have ended.

It grows beside the search, level by level, so that only the states met last have rows. Of the
others there are edges, whether they lack a goal, and the state that each was met from; a row is
found again by replaying the way to it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.judge import Judge
from electorate.check.part import Pulse
from electorate.check.progress import LimitReached
from electorate.check.table.engine import Engine
from electorate.check.table.kernel import fingerprints
from electorate.check.table.scenery import Scenery
from electorate.check.table.stretch import Stretch, edges_of, mapped, sorted_edges
from electorate.check.table.visited import HALF, Visited
from electorate.check.world import World
from electorate.claims import Claim

Path = list[tuple[Row, Move]]
Array = np.ndarray[Any, Any]

STATES_MAX = 1 << 31
STRETCH = 1 << 22
"""So many states are expanded before their edges are put in order."""


class TableCalm:
    """Rows without budget, and their edges."""

    def __init__(
        self,
        world: World,
        judge: Judge,
        engine: Engine,
        replay: Callable[[int], tuple[Path, Row]],
        *,
        tells_ways: bool = False,
    ) -> None:
        self.world = world
        self.tells_ways = tells_ways
        self.judge = judge
        self.stretches: list[Stretch] = []
        """The edges, in the order of the states."""
        self.roots: list[range] = []
        """States in which faults ended."""
        self._cut: list[Array] = []
        self._engine = engine
        self._replay = replay
        self._states = Visited(world.width, 1, numbered=True)
        self._scenery = Scenery(engine.layout)
        self._found: list[tuple[Array, Array, Array]] = []
        self._shortfalls: list[dict[str, str]] = []
        """What some state lacks: for each goal that it misses, in what way."""
        self._codes: dict[tuple[tuple[str, str], ...], int] = {}
        self._depth = 0
        self._rows: dict[int, Row] = {}

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
        self._forget_lost(stable)
        self._engine.rename_all(stable)
        before = len(self)
        self._engine.make_room(self._states, len(stable))
        # Odd numbers are those of faulty states, even ones those of stable states.
        self._states.take_in(0, stable, fingerprints(stable), 2 * numbers + 1)
        self.roots.append(range(before, len(self)))

    def _forget_lost(self, rows: Array) -> None:
        """Drop what can never matter again, as `Board.drop_lost` does."""
        world = self.world
        down = self._engine.book.tables().local_up[rows[:, : world.n]] == 0
        for column, to in world.channel_columns if world.drops_mail else ():
            lost = down[:, to]
            if world.model.has_cuts:
                link = world.link_of_channel[column]
                lost = lost | (rows[:, world.links_column] >> link & 1 == 1)
            rows[lost, column] = world.empty
        if world.drops_saved:
            rows[:, : world.n][down] = world.gone

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
        for at in range(0, level.size, STRETCH):
            self._stretch(level.first + at, level.rows[at : at + STRETCH], level.marks[at:])
        self._depth += 1

    def _stretch(self, first: int, rows: Array, marks: Array) -> None:
        """Add the successors of some states, which are numbered from `first` on."""
        numbers = np.arange(first, first + len(rows), dtype=np.int64)
        cut = self._engine.run(
            rows, marks[: len(rows)], numbers, self._states, keep_all=True, accept=self._accept
        )
        starts, edges = sorted_edges(len(rows), first, *self._joined_edges())
        lacks = self._judged(rows)
        self.stretches.append(Stretch(first, starts, mapped(edges), lacks, self._depth))
        self._cut.append((np.flatnonzero(cut) + first).astype(np.int32))

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

    def _judged(self, rows: Array) -> Array:
        """For each state the code of what it lacks."""
        sights = self._engine.book.tables().sights
        for place in self._scenery.new_among(rows, sights):
            judgement = self.judge.of(tuple(map(int, rows[place])))
            self.judge.note_scene(judgement)
            key = tuple((claim.name, witness.text) for claim, witness in judgement.lacking)
            code = self._codes.setdefault(key, len(self._codes))
            if code == len(self._shortfalls):
                self._shortfalls.append(dict(key))
            self._scenery.set(rows, place, sights, code)
        return self._scenery.values(rows, sights).astype(np.min_scalar_type(len(self._codes)))

    @property
    def facts(self) -> int:
        """What was seen to be possible."""
        return self._engine.facts

    @property
    def transitions(self) -> int:
        """How many edges there are."""
        return sum(len(stretch.edges) for stretch in self.stretches)

    def complete(self) -> None:
        """All states are known: let go of what found them."""
        self._states.forget_slots()

    @property
    def cut(self) -> Array:
        """States some of whose successors lie beyond a bound."""
        return np.concatenate([np.empty(0, np.int32), *self._cut])

    def lacks(self, claim: Claim) -> Array:
        """For each state whether it lacks the goal."""
        lacks = np.concatenate([stretch.lacks for stretch in self.stretches])
        lacking: Array = self.missing(claim)[lacks]
        return lacking

    def missing(self, claim: Claim) -> Array:
        """For each code of what a state lacks whether that is the goal."""
        return np.array([claim.name in each for each in self._shortfalls], np.bool_)

    def ways(self, claim: Claim, states: Array) -> dict[str, tuple[int, int]]:
        """In what ways these states, in order, lack the goal, how far the nearest is, and which."""
        nearest: dict[str, tuple[int, int]] = {}
        for stretch in self.stretches:
            ends = (stretch.first, stretch.first + len(stretch.lacks))
            here = states[slice(*np.searchsorted(states, ends))] - stretch.first
            codes, firsts = np.unique(stretch.lacks[here], return_index=True)
            for code, place in zip(map(int, codes), firsts, strict=True):
                found = (stretch.depth, stretch.first + int(here[place]))
                nearest.setdefault(self._shortfalls[code][claim.name], found)
        return nearest

    def close(self) -> None:
        """Let the workers go."""
        self._engine.close()

    # --- runs ---

    def edges(self, state: int) -> Iterator[tuple[int, int]]:
        """Where one can go from a state, and whether time passes on the way."""
        return edges_of(self.stretches, state)

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
