"""The time axis: where each step stands, to scale between instants and fanned out within one.

Many steps may fall on one instant, as in a checker's tick. Within it they are moved apart from left
to right, but only as far as they depend on each other: steps at one node keep their order, a
message arrives after it was sent, a suspicion follows its crash. Independent steps at different
nodes stay side by side. In the same way steps that are too close together to be told apart are
moved apart; all that comes later moves along, and the grid with it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from electorate.core import NodeId
from electorate.trace.diagram.flight import BEFORE, Fate, Flight
from electorate.trace.diagram.life import goes_on
from electorate.trace.happening import Step, Ticked, Trace
from electorate.trace.setting import Clock

T_WIDTH, T_WIDTH_NODE = 110.0, 18.0
"""The usual width of T, and how much wider it is for each node: messages should not be steep."""
T_WIDTH_MIN = 40.0
"""Long runs get a smaller width, down to this, so as not to be wider than WIDTH_MAX."""
WIDTH_MAX = 9000.0
MS_WIDTH = 20.0
"""The usual width of a millisecond of a recorded run, if T is not wider."""
GRID_MIN = 70.0
"""The distance of two lines of the grid of a recorded run, at least."""
SLOT = 34.0
"""The distance of two steps that depend on each other, within an instant."""
SLOT_UNMEASURED = 84.0
"""The same where time has no measure and order is all there is to see."""
LEAN = 12.0
"""How far to the right every message goes at least."""
NEAR = 10.0
"""The distance of two turns at one node at different instants, at least."""
NEAR_SIGN = 20.0
"""The same where one of the two is shown by a larger sign than a dot."""
SMALL = {"", "turn"}


class Instant(NamedTuple):
    """A moment at which something happened, and the space that its steps take."""

    at: int
    left: float
    right: float


class Axis:
    """Positions of steps and times, from 0 at the beginning of time to the right."""

    def __init__(
        self,
        trace: Trace,
        flights: Iterable[Flight],
        barriers: Iterable[int] = (),
        *,
        recorded: bool = False,
    ) -> None:
        self.timing = trace.setting.timing
        end = trace.steps[-1].at if trace.steps else 0
        self.measured = trace.setting.clock is Clock.BOUNDED or end > 0
        """Whether time passes at all; otherwise only the order of the steps is known."""
        self.recorded = self.measured and recorded
        """Whether times are milliseconds of a run that was recorded."""
        usual = T_WIDTH + T_WIDTH_NODE * len(trace.setting.ids)
        if self.recorded:
            # It may be one second of a day, and its T of no meaning.
            span = max(end - trace.steps[0].at, 1)
            self.unit = min(usual / self.timing.T, MS_WIDTH, WIDTH_MAX / span)
            steps = (number * 10**power for power in range(9) for number in (1, 2, 5))
            self._line = next(step for step in steps if step * self.unit >= GRID_MIN)
            self.origin = trace.steps[0].at // self._line * self._line
        else:
            t_width = max(T_WIDTH_MIN, min(usual, WIDTH_MAX * self.timing.T / max(end, 1)))
            self.unit = t_width / self.timing.T
            self._line, self.origin = self.timing.T, 0
        self._slot = SLOT if self.measured else SLOT_UNMEASURED
        self._sent: dict[int, list[int]] = {}
        for flight in flights:
            is_before = BEFORE < flight.sent < flight.ended and not flight.unsent
            if is_before and flight.fate is not Fate.FLYING:
                self._sent.setdefault(flight.ended, []).append(flight.sent)
        self._barriers = frozenset(barriers)
        self.steps: list[float] = []
        """Where each step stands."""
        self.instants: list[Instant] = []
        self._last: dict[NodeId, tuple[Step, float]] = {}
        """The last step at each node, and where it stands."""
        self._fault: dict[NodeId, float] = {}
        """Where something was last done to each node that others may notice."""
        self._floor = 0.0
        self._spread(trace.steps)

    @property
    def end(self) -> float:
        """Where the last step stands."""
        return self.instants[-1].right if self.instants else 0.0

    def text(self, at: int) -> str:
        """The text for a time on the grid."""
        if not self.recorded:
            return self.timing.text(at)
        digits = max(0, 4 - len(str(self._line)))
        return f"{at / 1000:.{digits}f} s"

    def length(self, duration: int) -> str:
        """The text for a duration."""
        return f"{duration} ms" if self.recorded else self.timing.text(duration)

    def of_time(self, at: int) -> float:
        """The position of a time; of an instant, its left side."""
        place = bisect_right(self.instants, at, key=lambda instant: instant.at)
        before = self.instants[place - 1] if place else Instant(self.origin, 0.0, 0.0)
        if before.at == at:
            return before.left
        if place == len(self.instants):
            return before.right + (at - before.at) * self.unit
        after = self.instants[place]
        part = (at - before.at) / (after.at - before.at)
        return before.right + part * (after.left - before.right)

    def grid(self, right: float) -> Iterator[Instant]:
        """Every whole T up to a position, with the space that its steps take.

        For a recorded run, round numbers of milliseconds instead.
        """
        known = {instant.at: instant for instant in self.instants}
        at = self.origin
        while (x := self.of_time(at)) <= right:
            yield known.get(at, Instant(at, x, x))
            if not self.measured:
                return
            at += self._line

    def _spread(self, steps: tuple[Step, ...]) -> None:
        begin = 0
        while begin < len(steps):
            end = begin
            while end < len(steps) and steps[end].at == steps[begin].at:
                end += 1
            self._spread_instant(steps, range(begin, end))
            begin = end

    def _spread_instant(self, steps: tuple[Step, ...], numbers: range) -> None:
        at = steps[numbers[0]].at
        before = self.instants[-1] if self.instants else Instant(self.origin, 0.0, 0.0)
        start = before.right + (at - before.at) * self.unit
        found: list[float] = []
        for number in numbers:
            x = start
            if not isinstance(steps[number].happening, Ticked):
                x = self._position(steps, number, start)
                found.append(x)
            self.steps.append(x)
            if number in self._barriers:
                self._floor = max([*found, start]) + self._slot
        instant = Instant(at, min(found, default=start), max(found, default=start))
        for number in numbers:
            if isinstance(steps[number].happening, Ticked):
                self.steps[number] = instant.left
        self.instants.append(instant)

    def _position(self, steps: tuple[Step, ...], number: int, start: float) -> float:
        step = steps[number]
        x = max(start, self._floor)
        for sent in self._sent.get(number, ()):
            lean = self._slot if steps[sent].at == step.at else LEAN
            x = max(x, self.steps[sent] + lean)
        what = step.happening
        if what.lane in self._last:
            last, there = self._last[what.lane]
            near = NEAR if {last.happening.sign, what.sign} <= SMALL else NEAR_SIGN
            x = max(x, there + (self._slot if last.at == step.at else near))
        noticed = what.notices & self._fault.keys()
        x = max([x, *(self._fault[node] + self._slot for node in noticed)])
        if goes_on(steps, number):
            x = max(start, self.steps[number - 1])
        if what.lane is not None:
            self._last[what.lane] = (step, x)
            if what.change.up or what.change.down or what.ways:
                self._fault[what.lane] = x
        return x
