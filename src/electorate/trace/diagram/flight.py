"""Every message of a run, from the turn that sent it to the step that ended its flight.

A trace records sends with their turns and receipts with their steps. Here they are joined: each
channel is a queue from which a receipt takes the message at its `place`. Messages that were on
their way when the record began are not in it; a channel is taken to have begun with as few of them
as explain its receipts.
"""

from collections import deque
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from electorate.core import Message, NodeId, Send
from electorate.trace.happening import (
    Crashed,
    Happening,
    Heard,
    Link,
    Lost,
    Presence,
    Step,
    Trace,
    TurnRecord,
)
from electorate.trace.setting import Connections

BEFORE = -1
"""Stands for all that happened before the first step."""


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
    """Why it was lost, if the trace says more than that it was."""
    unsent: bool = False
    """Whether it never got out into the network."""


_What = Message | Heard | Lost | None
_Entry = tuple[int, _What]
"""A step that puts a message on a channel, takes one away, or ends all that is on it."""
_Sent = tuple[int, Message]


def flights_of(trace: Trace) -> tuple[Flight, ...]:
    """All flights, in the order in which they end, then in that in which they began."""
    channels = _ChannelLogs(trace)
    found = channels.read()
    for channel, log in channels.logs.items():
        found += _joined(channel, log, len(trace.steps))
    return tuple(sorted(found, key=lambda f: (f.ended, f.sent, f.sender, f.to)))


class _ChannelLogs:
    """Keeps a log of each channel, knowing which nodes are down and which links are cut."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.logs: dict[Link, list[_Entry]] = {}
        self._dies = trace.setting.connections is Connections.DIE
        self._there = Presence(trace.setting)
        self._severed: deque[Flight] = deque()
        self._found: list[Flight] = []

    def read(self) -> list[Flight]:
        """Fill the logs; returns the flights that never were on a channel."""
        for number, step in enumerate(self.trace.steps):
            self._take(number, step)
            for turn in step.turns:
                self._post(number, turn)
        self._found += self._severed
        return self._found

    def _take(self, number: int, step: Step) -> None:
        what = step.happening
        if isinstance(what, Heard | Lost):
            if self._severed and self._severed[0][:3] == (what.sender, what.to, what.message):
                self._found.append(self._severed.popleft()._replace(ended=number))
                return
            self._log(what.sender, what.to, number, what)
        self._follow(number, what)
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
                self._log(me, send.to, number, send.message)
        if turn.sent is not None:
            self._follow(number, Crashed(me))

    def _follow(self, number: int, what: Happening) -> None:
        self._there.follow(what)
        for sender, to in what.loses(self.trace.setting):
            self._log(sender, to, number, None)

    def _log(self, sender: NodeId, to: NodeId, number: int, what: _What) -> None:
        self.logs.setdefault((sender, to), []).append((number, what))


def _joined(channel: Link, log: list[_Entry], end: int) -> list[Flight]:
    taken = sum(isinstance(what, Heard | Lost) for _, what in log)
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
        self.waiting: list[_Sent | None] = [None] * unknown
        self.flights: list[Flight] = []

    def accepts(self, entry: _Entry, *, strictly: bool = True) -> bool:
        """Whether this entry can come next; if so, it has."""
        step, what = entry
        if what is None:
            self._end(self._known(), step, Fate.LOST, "its connection died")
            self.waiting.clear()
        elif isinstance(what, Message):
            self.waiting.append((step, what))
        else:
            place = what.place if strictly else self._resembling(what.message)
            if place >= len(self.waiting):
                return False
            sent = self.waiting[place] or (BEFORE, what.message)
            if sent[1] != what.message:
                return False
            if not what.stays:
                del self.waiting[place]
            fate = Fate.LOST if isinstance(what, Lost) else Fate.ARRIVED
            self._end([sent], step, fate, what.cause)
        return True

    def finished(self) -> list[Flight]:
        """All flights, after the last entry."""
        self._end(self._known(), self.end, Fate.FLYING)
        return self.flights

    def _known(self) -> list[_Sent]:
        return [sent for sent in self.waiting if sent is not None]

    def _resembling(self, message: Message) -> int:
        """The position of the oldest message that says the same, or of an unknown one."""
        for place, sent in enumerate(self.waiting):
            if sent is not None and sent[1] == message:
                return place
        return self.waiting.index(None) if None in self.waiting else len(self.waiting)

    def _end(self, all_sent: Iterable[_Sent], step: int, fate: Fate, why: str = "") -> None:
        for began, message in all_sent:
            self.flights.append(Flight(*self.channel, message, began, step, fate, why))
