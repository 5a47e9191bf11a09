"""Clocks of different machines side by side, by the messages that went between them.

The processes of one machine share a clock. Where a message seems to arrive before it was sent, the
clocks are of different machines: then each is moved so that what went there and what came back took
the same time at best.
"""

from collections import defaultdict
from collections.abc import Iterable

from electorate.core import NodeId
from electorate.trace.merge import Name, Numbering, Occurrence, name_of

ClockId = tuple[NodeId, int]
"""A node, and how often its clock had begun anew."""

SAMPLE = 64
"""Of the messages on a channel the first ones are looked at, and then every so many."""
TOLERANCE_MS = 1.0
"""So much earlier a message may seem to arrive on one machine: times are rounded."""


class Clocks:
    """How far the clock of each node is off from that of the first one."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, Name], tuple[ClockId, float]] = {}
        self._got: dict[tuple[str, Name], tuple[ClockId, float]] = {}
        self._numbering: defaultdict[tuple[str, NodeId], Numbering] = defaultdict(Numbering)
        self._spans: dict[ClockId, tuple[float, float]] = {}
        self.shifts: dict[ClockId, float] = {}
        """What to add to a time, once `settle` was called."""

    def see(self, instance: str, o: Occurrence) -> None:
        """Take in what an instance did at a node, one thing after the other."""
        clock = (o.node, o.clock)
        first, last = self._spans.get(clock, (o.at, o.at))
        self._spans[clock] = (min(first, o.at), max(last, o.at))
        name = name_of(o)
        if name is not None and _is_sampled(name):
            self._got[instance, name] = (clock, o.at)
        for _, sent in self._numbering[instance, o.node].sends(o):
            if sent is not None and _is_sampled(sent):
                self._sent[instance, sent] = (clock, o.at)

    def settle(self) -> None:
        """Find the shifts: none where everything fits one clock."""
        delays: dict[tuple[ClockId, ClockId], float] = {}
        for name, (receiver, got) in self._got.items():
            if name in self._sent:
                sender, sent = self._sent[name]
                delays[sender, receiver] = min(
                    got - sent, delays.get((sender, receiver), got - sent)
                )
        self.shifts = dict.fromkeys(self._spans, 0.0)
        if any(delay < -TOLERANCE_MS for delay in delays.values()):
            self._spread(delays)
        self._line_up()

    def _spread(self, delays: dict[tuple[ClockId, ClockId], float]) -> None:
        """Go from clock to clock along the messages."""
        linked: defaultdict[ClockId, set[ClockId]] = defaultdict(set)
        for one, other in delays:
            linked[one].add(other)
            linked[other].add(one)
        waiting = sorted(self._spans)
        known: set[ClockId] = set()
        while waiting:
            todo = [next((c for c in waiting if linked[c] & known), waiting[0])]
            while todo:
                here = todo.pop()
                if here not in known:
                    known.add(here)
                    waiting.remove(here)
                for there in sorted(linked[here] - known):
                    ahead, back = delays.get((here, there)), delays.get((there, here))
                    ways = [way for way in (ahead, back and -back) if way is not None]
                    self.shifts[there] = self.shifts[here] - sum(ways) / len(ways)
                    known.add(there)
                    waiting.remove(there)
                    todo.append(there)

    def _line_up(self) -> None:
        """A clock that has begun anew goes on where the one before has ended, at the earliest."""
        for node, turn in sorted(self._spans):
            before, here = self._spans.get((node, turn - 1)), self._spans[node, turn]
            if before is not None:
                end = before[1] + self.shifts[node, turn - 1]
                self.shifts[node, turn] = max(self.shifts[node, turn], end - here[0])

    def shifted(self, record: Iterable[Occurrence]) -> list[Occurrence]:
        """A record by the common clock."""
        return [o._replace(at=o.at + self.shifts.get((o.node, o.clock), 0.0)) for o in record]

    def at(self, clock: ClockId, at: float) -> float:
        """A time of a node by the common clock."""
        return at + self.shifts.get(clock, 0.0)


def _is_sampled(name: Name) -> bool:
    return name[3] <= SAMPLE or name[3] % SAMPLE == 0
