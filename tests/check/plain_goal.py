"""Liveness by its definition, on a graph small enough to ask of every pair who reaches whom."""

from typing import NamedTuple

from electorate.check import Liveness
from tests.check.plain_moves import Reached


class Grade(NamedTuple):
    liveness: Liveness | None = None
    tau: int | None = None


class PlainGoal:
    """One goal on one stable graph; `lacks` says of each place whether it misses the goal.

    `hidden` says whether a bound hid some run, before the last fault or after it.
    """

    def __init__(
        self, reached: Reached, lacks: list[bool], bounded: bool, hidden: bool = False
    ) -> None:
        self.edges, self.cut = reached.edges, reached.cut
        self.lacks, self.bounded, self.hidden = lacks, bounded, hidden
        self.every = range(len(self.edges))
        self.reach = [self._reach(place) for place in self.every]
        self.round = [self._round(place) for place in self.every]

    def _reach(self, place: int) -> set[int]:
        """Where one can get to from here in one step or more."""
        met: set[int] = set()
        ways = [place]
        while ways:
            new = {target for target, _ in self.edges[ways.pop()]} - met
            met |= new
            ways += new
        return met

    def _round(self, place: int) -> set[int]:
        """This place and all that one can go to and come back from."""
        return {place} | {other for other in self.reach[place] if place in self.reach[other]}

    def is_final(self, place: int) -> bool:
        """Whether no run leaves what is round here, not even beyond a bound."""
        mine = self.round[place]
        return self.reach[place] <= mine and not any(self.cut[other] for other in mine)

    def runs_for_ever(self, place: int) -> bool:
        """Whether a run can go round here for ever, and time with it."""
        mine = self.round[place]
        inside = ((a, target, tick) for a in mine for target, tick in self.edges[a])
        return any(tick or not self.bounded for _, target, tick in inside if target in mine)

    def settled(self, place: int) -> bool:
        """Whether the goal is never lost again from here on."""
        return not (self.lacks[place] or any(self.lacks[other] for other in self.reach[place]))

    def grade(self) -> Grade:
        for place in self.every:
            lacking = any(self.lacks[other] for other in self.round[place])
            stops = self.bounded and not self.runs_for_ever(place)
            if self.is_final(place) and (lacking or stops):
                return Grade(Liveness.STUCK)
        for place in self.every:
            if self.runs_for_ever(place) and not self.settled(place):
                return Grade(Liveness.PREVENTABLE)
        grade = Liveness.UNDECIDED if self.hidden else Liveness.LIVE
        return Grade(grade, self._tau() if self.bounded else None)

    def _tau(self) -> int:
        """The most ticks that can pass until the goal is settled, by going on until no more do."""
        left = [0] * len(self.edges)
        changed = True
        while changed:
            changed = False
            for place in self.every:
                if not self.settled(place):
                    ways = (left[target] + tick for target, tick in self.edges[place])
                    longest = max(ways, default=0)
                    changed |= longest != left[place]
                    left[place] = longest
        return max(left)
