"""Every message of a run, from the turn that sent it to the step that ended its flight.

A trace records sends with their turns and receipts with their steps. Here they are joined: each
channel is a queue from which a receipt takes the message at its `place`. Messages that were on
their way when the record began are not in it; a channel is taken to have begun with as few of
them as explain its receipts.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from electorate.core import Message, NodeId, Send
from electorate.trace.happening import Heard, Link, Lost, Presence, Step, Trace, TurnRecord
from electorate.trace.setting import Connections

BEFORE = -1
"""The place of whatever happened before the first step."""


class Fate(StrEnum):
    """What became of a message."""

    ARRIVED = "arrived"
    LOST = "lost"
    FLYING = "flying"  # it was still on its way at the end
    TORN = "torn"  # its sender crashed before it could leave
    REMEMBERED = "remembered"  # it was meant for the sender itself


class Flight(NamedTuple):
    """One message on its way, or one copy of it."""

    sender: NodeId
    to: NodeId
    message: Message
    sent: int
    """The step that sent it, or BEFORE."""
    ended: int
    """The step that ended its flight; the number of all steps if nothing did."""
    fate: Fate
    why: str = ""
    """Why it was lost, where the trace says more than that it was."""
    unsent: bool = False
    """Whether it never got out into the network."""


class _Posted(NamedTuple):
    """A message enters its channel."""

    step: int
    message: Message


class _Taken(NamedTuple):
    """A message leaves its channel, unless it is only a copy that does."""

    step: int
    what: Heard | Lost


class _Cleared(NamedTuple):
    """A connection dies with all that is on it."""

    step: int


_Entry = _Posted | _Taken | _Cleared


def flights_of(trace: Trace) -> tuple[Flight, ...]:
    """All flights, in the order in which they end and then that in which they began."""
    clerk = _Clerk(trace)
    found = clerk.read()
    for channel, log in clerk.logs.items():
        found += _joined(channel, log, len(trace.steps))
    return tuple(sorted(found, key=lambda f: (f.ended, f.sent, f.sender, f.to)))


class _Clerk:
    """Keeps a log of each channel, knowing who is down and which links are cut."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.logs: dict[Link, list[_Entry]] = {}
        self._dies = trace.setting.connections is Connections.DIE
        self._there = Presence(trace.setting)
        self._severed: deque[Flight] = deque()
        self._found: list[Flight] = []

    def read(self) -> list[Flight]:
        """Fill the logs; the flights that never were on a channel."""
        for number, step in enumerate(self.trace.steps):
            self._take(number, step)
            for turn in step.turns:
                self._post(number, turn)
        self._found += self._severed
        return self._found

    def _take(self, number: int, step: Step) -> None:
        what, ids = step.happening, self.trace.setting.ids
        if isinstance(what, Heard | Lost):
            if self._severed and self._severed[0][:3] == (what.sender, what.to, what.message):
                self._found.append(self._severed.popleft()._replace(ended=number))
                return
            self._log(what.sender, what.to, _Taken(number, what))
        self._there.follow(what)
        if self._dies:
            self._clear(number, ((node, other) for node in what.starts for other in ids))
            self._clear(number, ((other, node) for node in what.stops for other in ids))
            self._clear(number, what.cuts)
        # A loss on a cut link is recorded right after the step that sent the message.
        self._found += self._severed
        self._severed.clear()

    def _post(self, number: int, turn: TurnRecord) -> None:
        me = turn.node
        for effect in turn.effects:
            if isinstance(effect, Send) and effect.to == me:
                own = Flight(me, me, effect.message, number, number, Fate.REMEMBERED)
                self._found.append(own)
        for send, left in turn.mail():
            flight = Flight(me, send.to, send.message, number, number, Fate.LOST, unsent=True)
            if not left:
                self._found.append(flight._replace(fate=Fate.TORN))
            elif not self._there.reaches(me, send.to):
                self._severed.append(flight._replace(why=f"{me}->{send.to} is cut"))
            elif self._dies and send.to in self._there.down:
                self._found.append(flight._replace(why=f"{send.to} is down"))
            else:
                self._log(me, send.to, _Posted(number, send.message))
        if turn.sent is not None:
            self._there.down.add(me)
            if self._dies:
                self._clear(number, ((other, me) for other in self.trace.setting.ids))

    def _clear(self, number: int, channels: Iterable[Link]) -> None:
        for sender, to in channels:
            self._log(sender, to, _Cleared(number))

    def _log(self, sender: NodeId, to: NodeId, entry: _Entry) -> None:
        self.logs.setdefault((sender, to), []).append(entry)


def _joined(channel: Link, log: list[_Entry], end: int) -> list[Flight]:
    taken = sum(isinstance(entry, _Taken) for entry in log)
    for unknown in range(taken + 1):
        queue = _Queue(channel, unknown, end)
        if all(queue.accepts(entry) for entry in log):
            return queue.finished()
    # No number of earlier messages explains it; so go by what the messages say.
    queue = _Queue(channel, taken, end)
    for entry in log:
        queue.accepts(entry, strictly=False)
    return queue.finished()


class _Queue:
    """What is on one channel; None for a message that was there before the record began."""

    def __init__(self, channel: Link, unknown: int, end: int) -> None:
        self.channel = channel
        self.end = end
        self.waiting: list[_Posted | None] = [None] * unknown
        self.flights: list[Flight] = []

    def accepts(self, entry: _Entry, *, strictly: bool = True) -> bool:
        """Whether this can come next; if so, it has."""
        match entry:
            case _Posted():
                self.waiting.append(entry)
            case _Cleared(step):
                self._end(self._known(), step, Fate.LOST, "its connection died")
                self.waiting.clear()
            case _Taken(step, what):
                place = what.place if strictly else self._resembling(what.message)
                if place >= len(self.waiting):
                    return False
                posted = self.waiting[place] or _Posted(BEFORE, what.message)
                if posted.message != what.message:
                    return False
                if not what.stays:
                    del self.waiting[place]
                fate = Fate.ARRIVED if what.arrives else Fate.LOST
                self._end([posted], step, fate, what.cause)
        return True

    def finished(self) -> list[Flight]:
        """All flights, after the last entry."""
        self._end(self._known(), self.end, Fate.FLYING)
        return self.flights

    def _known(self) -> Iterator[_Posted]:
        return (posted for posted in self.waiting if posted is not None)

    def _resembling(self, message: Message) -> int:
        """The place of the oldest message that says the same, or of an unknown one."""
        for place, posted in enumerate(self.waiting):
            if posted is not None and posted.message == message:
                return place
        return self.waiting.index(None) if None in self.waiting else len(self.waiting)

    def _end(self, all_posted: Iterable[_Posted], step: int, fate: Fate, why: str = "") -> None:
        for posted in all_posted:
            self.flights.append(Flight(*self.channel, posted.message, posted.step, step, fate, why))
