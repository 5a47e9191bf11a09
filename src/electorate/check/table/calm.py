"""The stable graph on the table engine: every state in which faults may have ended."""

from collections.abc import Callable
from typing import Any

import numpy as np

from electorate.check.column import Row
from electorate.check.judge import Judge
from electorate.check.part import Pulse
from electorate.check.progress import LimitReached, Report
from electorate.check.table.component import sorted_edges
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

    def meet(self, rows: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]) -> None:
        """Enter faulty states, by their rows and numbers, as states in which the faults ended."""
        world = self.world
        stable = rows.copy()
        stable[:, -1] = world.budgets.code(world.model.last_budget())
        if world.model.first_budget().pauses:
            stable[:, : world.n] = self._resumed()[rows[:, : world.n]]
        room = self.states.room_after(len(stable))
        if room > self.states.slots.shape[1]:
            self.states.grow(room, self._engine.each_owner)
        self.states.take_in(0, stable, fingerprints(stable), numbers)
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
            # A state that is no root is told by its predecessor, as minus two minus its number.
            self.states.take_in(owner, rows, marks, -2 - sources, places)
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

    def stem(self, state: int) -> tuple[Path, list[int]]:
        """How to get to a state: the path up to the last fault, and the states after it."""
        states = [state]
        while (parent := int(self._level.sources[states[-1]])) < -1:
            states.append(-2 - parent)
        return self._stem(parent), states[::-1]

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
