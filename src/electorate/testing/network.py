"""The simulated network: one channel for each direction, first in, first out."""

import random
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from electorate.core import NodeId
from electorate.runtime.frame import Hello, Said
from electorate.testing.loop import VirtualLoop


class Frame(NamedTuple):
    """What travels: a letter, or only a sign of life."""

    number: int
    connection: int
    to: NodeId
    hello: Hello
    hears: bool
    """Whether the sender hears the receiver."""
    said: list[Said] | None
    news: bytes = b""
    """What a node is told that is not let in."""

    @property
    def channel(self) -> "Channel":
        """From whom to whom."""
        return self.hello.node, self.to


Channel = tuple[NodeId, NodeId]
Reader = Callable[[Frame], None]
Teller = Callable[[Frame, str], None]
"""Hears of every frame that has arrived or was lost."""
LOST = "lost"
CUT = "cut off"
DOWN = "nobody there"
BROKEN = "connection broken"


class Network:
    """Carries frames between nodes; the seed decides how long each takes."""

    def __init__(
        self, loop: VirtualLoop, chance: random.Random, delay_ms: float, tell: Teller
    ) -> None:
        self.delay_ms = (0.0, delay_ms)
        self.loss = 0.0
        self._loop = loop
        self._chance = chance
        self._tell = tell
        self._count = 0
        self._cut: set[Channel] = set()
        self._readers: dict[NodeId, Reader] = {}
        self._members: dict[NodeId, NodeId] = {}
        self._under_way: defaultdict[Channel, dict[int, Frame]] = defaultdict(dict)
        self._arrives: defaultdict[Channel, float] = defaultdict(float)
        self._connections: defaultdict[Channel, int] = defaultdict(int)

    def attach(self, node: NodeId, member: NodeId, read: Reader) -> None:
        """This node is there, and is that member; what comes for it is read so."""
        self._readers[node] = read
        self._members[node] = member

    def answers(self, node: NodeId, member: NodeId) -> bool:
        """Whether it is this member that is there."""
        return node in self._readers and self._members[node] == member

    def leave(self, node: NodeId) -> None:
        """This node is not there any more; what it has said still arrives."""
        self._readers.pop(node, None)
        for channel, frames in self._under_way.items():
            if channel[1] == node:
                self._drop(frames, 0)

    def crash(self, node: NodeId) -> None:
        """This node is gone. On each channel some first part of what it has said still arrives."""
        self.leave(node)
        for channel, frames in self._under_way.items():
            if channel[0] == node:
                self._drop(frames, self._chance.randint(0, len(frames)))

    def reset(self, node: NodeId) -> None:
        """Break all connections of this node: what is under way on them is out of date."""
        for channel in self._under_way:
            if node in channel:
                self._connections[channel] += 1

    def part(self, a: NodeId, b: NodeId) -> None:
        """Break the connections between two nodes."""
        for channel in ((a, b), (b, a)):
            self._connections[channel] += 1

    def stands(self, frame: Frame) -> bool:
        """Whether the connection that a frame came on is still there."""
        return frame.connection == self._connections[frame.channel]

    def send(
        self, hello: Hello, to: NodeId, hears: bool, said: list[Said] | None, news: bytes = b""
    ) -> None:
        """Bring a frame on its way."""
        channel = (hello.node, to)
        self._count += 1
        frame = Frame(self._count, self._connections[channel], to, hello, hears, said, news)
        at = max(self._arrives[channel], self._loop.now + self.travel_s())
        is_lost = self._chance.random() < self.loss
        if is_lost or channel in self._cut:
            self._tell(frame, LOST if is_lost else CUT)
            return
        self._arrives[channel] = at
        self._under_way[channel][frame.number] = frame
        self._loop.call_in_world(at, self._arrive, frame)

    def travel_s(self) -> float:
        """How long something is under way, in seconds."""
        return self._chance.uniform(*self.delay_ms) / 1000

    def cut(self, a: NodeId, b: NodeId) -> None:
        """Nothing gets from a to b any more, not even what is under way."""
        self._cut.add((a, b))

    def heal(self) -> None:
        """Everything passes again."""
        self._cut.clear()

    def _drop(self, frames: dict[int, Frame], kept: int) -> None:
        for number in list(frames)[kept:]:
            self._tell(frames.pop(number), DOWN)

    def _arrive(self, frame: Frame) -> None:
        if self._under_way[frame.channel].pop(frame.number, None) is None:
            return
        read = self._readers.get(frame.to)
        if frame.channel in self._cut:
            self._tell(frame, CUT)
        elif read is None:
            self._tell(frame, DOWN)
        elif not self.stands(frame):
            self._tell(frame, BROKEN)
        else:
            self._tell(frame, "")
            read(frame)
