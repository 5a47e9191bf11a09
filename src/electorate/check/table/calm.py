"""The stable graph on the table engine: every state in which faults may have ended."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from electorate.check.column import Row
from electorate.check.judge import Judge
from electorate.check.part import Pulse
from electorate.check.progress import LimitReached, Report
from electorate.check.table.component import nearest, sorted_edges
from electorate.check.table.engine import Engine
from electorate.check.table.kernel import fingerprints
from electorate.check.table.scenery import scenes_of
from electorate.check.table.visited import Level, Visited
from electorate.check.world import Move, World
from electorate.claims import Claim

Path = list[tuple[Row, Move]]


class TableCalm:
    """Rows without budget, and their edges."""

    def __init__(
        self, world: World, judge: Judge, engine: Engine, stem: Callable[[int], Path]
    ) -> None:
        self.world = world
        self.judge = judge
        self.states = Visited(world.width, 1, numbered=True)
        self.starts = self.targets = self.ticks = np.empty(0, np.int64)
        self.roots = 0
        self._root_depths: list[Any] = []
        self._engine = engine
        self._stem = stem
        self._sources: list[Any] = []
        self._targets: list[Any] = []
        self._ticks: list[Any] = []
        self.cut = np.zeros(0, np.bool_)
        """States some of whose successors lie beyond a bound."""

    def __len__(self) -> int:
        return self.states.size

    @property
    def _level(self) -> Level:
        """All states, with their rows."""
        return self.states.levels[0]

    def meet(self, rows: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any], depth: int) -> None:
        """Enter faulty states of one level as states in which the faults ended."""
        world = self.world
        stable = rows.copy()
        stable[:, -1] = world.budgets.code(world.model.last_budget())
        if world.model.first_budget().pauses:
            stable[:, : world.n] = self._resumed()[rows[:, : world.n]]
        room = self.states.room_after(len(stable))
        if room > self.states.slots.shape[1]:
            self.states.grow(room, self._engine.each_owner)
        self.states.take_in(0, stable, fingerprints(stable), numbers)
        self._root_depths.append(np.full(self.states.size - self.roots, depth, np.int32))
        self.roots = self.states.size

    def _resumed(self) -> np.ndarray[Any, Any]:
        cards = list(self.world.locals.cards)
        codes = [
            self.world.resumed(card.value) if card.value.pulse is Pulse.PAUSED else code
            for code, card in enumerate(cards)
        ]
        self._engine.book.keep_up()
        return np.array(codes, np.int32)

    def close_up(self, states_max: int, report: Report, progress: Any) -> None:
        """Follow every move until nothing new is met."""
        first = 0
        while first < self.states.size:
            last = self.states.size
            report(progress("stable phase", 0, last - first))
            if last > states_max:
                raise LimitReached(f"more than {states_max:,} stable states (--states-max)")
            # Copies, because taking states in may move the arrays these stand in.
            rows = self._level.rows[first:last].copy()
            numbers = np.arange(first, last, dtype=np.int64)
            marks = self._level.marks[first:last].copy()
            cut = self._engine.run(
                rows, marks, numbers, self.states, keep_all=True, accept=self._accept
            )
            self.cut = np.concatenate([self.cut, cut])
            first = last
        self.starts, self.targets, self.ticks = sorted_edges(
            self.states.size,
            _joined(self._sources, np.int32),
            _joined(self._targets, np.int32),
            _joined(self._ticks, np.uint8),
        )

    def _accept(self, owner: int) -> None:
        for rows, marks, sources, ticks in self._engine.offered(owner):
            places = np.empty(len(marks), np.int64)
            self.states.take_in(owner, rows, marks, sources, places)
            self._sources.append(sources.astype(np.int32))
            self._targets.append(places.astype(np.int32))
            self._ticks.append(ticks.copy())

    def close(self) -> None:
        """Let the worker go."""
        self._engine.close()

    def edges(self, state: int) -> list[tuple[int, int]]:
        """Where one can go from a state, and whether time passes on the way."""
        span = slice(self.starts[state], self.starts[state + 1])
        return [(int(t), int(k)) for t, k in zip(self.targets[span], self.ticks[span], strict=True)]

    def row(self, state: int) -> Row:
        """The row of a state."""
        return tuple(map(int, self._level.rows[state]))

    @cached_property
    def _nearest(self) -> tuple[Any, Any]:
        depths = _joined(self._root_depths, np.int32)
        found: tuple[Any, Any] = nearest(self.starts, self.targets, depths)
        return found

    @property
    def depths(self) -> np.ndarray[Any, Any]:
        """How many moves each state is away, faulty ones included."""
        found: np.ndarray[Any, Any] = self._nearest[0]
        return found

    def stem(self, state: int) -> tuple[Path, list[int]]:
        """How to get to a state: the path up to the last fault, and the states after it."""
        states, before = [state], self._nearest[1]
        while (earlier := int(before[states[-1]])) >= 0:
            states.append(earlier)
        return self._stem(int(self._level.sources[states[-1]])), states[::-1]

    def lacks(self, claim: Claim) -> np.ndarray[Any, Any]:
        """For each state whether it lacks the goal."""
        tables = self._engine.book.tables()
        keys = scenes_of(self._engine.layout, tables.sights, self._level.rows)
        _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
        lacking = [
            any(found is claim for found, _ in self.judge.of(self.row(int(place))).lacking)
            for place in places
        ]
        return np.array(lacking, np.bool_)[inverse]


def _joined(parts: list[Any], kind: Any) -> np.ndarray[Any, Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)
