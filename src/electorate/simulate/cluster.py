"""A cluster: the world, and everything that can be done to it, one step at a time.

Every operation first asks the laws whether it may happen; those named `hand_over`, `run_out`,
`see` and `pass_time` do not, for a driver that keeps the laws by construction.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import structs

from electorate.claims import Row
from electorate.core import Machine, NodeId, Request, text_of
from electorate.core.codec import declared_messages
from electorate.simulate import law
from electorate.simulate.law import IllegalStep
from electorate.simulate.local import Locals
from electorate.simulate.reaction import Reactions, Torn
from electorate.simulate.world import Armed, Channel, Envelope, Node
from electorate.trace import (
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
    Pressed,
    Recovered,
    Reset,
    Resumed,
    Saw,
    Setting,
    Step,
    Ticked,
    Trace,
    TurnRecord,
)


class Cluster(Reactions):
    """All nodes of one run and the network between them."""

    def __init__(
        self, setting: Setting, machine: Machine[Any], locals_: Locals | None = None
    ) -> None:
        super().__init__(setting, machine, locals_)
        self.steps: list[Step] = []
        self.past: list[Row] = []
        """What could be seen so far, while the run is being recorded."""
        self.keeps_past = True
        """Whether that is kept at all: with many messages on their way it takes its time."""
        self.watch: Callable[[Cluster], None] | None = None
        """Called after every step that is recorded."""

    def copy(self, setting: Setting | None = None) -> "Cluster":
        """The same world once more, to go another way from here; its record begins anew."""
        twin = Cluster(setting or self.setting, self.machine, self.locals)
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

    # --- messages ---

    def waiting(self, sender: NodeId, to: NodeId, place: int = 0) -> Envelope:
        """The message at this place of its channel, counted from the oldest."""
        channel = self.channels.get((self.node(sender).id, self.node(to).id))
        on_the_way = channel.waiting if channel else []
        if place >= len(on_the_way):
            many = len(on_the_way) or "nothing"
            raise IllegalStep(f"{sender}->{to} #{place} is not on its way: {many} is")
        return on_the_way[place]

    def deliver(self, sender: NodeId, to: NodeId, place: int = 0, torn: Torn | None = None) -> None:
        """Hand over a message."""
        envelope = self.waiting(sender, to, place)
        law.may_deliver(self, envelope)
        self.hand_over(envelope, torn)

    def double(self, sender: NodeId, to: NodeId, place: int = 0, torn: Torn | None = None) -> None:
        """Hand over a message, of which a copy stays on its way."""
        envelope = self.waiting(sender, to, place)
        law.may_deliver(self, envelope)
        self.hand_over(envelope, torn, copy_stays=True)

    def hand_over(
        self, envelope: Envelope, torn: Torn | None = None, *, copy_stays: bool = False
    ) -> None:
        """Hand over a message that is known to be allowed to arrive."""
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

    def fire(self, node: NodeId, timer: str, torn: Torn | None = None) -> None:
        """Let a timer run out."""
        law.may_fire(self, self.node(node), timer)
        self.run_out(node, timer, torn)

    def run_out(self, node: NodeId, timer: str, torn: Torn | None = None) -> None:
        """Fire a timer that is known to be due."""
        here = self.nodes[node]
        assert here.local is not None
        del here.timers[timer]
        turns = self.react(here, (self.locals.timed_out(here.local, timer),), torn)
        if self.recording:
            self._record(Fired(node, timer), turns)

    def view(self, node: NodeId, alive: Iterable[NodeId], torn: Torn | None = None) -> None:
        """Let a node's failure detector change its mind."""
        seen = frozenset(alive)
        law.may_see(self, self.node(node), seen)
        self.see(node, seen, torn)

    def see(self, node: NodeId, alive: frozenset[NodeId], torn: Torn | None = None) -> None:
        """Let a node see something that it is known to be allowed to see."""
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

    def ask(self, node: NodeId, request: Request, torn: Torn | None = None) -> None:
        """Let the application ask for something."""
        offered = self.offered(node)
        if request not in offered:
            raise law.not_offered(node, offered, text_of(request))
        here = self.nodes[node]
        assert here.local is not None
        outcome = self.locals.asked(here.local, request)
        self._record(Pressed(node, request), self.react(here, (outcome,), torn))

    # --- faults ---

    def crash(self, node: NodeId) -> None:
        """Stop a node between two turns."""
        here = self.node(node)
        if here.local is None:
            raise IllegalStep(f"{node} is down already")
        self.stop(here)
        self._record(Crashed(node))

    def recover(self, node: NodeId, torn: Torn | None = None) -> None:
        """Start a node, for the first time or anew with what its last life saved."""
        here = self.node(node)
        if here.local is not None:
            raise IllegalStep(f"{node} is up already")
        first = here.stable is None and not here.forgot
        turns = self.react(here, self.revive(here), torn)
        self._record(Recovered(node, first), turns)

    def boot(self) -> None:
        """Start all nodes for the first time, at the same moment: nobody's first words get lost."""
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
        """The channel of a link that is really there."""
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
        """Let time pass. What nobody could take within its bound is lost."""
        law.may_tick(self, by)
        self.pass_time(by)
        self.expire()

    def pass_time(self, by: int) -> None:
        """Let time pass, knowing that nothing is due."""
        self.now += by
        for node in self.nodes.values():
            node.woken = False
        self._record(Ticked(by))

    def expire(self) -> None:
        """Lose what nobody could take within its bound."""
        if not self.setting.prompt:
            return
        late = (e for e in self.in_flight() if e.sent_at + self.delay_max < self.now)
        for envelope in sorted(late, key=self.place_in_line):
            why = self.obstacle(envelope)
            if why is not None:
                self.drop(envelope, why)

    def phase(self, node: NodeId, timer: str, left: int) -> None:
        """Shift the start: let this timer have so much left."""
        here = self.node(node)
        if timer not in here.timers:
            raise IllegalStep(f"{node} {timer} is not armed")
        here.timers[timer] = Armed(node, timer, self.now + left, self.now + left)
        self._record(Phased(node, timer, left))

    def place(self, placed: Placed) -> None:
        """Let the start put a node that has never lived into a state."""
        here = self.node(placed.node)
        if here.local is not None or here.stable is not None:
            raise IllegalStep(f"{placed.node} lives or has lived already")
        kind: Any = self.machine.state_type if placed.is_up else self.machine.stable_type | None
        mail = declared_messages(self.machine)
        try:
            value: Any = msgspec.json.decode(placed.json, type=kind)
            sent = [(to, age, msgspec.json.decode(m, type=mail)) for to, age, m in placed.sent]
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise IllegalStep(f"{placed.node} cannot be so: {error}") from None
        if placed.is_up:
            here.local, here.stable = self.locals.local(value), value.stable
            here.view = placed.alive
            for timer, soonest, latest in placed.timers:
                here.timers[timer] = Armed(here.id, timer, self.now + soonest, self.now + latest)
        else:
            here.stable = value
        # Whom it has sent something may be placed only after it.
        dies, self._dies = self._dies, False
        for to, age, message in sent:
            self._post(here.id, self.node(to).id, message, self.now - age)
        self._dies = dies
        self._record(placed)

    # --- what the operations have in common ---

    def node(self, node: NodeId) -> Node:
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
