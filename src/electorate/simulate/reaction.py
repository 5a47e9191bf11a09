"""How a node reacts: its turns are taken and its orders carried out.

What a node says to itself is memory, handled within the same step. A crash in the middle of a
step lets, on each channel, only the first few of its messages leave.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any

from electorate.core import Machine, Message, NodeId, ProtocolError, text_of
from electorate.simulate.law import IllegalStep
from electorate.simulate.local import Locals, Outcome
from electorate.simulate.world import Armed, Envelope, Node, World
from electorate.trace import Connections, Setting, TurnRecord

CHAIN_MAX = 1000
"""A node that answers itself this often within one step is taken never to end."""

Torn = Mapping[NodeId, int]
"""How many of a step's messages to each node leave before the sender crashes."""


class Reactions(World):
    """The world, with the rules by which an event at a node changes it."""

    def __init__(self, setting: Setting, machine: Machine[Any], locals_: Locals | None) -> None:
        super().__init__(setting, machine, locals_)
        self.posted: list[Envelope] = []
        """Messages sent since a driver last emptied this list."""
        self.armed: list[Armed] = []
        """Timers set since a driver last emptied this list."""
        self._dies = setting.connections is Connections.DIE

    def react(
        self, node: Node, outcomes: tuple[Outcome, ...], torn: Torn | None = None
    ) -> tuple[TurnRecord, ...]:
        """Take all turns of one step; the record of each."""
        coming, memories = deque(outcomes), deque[Message]()
        records: list[TurnRecord] = []
        left = None if torn is None else Counter(torn)
        crashes = False
        while (coming or memories) and not crashes:
            if not coming:
                assert node.local is not None
                coming.append(self.locals.received(node.local, node.id, memories.popleft()))
            outcome = coming.popleft()
            memories.extend(outcome.memories)
            sends = Counter(to for to, _ in outcome.sends)
            sent = None
            if left is not None and (not sends <= left or not (coming or memories)):
                crashes = True
                sent = tuple((to, min(sends[to], left[to])) for to in sorted(sends))
            before = None if node.local is None else node.local.state
            turn = outcome.turn
            records.append(TurnRecord(node.id, before, turn.state, turn.effects, sent))
            self.apply(node, outcome, left)
            if len(records) > CHAIN_MAX:
                where = f"state {text_of(turn.state)}"
                raise ProtocolError(self.machine, where, "a node never stops answering itself")
        if left is not None:
            for to in sorted(+left):
                raise IllegalStep(f"{node.id} does not send so many messages to {to}")
            self.stop(node)
        return tuple(records)

    def apply(self, node: Node, outcome: Outcome, left: Counter[NodeId] | None = None) -> None:
        """Carry out one turn: what is stable is saved, then the orders follow."""
        node.local = outcome.local
        node.stable = outcome.turn.state.stable
        for timer, after, jitter in outcome.timers:
            if after is None:
                node.timers.pop(timer, None)
            else:
                self.arm(node, timer, after, jitter)
        for to, message in outcome.sends:
            if left is None:
                self._post(node.id, to, message)
            elif left[to]:
                left[to] -= 1
                self._post(node.id, to, message)

    def arm(self, node: Node, timer: str, after: int, jitter: int) -> None:
        """Set a timer; an earlier setting is forgotten."""
        earliest = self.now + after
        armed = Armed(node.id, timer, earliest, earliest + jitter)
        node.timers[timer] = armed
        self.armed.append(armed)

    def _post(self, sender: NodeId, to: NodeId, message: Message) -> None:
        channel = self.channels.get((sender, to)) or self.channel(sender, to)
        self.numbered += 1
        envelope = Envelope(sender, to, message, self.now, self.numbered, channel.posted)
        channel.posted += 1
        channel.waiting.append(envelope)
        self.posted.append(envelope)
        if channel.cut or (self._dies and self.nodes[to].local is None):
            envelope.doom = self.obstacle(envelope)

    def stop(self, node: Node) -> None:
        """Take a node down: its timers and its memory are gone."""
        node.local = None
        node.timers = {}
        node.paused = False
        if self._dies:
            self.doom((other, node.id) for other in self.members.others(node.id))

    def doom(self, channels: Iterable[tuple[NodeId, NodeId]]) -> None:
        """Connections die: what is on its way on these channels will not arrive."""
        for sender, to in channels:
            for envelope in self.channel(sender, to).waiting:
                envelope.doom = envelope.doom or f"the connection {sender}->{to} has died"
