"""One life of a simulated node, from its start to its crash: what a real one is on a network."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from electorate.core import NodeId
from electorate.errors import Removed
from electorate.leadership.directory import Place
from electorate.leadership.engine import host_config
from electorate.leadership.offices import Offices
from electorate.runtime.detector import HeartbeatDetector
from electorate.runtime.frame import Hello, Said
from electorate.runtime.host import Host, Mail, letters
from electorate.runtime.link import Address
from electorate.runtime.network import Network as RealNetwork
from electorate.runtime.store import Store
from electorate.testing.loop import VirtualLoop
from electorate.testing.network import Frame, Network
from electorate.testing.process import Process
from electorate.testing.store import MemoryStore
from electorate.trace.record import Letterhead


class Life(Host):
    """Hosts the elections of a node: brings them letters, and says who seems alive."""

    def __init__(
        self,
        process: Process,
        offices: Offices,
        places: dict[NodeId, Place],
        network: Network,
        store: MemoryStore,
        chance: random.Random,
        watch: Callable[["Life"], None],
    ) -> None:
        self.process = process
        self.offices = offices
        self._wires = network
        self._disk = store
        self._watch = watch
        self._ticks = cast(VirtualLoop, asyncio.get_running_loop())
        self._pace = offices.pace
        self._line = offices.directory.me.id
        self._others = {*offices.directory.ids} - {self._line}
        self.introduction: Callable[[NodeId], tuple[NodeId, NodeId]] = lambda node: (0, 0)
        """Which member this node is, and for which one it takes another; the directory knows."""
        self._detector = HeartbeatDetector(self._others, self._pace.timeout_ms, self._pace.probe_ms)
        self._cluster = ""
        self._life = store.begin_life()
        self.was_removed = False
        """Whether it has ended because others go on without it."""
        self._met: dict[NodeId, Hello] = {}
        self._heard_at: dict[NodeId, float] = {}
        config = host_config(self._line, places, self._pace, Path())
        # As much of a network and a store as elections need.
        wires, disk = cast(RealNetwork, self), cast(Store, store)
        super().__init__(config, [offices], offices, wires, disk)
        self.chance = chance

    def now_ms(self) -> float:
        """What the clock of its machine shows."""
        return self.process.clock.at(self._ticks.now) * 1000

    def begin(self) -> None:
        """Be there for the others; called in the node's own process."""
        self.offices.call = self.call
        self._detector.begin(self.now_ms())
        self.commit.run(self.offices.begin, self)
        self._wires.attach(self._line, self.offices.me, self._read)
        self._beating = asyncio.ensure_future(self._beat())
        self._booting = asyncio.ensure_future(self._boot())

    async def end(self) -> None:
        """Stop in an orderly way; what was said last still arrives."""
        self._beating.cancel()
        self._booting.cancel()
        self.timers.end()
        await self.offices.end()
        self._watch(self)

    def call(self, act: Callable[..., object], *given: Any) -> None:
        """Have something done in the node's process."""
        self._ticks.call_soon(act, *given, context=self.process.context)

    def enter(self, act: Callable[..., object], *given: Any) -> None:
        """Do it as the node does its own things: what it raises fails the test."""
        try:
            self._notice_pause()
            self.commit.run(act, *given)
        except Removed:
            # Whoever still waits for a term here would hear of it, and end.
            self._wires.leave(self._line)
            self.process.dead = self.was_removed = True
        except Exception as error:
            self._ticks.fail(error)
        self._watch(self)

    # --- the network, as elections see it ---

    def _post(self, to: NodeId, said: list[Said]) -> None:
        for letter in letters(said):
            self._say(to, letter)

    def _say(self, to: NodeId, said: list[Said] | None) -> None:
        """Bring a letter on its way, or a mere sign of life."""
        if to in self._others and self._cluster:
            silent_ms = self.now_ms() - self._heard_at.get(to, -self._pace.timeout_ms)
            self._wires.send(self._hello(to), to, silent_ms < self._pace.timeout_ms, said)

    def _hello(self, to: NodeId) -> Hello:
        store, said = self._disk.identity, self.introduction(to)
        return Hello(self._cluster, self._line, 0, store, self._life, "", 0, *said)

    def join(self, cluster: str) -> None:
        """Belong to this cluster from now on."""
        self._cluster = cluster

    def meet(self, node: NodeId, address: Address, name: str) -> None:
        """Speak to this node too, and hear it."""
        self.part(node)
        self._others.add(node)
        self._detector.add(node, self.now_ms())

    def part(self, node: NodeId) -> None:
        """Have nothing to do with this node any more."""
        self._others.discard(node)
        self._wires.part(self._line, node)
        self._detector.forget(node)
        self._met.pop(node, None)

    def answers(self, node: NodeId, member: NodeId) -> bool:
        """Whether it is this member that is found where that node should be."""
        return self._wires.answers(node, member)

    async def flushed(self) -> None:
        """What was said has left at once."""

    def _read(self, frame: Frame) -> None:
        """Something has come: it is read once this process can."""
        self.call(self.enter, self._take, frame)

    def _take(self, frame: Frame) -> None:
        if not self._wires.stands(frame):
            return  # It came before a pause that has been noticed just now.
        node = frame.hello.node
        if self._cluster not in ("", frame.hello.cluster):
            return
        if frame.news:
            if node in self._others:
                self.offices.refused(frame.news)
            return
        if node not in self._others or self.offices.objection(frame.hello):
            self._wires.send(self._hello(node), node, False, None, self.offices.news())
            return
        self._heard_at[node] = self.now_ms()
        if self._met.get(node) != frame.hello:
            self._met[node] = frame.hello
            self.offices.met(frame.hello)
        if frame.hears:
            self._detector.heard(node, self.now_ms())
            if node not in self._seen:
                self._look_around()
        sender = frame.hello.member
        if frame.said is None or self.offices.directory.lines.speaker(node) != sender:
            return
        self.timers.read_ms = self.now_ms()
        for said in frame.said:
            kind, _, name = said.to.partition(" ")
            head = Letterhead(frame.hello.incarnation, said.number)
            message = self.offices.decode(kind, bytes(said.body))
            self.offices.receive(kind, Mail(frame.hello, sender, name, message, head))

    # --- who is alive ---

    async def _boot(self) -> None:
        """Live once the others are within reach, or have been silent for long."""
        deadline = self.now_ms() + self._pace.timeout_ms
        while len(self._heard_at) < len(self._others) and self.now_ms() < deadline:
            await asyncio.sleep(0.001)
        self.enter(self._come_alive)

    def _come_alive(self) -> None:
        self._detector.begin(self.now_ms())
        self._seen = self.everybody
        self.offices.lives(self._seen)

    async def _beat(self) -> None:
        while True:
            for node in sorted(self._others):
                self._say(node, None)
            await asyncio.sleep(self._pace.beat_ms / 1000)
            self.enter(self._look_around)

    @property
    def everybody(self) -> frozenset[NodeId]:
        """All nodes that this one knows, itself included."""
        return frozenset(self._others) | {self._line}

    def _look_around(self) -> None:
        alive = self._detector.alive(self.now_ms()) | {self._line}
        if alive != self._seen and self.offices.lived.is_set():
            self._seen = alive
            self.offices.viewed(alive)

    def _notice_pause(self) -> None:
        """See whether this process stood still for so long that others may have given it up."""
        now = self.now_ms()
        gap_ms, self._awake_at = now - self._awake_at, now
        if gap_ms >= self._pace.timeout_ms / 2:
            self._wires.reset(self._line)
            self._detector.begin(now)
