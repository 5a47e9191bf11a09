"""The state of a simulation at one instant: the nodes' states, what is on its way, what is armed.

Time is a whole number. In the simulator T is usually 1000 units, which is fine enough to seem
continuous; in a script that tells a story T is 1.
"""

from collections.abc import Hashable, Iterator
from itertools import combinations
from typing import Any

import msgspec

from electorate.claims import Row, Sight
from electorate.claims.claim import Sent, on_their_way
from electorate.core import Machine, Message, NodeId, Stable, Standing
from electorate.simulate.local import LocalState, LocalStates
from electorate.trace import Order, Setting

EVERYTHING = frozenset(Sight)


class ArmedTimer(msgspec.Struct, eq=False):
    """One setting of a timer: it fires between `earliest` and `latest`."""

    node: NodeId
    timer: str
    earliest: int
    latest: int


class Channel(msgspec.Struct, eq=False):
    """What is on its way from one node to another, oldest first."""

    sender: NodeId
    to: NodeId
    waiting: list["Envelope"] = []
    posted: int = 0
    cut: bool = False


class Envelope(msgspec.Struct, eq=False):
    """One message on its way."""

    channel: Channel
    sender: NodeId
    to: NodeId
    message: Message
    sent_at: int
    number: int
    """Counts all messages of the run in the order of sending."""
    ordinal: int
    """Counts the messages of this channel."""
    gone: bool = False
    """Whether it has been handed over or lost."""


class SimulatedNode(msgspec.Struct, eq=False):
    """One member; it is down while it has no local state."""

    id: NodeId
    local: LocalState | None = None
    stable: Stable | None = None
    """What it saved last; None if it never lived, or has lost it."""
    forgot: bool = False
    """Whether it has lived and lost what it had saved."""
    timers: dict[str, ArmedTimer] = {}
    view: frozenset[NodeId] = frozenset()
    paused: bool = False
    woken: bool = False
    """Whether it was resumed at this very time: what is due by now comes in any order."""

    @property
    def reacts(self) -> bool:
        """Whether it is up and not paused."""
        return self.local is not None and not self.paused


class SimulationState:
    """Everything that a run's next step may depend on."""

    def __init__(
        self, setting: Setting, machine: Machine[Any], locals_: LocalStates | None
    ) -> None:
        self.setting = setting
        self.machine = machine
        self.members = machine.members
        self.locals = locals_ or LocalStates(machine)
        self.everybody = frozenset(self.members.ids)
        self.now = 0
        self.numbered = 0
        self.nodes = {node: SimulatedNode(node) for node in self.members.ids}
        self.channels: dict[tuple[NodeId, NodeId], Channel] = {}
        self.delay_max = setting.delay_max
        self._owing = type(machine).must_ask is not Machine.must_ask
        self.absent = self.absent_links()
        """Kept up to date by the code that cuts and heals links."""

    def channel(self, sender: NodeId, to: NodeId) -> Channel:
        """The channel from one node to the other."""
        known = self.channels.get((sender, to))
        if known is None:
            known = Channel(sender, to, cut=not self.setting.linked(sender, to))
            self.channels[sender, to] = known
        return known

    def in_flight(self) -> Iterator[Envelope]:
        """Every message on its way, channel by channel."""
        for channel in self.channels.values():
            yield from channel.waiting

    def place_in_line(self, envelope: Envelope) -> tuple[int, int, int]:
        """The order in which messages are taken if nothing else decides."""
        sender = 0 if self.setting.order is Order.GLOBAL else envelope.sender
        return envelope.to, sender, envelope.number

    def obstacle(self, envelope: Envelope) -> str | None:
        """Why no node could take this message now, paused or not; None if one could."""
        if self.nodes[envelope.to].local is None:
            return f"{envelope.to} is down"
        if envelope.channel.cut:
            return f"{envelope.sender}->{envelope.to} is cut"
        return None

    def are_linked(self, one: NodeId, other: NodeId) -> bool:
        """Whether messages get through between two nodes, both ways."""
        ways = (self.channels.get((one, other)), self.channels.get((other, one)))
        return self.setting.linked(one, other) and not any(way and way.cut for way in ways)

    def is_awaited(self, envelope: Envelope) -> bool:
        """Whether a node that is up and not paused must take this message within its bound."""
        return self.nodes[envelope.to].reacts and self.obstacle(envelope) is None

    def debtors(self) -> Iterator[SimulatedNode]:
        """The nodes whose applications owe an answer and can give it now."""
        for node in self.nodes.values() if self._owing else ():
            owes = node.local is not None and node.local.owes
            if owes and not node.paused and self.ended_office(node) is None:
                yield node

    def ended_office(self, node: SimulatedNode) -> ArmedTimer | None:
        """The timer that has ended this node's office, if the node has not noticed yet."""
        for office in () if node.local is None else node.local.offices:
            armed = node.timers.get(office)
            if armed is not None and self._has_run_out(armed):
                return armed
        return None

    def _has_run_out(self, armed: ArmedTimer) -> bool:
        """Whether a timer's time is over; without bounds it never is."""
        return self.setting.timed and armed.latest <= self.now

    def standing(self, node: SimulatedNode) -> Standing | None:
        """What to believe of a node: its standing, unless its office has run out."""
        if node.local is None:
            return None
        standing = node.local.standing
        if standing.until is None:
            return standing
        armed = (name for name, armed in node.timers.items() if not self._has_run_out(armed))
        return standing.expired(frozenset(armed))

    def _judged(self, node: SimulatedNode) -> Stable | None:
        """What claims see of the data that a node has saved."""
        return None if node.stable is None else self.machine.judged(node.stable)

    def row(self, sights: frozenset[Sight] = EVERYTHING) -> Row:
        """The row that claims see if they ask for these sights."""
        nodes = self.nodes.values()
        states = (None if node.local is None else node.local.state for node in nodes)
        return Row(
            self.members,
            tuple(self.standing(node) for node in nodes),
            self.absent,
            tuple(map(self._judged, nodes)) if Sight.STABLES in sights else (),
            tuple(frozenset(node.timers) for node in nodes) if Sight.TIMERS in sights else (),
            tuple(states) if Sight.STATES in sights else (),
            self._messages() if Sight.MESSAGES in sights else (),
            tuple(self._task(node) for node in nodes) if Sight.TASKS in sights else (),
        )

    def _task(self, node: SimulatedNode) -> Hashable:
        return None if node.local is None else self.locals.turns.task(node.local.state)

    def _messages(self) -> tuple[Sent, ...]:
        sent = ((each.sender, each.to, each.message) for each in self.in_flight())
        return on_their_way(sent, in_order=self.setting.order in (Order.FIFO, Order.GLOBAL))

    def absent_links(self) -> frozenset[tuple[NodeId, NodeId]]:
        """The pairs of nodes between which there is no link now."""
        pairs = combinations(self.members.ids, 2)
        return frozenset(pair for pair in pairs if not self.are_linked(*pair))
