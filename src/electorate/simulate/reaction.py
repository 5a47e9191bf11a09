"""How a node reacts: its turns are taken and its effects carried out.

What a node says to itself is handled within the same step. After a crash in the middle of a step,
only the first few of its messages on each channel leave.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from electorate.core import Machine, Message, NodeId, ProtocolError, text_of
from electorate.simulate.law import IllegalStep
from electorate.simulate.local import EventOutcome, LocalStates
from electorate.simulate.world import ArmedTimer, Envelope, SimulatedNode, SimulationState
from electorate.trace import Connections, Order, Setting, Storage, TurnRecord
from electorate.trace.word import counted

CHAIN_MAX = 1000
"""A node that answers itself this often within one step would never end."""


class TornTurn(NamedTuple):
    """A crash in the middle of a turn: how many of its messages to each node leave."""

    sent: Mapping[NodeId, int]
    turn: int = 0
    """Which turn of the step it is; those before it are whole, and none comes after it."""


class Reactions(SimulationState):
    """A simulation's state, with the rules by which an event at a node changes it."""

    def __init__(
        self, setting: Setting, machine: Machine[Any], locals_: LocalStates | None
    ) -> None:
        super().__init__(setting, machine, locals_)
        self.recording = True
        self.posted: list[Envelope] = []
        """Messages sent since a driver last emptied this list."""
        self.armed: list[ArmedTimer] = []
        """Timers set since a driver last emptied this list."""
        self.severed: list[Envelope] = []
        """Messages sent on a cut link in this step."""
        self._dies = setting.connections is Connections.DIE

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


def _keep(waiting: list[Envelope], envelope: Envelope) -> None:
    """Add a message to a set of messages, kept in the order of their texts."""
    if all(envelope.message != kept.message for kept in waiting):
        waiting.append(envelope)
        waiting.sort(key=lambda kept: (text_of(kept.message), repr(kept.message)))
