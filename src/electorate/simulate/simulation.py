"""A simulation: all nodes of a run and their network, and everything that can be done to them.

Every operation is one step. It first asks the laws whether it may happen, except `hand_over`,
`run_out`, `see` and `pass_time`: these are for a driver that keeps the laws by construction.

What a node says to itself is handled within the same step. After a crash in the middle of a step,
only the first few of its messages on each channel leave.

Time is a whole number. In the simulator T is usually 1000 units, which is fine enough to seem
continuous; in a script that tells a story T is 1.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from electorate.claims import Row, Sight
from electorate.claims.claim import Sent, on_their_way
from electorate.core import (
    Machine,
    Message,
    NodeId,
    ProtocolError,
    Request,
    Stable,
    Standing,
    text_of,
)
from electorate.core.codec import declared_messages
from electorate.simulate import law
from electorate.simulate.law import IllegalStep
from electorate.simulate.local import EventOutcome, LocalState, LocalStates
from electorate.trace import (
    Connections,
    Crashed,
    Cut,
    Delivered,
    Doubled,
    Fired,
    Happening,
    Healed,
    Lost,
    Order,
    Paused,
    Phased,
    Placed,
    Recovered,
    Requested,
    Reset,
    Resumed,
    Saw,
    Setting,
    Step,
    Storage,
    Ticked,
    Trace,
    TurnRecord,
)
from electorate.trace.word import counted

EVERYTHING = frozenset(Sight)
CHAIN_MAX = 1000
"""A node that answers itself this often within one step would never end."""


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


class TornTurn(NamedTuple):
    """A crash in the middle of a turn: how many of its messages to each node leave."""

    sent: Mapping[NodeId, int]
    turn: int = 0
    """Which turn of the step it is; those before it are whole, and none comes after it."""


class Simulation:
    """All nodes of one run and the network between them."""

    def __init__(
        self, setting: Setting, machine: Machine[Any], locals_: LocalStates | None = None
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
        self.absent = self.absent_links()
        """Kept up to date by the code that cuts and heals links."""
        self.posted: list[Envelope] = []
        """Messages sent since a driver last emptied this list."""
        self.armed: list[ArmedTimer] = []
        """Timers set since a driver last emptied this list."""
        self.severed: list[Envelope] = []
        """Messages sent on a cut link in this step."""
        self.recording = True
        self.steps: list[Step] = []
        self.past: list[Row] = []
        """What could be seen so far, while the run is being recorded."""
        self.keeps_past = True
        """Whether that is kept at all: if many messages are on their way, it costs time."""
        self.watch: Callable[[Simulation], None] | None = None
        """Called after every step that is recorded."""
        self._dies = setting.connections is Connections.DIE
        self.owing = type(machine).must_ask is not Machine.must_ask
        """Whether applications may owe anything at all."""

    def copy(self, setting: Setting | None = None) -> "Simulation":
        """A copy of the same state, to go another way from here; its record begins anew."""
        twin = Simulation(setting or self.setting, self.machine, self.locals)
        twin.now, twin.numbered, twin.absent = self.now, self.numbered, self.absent
        for node in self.nodes.values():
            timers = {name: structs.replace(armed) for name, armed in node.timers.items()}
            twin.nodes[node.id] = structs.replace(node, timers=timers)
        for key, channel in self.channels.items():
            copied = structs.replace(channel, waiting=[])
            copied.waiting += (structs.replace(e, channel=copied) for e in channel.waiting)
            twin.channels[key] = copied
        return twin

    def trace(self) -> Trace:
        """The run so far."""
        return Trace(self.setting, tuple(self.steps))

    # --- the state: what a next step may depend on ---

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
        there, back = self.channels.get((one, other)), self.channels.get((other, one))
        is_cut = (there is not None and there.cut) or (back is not None and back.cut)
        return not is_cut and self.setting.linked(one, other)

    def is_awaited(self, envelope: Envelope) -> bool:
        """Whether a node that is up and not paused must take this message within its bound."""
        return self.nodes[envelope.to].reacts and self.obstacle(envelope) is None

    def debtors(self) -> Iterator[SimulatedNode]:
        """The nodes whose applications owe an answer and can give it now."""
        for node in self.nodes.values() if self.owing else ():
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

    def absent_links(self) -> frozenset[tuple[NodeId, NodeId]]:
        """The pairs of nodes between which there is no link now."""
        pairs = combinations(self.members.ids, 2)
        return frozenset(pair for pair in pairs if not self.are_linked(*pair))

    # --- what claims see ---

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

    # --- messages ---

    def waiting(self, sender: NodeId, to: NodeId, place: int = 0) -> Envelope:
        """The message at this position of its channel, counted from the oldest."""
        channel = self.channels.get((self.node(sender).id, self.node(to).id))
        on_the_way = channel.waiting if channel else []
        if place >= len(on_the_way):
            many = len(on_the_way) or "nothing"
            raise IllegalStep(f"{sender}->{to} #{place} is not on its way: {many} is")
        return on_the_way[place]

    def deliver(
        self, sender: NodeId, to: NodeId, place: int = 0, torn: TornTurn | None = None
    ) -> None:
        """Hand over a message."""
        envelope = self.waiting(sender, to, place)
        law.may_deliver(self, envelope)
        self.hand_over(envelope, torn)

    def double(
        self, sender: NodeId, to: NodeId, place: int = 0, torn: TornTurn | None = None
    ) -> None:
        """Hand over a message of which a copy stays on its way."""
        envelope = self.waiting(sender, to, place)
        law.may_deliver(self, envelope)
        self.hand_over(envelope, torn, copy_stays=True)

    def hand_over(
        self, envelope: Envelope, torn: TornTurn | None = None, *, copy_stays: bool = False
    ) -> None:
        """Hand over a message that may arrive, as the caller knows."""
        waiting = envelope.channel.waiting
        place = waiting.index(envelope)
        if not copy_stays and self.setting.order is not Order.SET:
            del waiting[place]
            envelope.gone = True
        node = self.nodes[envelope.to]
        assert node.local is not None
        outcome = self.locals.received(node.local, envelope.sender, envelope.message)
        if torn is None and not self.recording and not outcome.memories:
            if outcome.matters:
                self.apply(node, outcome)
            return
        turns = self.react(node, (outcome,), torn)
        if self.recording:
            kind = Doubled if copy_stays else Delivered
            self._record(kind(envelope.sender, envelope.to, envelope.message, place), turns)

    def lose(self, sender: NodeId, to: NodeId, place: int = 0) -> None:
        """Lose a message."""
        self.drop(self.waiting(sender, to, place))

    def drop(self, envelope: Envelope, why: str = "lost") -> None:
        """Lose this message."""
        waiting = envelope.channel.waiting
        place = waiting.index(envelope)
        del waiting[place]
        envelope.gone = True
        if self.recording:
            what = Lost(envelope.sender, envelope.to, envelope.message, why, place)
            self._record(what)

    # --- events at one node ---

    def fire(self, node: NodeId, timer: str, torn: TornTurn | None = None) -> None:
        """Let a timer run out."""
        law.may_fire(self, self.node(node), timer)
        self.run_out(node, timer, torn)

    def run_out(self, node: NodeId, timer: str, torn: TornTurn | None = None) -> None:
        """Fire a timer that is due, as the caller knows."""
        here = self.nodes[node]
        assert here.local is not None
        del here.timers[timer]
        turns = self.react(here, (self.locals.timed_out(here.local, timer),), torn)
        if self.recording:
            self._record(Fired(node, timer), turns)

    def view(self, node: NodeId, alive: Iterable[NodeId], torn: TornTurn | None = None) -> None:
        """Let a node's failure detector change its mind."""
        seen = frozenset(alive)
        law.may_see(self, self.node(node), seen)
        self.see(node, seen, torn)

    def see(self, node: NodeId, alive: frozenset[NodeId], torn: TornTurn | None = None) -> None:
        """Let a node see what it may see, as the caller knows."""
        here = self.nodes[node]
        before, here.view = here.view, alive
        assert here.local is not None
        turns = self.react(here, (self.locals.viewed(here.local, alive),), torn)
        if self.recording:
            self._record(Saw(node, alive, before), turns)

    def offered(self, node: NodeId) -> tuple[Request, ...]:
        """What its application may ask a node for now."""
        here = self.node(node)
        law.may_take(self, here)
        assert here.local is not None
        return self.locals.turns.offered(here.local.state)

    def ask(self, node: NodeId, request: Request, torn: TornTurn | None = None) -> None:
        """Let the application ask for something."""
        offered = self.offered(node)
        if request not in offered:
            raise law.not_offered(node, offered, text_of(request))
        here = self.nodes[node]
        assert here.local is not None
        outcome = self.locals.asked(here.local, request)
        self._record(Requested(node, request), self.react(here, (outcome,), torn))

    # --- faults ---

    def crash(self, node: NodeId) -> None:
        """Stop a node between two turns."""
        here = self.node(node)
        if here.local is None:
            raise IllegalStep(f"{node} is down already")
        self.stop(here)
        self._record(Crashed(node))

    def recover(self, node: NodeId, torn: TornTurn | None = None) -> None:
        """Start a node, for the first time, or again with what its last life saved."""
        here = self.node(node)
        if here.local is not None:
            raise IllegalStep(f"{node} is up already")
        first = here.stable is None and not here.forgot
        turns = self.react(here, self.revive(here), torn)
        self._record(Recovered(node, first), turns)

    def boot(self) -> None:
        """Start all nodes for the first time, at the same moment: no first message gets lost."""
        dies, self._dies = self._dies, False
        for node in self.members.ids:
            self.recover(node)
        self._dies = dies

    def pause(self, node: NodeId) -> None:
        """Let a node stop reacting; its timers run on."""
        here = self.node(node)
        if not here.reacts:
            raise IllegalStep(f"{node} is {'down' if here.local is None else 'paused already'}")
        here.paused = True
        self._record(Paused(node))

    def resume(self, node: NodeId) -> None:
        """Let a paused node react again."""
        here = self.node(node)
        if not here.paused:
            raise IllegalStep(f"{node} is not paused")
        here.paused, here.woken = False, True
        self._record(Resumed(node))

    def cut(self, sender: NodeId, to: NodeId, *, both: bool = False) -> None:
        """Cut a link, one way or both."""
        self._set_cut(Cut(sender, to, both), True)

    def heal(self, sender: NodeId, to: NodeId, *, both: bool = False) -> None:
        """Heal a link, one way or both."""
        self._set_cut(Healed(sender, to, both), False)

    def reset(self, sender: NodeId, to: NodeId, *, both: bool = False) -> None:
        """Break a connection, one way or both: what is on its way is lost, what follows is not."""
        happening = Reset(sender, to, both)
        for way in happening.ways:
            self._link(*way)
            self.clear(*way)
        self._record(happening)

    def _link(self, sender: NodeId, to: NodeId) -> Channel:
        """The channel of a link that exists."""
        if self.node(sender) is self.node(to):
            raise IllegalStep(f"{sender} has no link to itself")
        if not self.setting.linked(sender, to):
            raise IllegalStep(f"there is no link between {sender} and {to}")
        return self.channel(sender, to)

    def _set_cut(self, happening: Cut | Healed, cut: bool) -> None:
        for sender, to in happening.ways:
            channel = self._link(sender, to)
            if channel.cut == cut:
                raise IllegalStep(f"{sender}->{to} is {'cut already' if cut else 'not cut'}")
            channel.cut = cut
            if cut and self._dies:
                self.clear(sender, to)
        self.absent = self.absent_links()
        self._record(happening)

    # --- time ---

    def tick(self, by: int = 1) -> None:
        """Let time pass. Messages that no node could take within their bound are lost."""
        law.may_tick(self, by)
        self.pass_time(by)
        self.expire()

    def pass_time(self, by: int) -> None:
        """Let time pass, if nothing is due, as the caller knows."""
        self.now += by
        for node in self.nodes.values():
            node.woken = False
        self._record(Ticked(by))

    def expire(self) -> None:
        """Lose the messages that no node could take within their bound."""
        if not self.setting.prompt:
            return
        late = (e for e in self.in_flight() if e.sent_at + self.delay_max < self.now)
        for envelope in sorted(late, key=self.place_in_line):
            why = self.obstacle(envelope)
            if why is not None:
                self.drop(envelope, why)

    def phase(self, node: NodeId, timer: str, left: int) -> None:
        """Shift the start: this timer has so much left."""
        here = self.node(node)
        if timer not in here.timers:
            raise IllegalStep(f"{node} {timer} is not armed")
        here.timers[timer] = ArmedTimer(node, timer, self.now + left, self.now + left)
        self._record(Phased(node, timer, left))

    def place(self, placed: Placed) -> None:
        """Put a node that has never lived into a state."""
        here = self.node(placed.node)
        if here.local is not None or here.stable is not None:
            raise IllegalStep(f"{placed.node} lives or has lived already")
        kind: Any = self.machine.state_type if placed.is_up else self.machine.stable_type | None
        mail = declared_messages(self.machine)
        try:
            value: Any = msgspec.json.decode(placed.json, type=kind)
            sent = [(to, age, msgspec.json.decode(m, type=mail)) for to, age, m in placed.sent]
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise IllegalStep(f"{placed.node} cannot be in this state: {error}") from None
        if placed.is_up:
            here.local, here.stable = self.locals.local(value), value.stable
            here.view = placed.alive
            for timer, soonest, latest in placed.timers:
                here.timers[timer] = ArmedTimer(
                    here.id, timer, self.now + soonest, self.now + latest
                )
        else:
            here.stable = value
        # Whom it has sent something may be placed only after it.
        dies, self._dies = self._dies, False
        for to, age, message in sent:
            self._post(here.id, self.node(to).id, message, self.now - age)
        self._dies = dies
        self._record(placed)

    # --- how a node reacts: its turns are taken and its effects carried out ---

    def react(
        self, node: SimulatedNode, outcomes: tuple[EventOutcome, ...], torn: TornTurn | None = None
    ) -> tuple[TurnRecord, ...]:
        """Take all turns of one step; the record of each, while the run is being recorded."""
        if torn is None and not self.recording and len(outcomes) == 1 and not outcomes[0].memories:
            self.apply(node, outcomes[0])
            return ()
        coming, memories = deque(outcomes), deque[Message]()
        records: list[TurnRecord] = []
        while coming or memories:
            if not coming:
                assert node.local is not None
                coming.append(self.locals.received(node.local, node.id, memories.popleft()))
            outcome = coming.popleft()
            memories.extend(outcome.memories)
            before = None if node.local is None else node.local.state
            turn = outcome.turn
            if torn is not None and torn.turn == len(records):
                sent = self._tear(node, outcome, torn)
                records.append(TurnRecord(node.id, before, turn.state, turn.effects, sent))
                return tuple(records)
            self.apply(node, outcome)
            records.append(TurnRecord(node.id, before, turn.state, turn.effects))
            if len(records) > CHAIN_MAX:
                where = f"state {text_of(turn.state)}"
                raise ProtocolError(self.machine, where, "a node never stops answering itself")
        if torn is not None:
            raise IllegalStep(f"this step of {node.id} has no turn #{torn.turn}")
        return tuple(records)

    def _tear(
        self, node: SimulatedNode, outcome: EventOutcome, torn: TornTurn
    ) -> tuple[tuple[NodeId, int], ...]:
        """Crash in the middle of this turn: what is stable is saved, some messages leave."""
        sends = Counter(to for to, _ in outcome.sends)
        for to, count in torn.sent.items():
            if count > sends[to]:
                raise IllegalStep(
                    f"{node.id} sends {counted(sends[to], 'messages')} to {to}, not {count}"
                )
        node.stable = outcome.turn.state.stable
        sent = {to: torn.sent.get(to, 0) for to in sorted(sends)}
        left = Counter(sent)
        for to, message in outcome.sends:
            if left[to]:
                left[to] -= 1
                self._post(node.id, to, message)
        self.stop(node)
        return tuple(sent.items())

    def apply(self, node: SimulatedNode, outcome: EventOutcome) -> None:
        """Carry out one turn: what is stable is saved, then the orders follow."""
        node.local = outcome.local
        node.stable = outcome.turn.state.stable
        for timer, after, jitter in outcome.timers:
            if after is not None:
                self.arm(node, timer, after, jitter)
            elif timer in node.timers:
                del node.timers[timer]
        me = node.id
        for to, message in outcome.sends:
            self._post(me, to, message)

    def arm(self, node: SimulatedNode, timer: str, after: int, jitter: int) -> None:
        """Set a timer; an earlier setting is forgotten."""
        soonest, latest = self.setting.lasts(after, jitter)
        armed = ArmedTimer(node.id, timer, self.now + soonest, self.now + latest)
        node.timers[timer] = armed
        self.armed.append(armed)

    def _post(
        self, sender: NodeId, to: NodeId, message: Message, sent_at: int | None = None
    ) -> None:
        channel = self.channels.get((sender, to)) or self.channel(sender, to)
        ordinal = channel.posted
        channel.posted = ordinal + 1
        self.numbered = number = self.numbered + 1
        at = self.now if sent_at is None else sent_at
        envelope = Envelope(channel, sender, to, message, at, number, ordinal)
        if channel.cut:
            self.severed.append(envelope)
        elif not (self._dies and self.nodes[to].local is None):
            if self.setting.order is Order.SET:
                _keep(channel.waiting, envelope)
            else:
                channel.waiting.append(envelope)
            self.posted.append(envelope)

    def stop(self, node: SimulatedNode) -> None:
        """Take a node down: its timers and its memory are gone, and its storage if so set."""
        node.local = None
        if self.setting.storage is Storage.LOST:
            node.stable, node.forgot = None, True
        node.timers = {}
        node.paused = node.woken = False
        if self._dies:
            for other in self.members.others(node.id):
                self.clear(other, node.id)

    def revive(self, node: SimulatedNode) -> tuple[EventOutcome, ...]:
        """Get a node ready to boot; returns what it does first."""
        node.view = self.setting.neighbours(node.id)
        if self._dies:
            for other in self.members.others(node.id):
                self.clear(node.id, other)
        return self.first_turns(node)

    def first_turns(self, node: SimulatedNode) -> tuple[EventOutcome, ...]:
        """What a node does first in its next life; its detector begins by trusting neighbours."""
        return self.locals.life(node.id, node.stable, self.setting.neighbours(node.id))

    def clear(self, sender: NodeId, to: NodeId) -> None:
        """A connection breaks, and all that is on its way there is lost."""
        channel = self.channel(sender, to)
        for envelope in channel.waiting:
            envelope.gone = True
        channel.waiting = []

    # --- what the operations have in common ---

    def node(self, node: NodeId) -> SimulatedNode:
        """The member with this id."""
        known = self.nodes.get(node)
        if known is None:
            raise IllegalStep(f"{node} is not a member")
        return known

    def _record(self, happening: Happening, turns: tuple[TurnRecord, ...] = ()) -> None:
        if self.recording:
            self.steps.append(Step(self.now, happening, turns))
            if self.keeps_past:
                self._remember(self.row())
            for envelope in self.severed:
                sender, to = envelope.sender, envelope.to
                what = Lost(sender, to, envelope.message, f"{sender}->{to} is cut")
                self.steps.append(Step(self.now, what))
            if self.watch:
                self.watch(self)
        self.severed.clear()

    def _remember(self, row: Row) -> None:
        if not self.past or row != self.past[-1]:
            self.past.append(row)


def _keep(waiting: list[Envelope], envelope: Envelope) -> None:
    """Add a message to a set of messages, kept in the order of their texts."""
    if all(envelope.message != kept.message for kept in waiting):
        waiting.append(envelope)
        waiting.sort(key=lambda kept: (text_of(kept.message), repr(kept.message)))
