"""The other nodes, as this node reaches, hears and sees them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol

from electorate.core import NodeId
from electorate.errors import IdTaken
from electorate.runtime.config import HostConfig
from electorate.runtime.connection import HandshakeRefused, Link, Listener
from electorate.runtime.detector import FailureDetector, HeartbeatDetector, PhiDetector
from electorate.runtime.environment import Address, Environment
from electorate.runtime.frame import Beat, Hello, Letter, Said
from electorate.runtime.identity import NotAuthenticated

DETECTORS: dict[str, type[FailureDetector]] = {"heartbeat": HeartbeatDetector, "phi": PhiDetector}
POLL_S = 0.005
KNOCKS_S = 2.0
"""A link that is refused tries again within this time, however long it has been refused."""
ROUND_TRIP_MAX_MS = 60_000
"""What is longer was said by another life of this machine, or never."""

COMPLAINTS_MAX = 8
"""Different things that are logged of one node that does not let this one in."""
QUOTED_MAX = 300
"""Characters of what another node says that are written into a log."""

log = logging.getLogger("electorate.runtime")


def printable(text: str) -> str:
    """What another node says, fit for a log: one line, not too long, no control characters."""
    quoted = "".join(each if each.isprintable() else "?" for each in text[:QUOTED_MAX])
    return quoted + ("..." if len(text) > QUOTED_MAX else "")


class Ledger:
    """Notices lost letters: nodes say how many they have written.

    A protocol may rely on it that no message between live nodes is lost. A network loses some: a
    connection breaks, or a node is too slow to read. A node that learns that it missed a letter can
    act as if it had been down when the letter came, and start over.
    """

    def __init__(self) -> None:
        self._lives: dict[NodeId, tuple[str, int]] = {}
        self._accounted: dict[NodeId, int] = {}

    def missing(self, hello: Hello, before: int, arrived: int = 0) -> int:
        """How many letters were lost, if `before` were written before those that came now."""
        life = (hello.store, hello.incarnation)
        if self._lives.get(hello.node) != life:
            self._lives[hello.node] = life
            self._accounted[hello.node] = 0
        lost = before - self._accounted[hello.node]
        self._accounted[hello.node] = max(before + arrived, self._accounted[hello.node])
        return max(0, lost)


class NetworkReader(Protocol):
    """Told what comes in."""

    def is_ours(self, hello: Hello) -> bool:
        """Whether a node is of this cluster, as far as it says."""

    def objection(self, hello: Hello) -> str:
        """Why a node is refused; empty if it is let in."""

    def news(self, hello: Hello) -> bytes:
        """What a node that was refused may want to know."""

    def refused(self, node: NodeId, news: bytes) -> None:
        """What answers at the address of a node refused us and said why."""

    def saved(self, hello: Hello, saves: int) -> None:
        """A node shows how often it has saved anything."""

    def met(self, hello: Hello) -> None:
        """Another node has connected."""

    def seen(self) -> None:
        """The suspects may have changed: a node shows that it is alive, or has certainly ended."""

    def closed(self, node: NodeId) -> None:
        """The connection of a node came to its end, as when a process has died."""

    def missed(self, node: NodeId, count: int) -> None:
        """So many counted messages of that node's present life will never arrive."""

    def read(self, hello: Hello, letter: Letter) -> None:
        """A letter has come; BadFrame if it cannot be read."""


class Network:
    """A link to each other node, a listener for all of them, and a failure detector."""

    def __init__(self, config: HostConfig, environment: Environment, reader: NetworkReader) -> None:
        others = [node for node in config.addresses if node != config.me]
        self.counters: Counter[str] = Counter()
        self.cut: frozenset[NodeId] = frozenset()
        """Nodes to which it behaves as if there were no link."""
        self.cluster = config.cluster
        """What nodes must have in common to talk to each other; empty while it is not known."""
        self.introduction: Callable[[NodeId], tuple[NodeId, NodeId]] = lambda node: (0, 0)
        """The number by which instances of this node know it, and the one for which they take a
        node."""
        self.saves: Callable[[], int] = lambda: 0
        """How often this node has saved anything."""
        self.links: dict[NodeId, Link] = {}
        self.process = f"{environment.chance('process').getrandbits(128):032x}"
        """Different for any two processes, also of one node."""
        self.listener = Listener(
            environment,
            config.me,
            config.cluster_name,
            config.cluster,
            others,
            on_hello=self._introduced,
            on_frame=self._framed,
            on_broken=self._lost_caller,
            live_ms=config.timeout_ms,
            called=config.called,
            is_ours=reader.is_ours,
            objection=reader.objection,
            news=reader.news,
            member=lambda node: self.introduction(node)[0],
            process=self.process,
        )
        probe_ms = 2 * config.fresh_ms if config.probe_ms is None else config.probe_ms
        self._detector = DETECTORS[config.detector](others, config.timeout_ms, probe_ms)
        self._config = config
        self._environment = environment
        self._now_ms = environment.now_ms
        self._reader = reader
        self._said: tuple[str, int] | None = None
        """The store and the life that this node speaks for, once it speaks."""
        self._runs: dict[NodeId, asyncio.Task[None]] = {}
        self._met = asyncio.Event()
        self._ledger = Ledger()
        self._ended: set[NodeId] = set()
        """Nodes whose last connection to us was ended, as by the death of a process."""
        self._greeted: set[NodeId] = set()
        """Nodes that know, on the present connection, that we hear them."""
        self._taken_since: dict[NodeId, float] = {}
        self._numbers: Counter[NodeId] = Counter()
        self._echoes: dict[NodeId, tuple[int, float]] = {}
        """The clock of each node in its last beat, and when that came, by ours."""
        self._round_trips: dict[NodeId, float] = {}
        self._complaints: dict[NodeId, set[str]] = {}
        """What was said in the log of each node that does not let this one in, or is not it."""
        for node in others:
            self._link(node, config.addresses[node])

    async def run(self) -> None:
        """Keep every link, also those to nodes that are met later, until cancelled."""
        try:
            while True:
                self._met.clear()
                met = asyncio.ensure_future(self._met.wait())
                for node, link in self.links.items():
                    if node not in self._runs:
                        self._runs[node] = asyncio.ensure_future(link.run())
                runs = self._runs.values()
                done, _ = await asyncio.wait([met, *runs], return_when=asyncio.FIRST_COMPLETED)
                met.cancel()
                for task in done:
                    if not task.cancelled():  # We have parted from that node.
                        task.result()
        finally:
            for run in self._runs.values():
                run.cancel()
            await asyncio.gather(*self._runs.values(), return_exceptions=True)

    @property
    def everybody(self) -> frozenset[NodeId]:
        """All nodes that this one knows, itself included."""
        return frozenset(self.links) | {self._config.me}

    def rename(self, cluster: str) -> None:
        """Say on new connections that this is the cluster; those that there are stay."""
        self.cluster = cluster

    def join(self, cluster: str) -> None:
        """Belong to this cluster from now on, on new connections."""
        self.cluster = cluster
        if self._said is not None:
            self.introduce(*self._said)

    def meet(self, node: NodeId, address: Address, name: str) -> None:
        """Connect to this node too, and let it in; also if its address has changed."""
        self.part(node)
        self._config.names[node] = name
        self._link(node, address)
        self.listener.others.add(node)
        self._detector.add(node, self._now_ms())
        if self._said is not None:
            self._introduce(node, *self._said)
        self._met.set()

    def part(self, node: NodeId) -> None:
        """Have nothing to do with this node any more."""
        link = self.links.pop(node, None)
        if link is not None:
            link.reset()
        run = self._runs.pop(node, None)
        if run is not None:
            run.cancel()
        self.listener.forget(node)
        self._detector.forget(node)
        self._ended.discard(node)
        self._greeted.discard(node)
        self._taken_since.pop(node, None)
        self._echoes.pop(node, None)
        self._round_trips.pop(node, None)
        self._complaints.pop(node, None)

    def answers(self, node: NodeId, member: NodeId) -> bool:
        """Whether it is this member that is at that node's address."""
        link = self.links.get(node)
        return link is not None and link.connected and link.member == member

    def say_goodbye(self) -> None:
        """This node works no more: the others may know it."""
        for link in self.links.values():
            link.say_goodbye()

    def _link(self, node: NodeId, address: Address) -> None:
        fresh_ms, timeout_ms = self._config.fresh_ms, self._config.timeout_ms
        self.links[node] = Link(
            *(self._environment, node, self._config.member(node), address, fresh_ms, timeout_ms),
            on_connected=self._linked,
            on_broken=self._lost_link,
        )

    def introduce(self, store: str, incarnation: int) -> None:
        """Use this life's name from now on, on new connections."""
        self._said = store, incarnation
        self._numbers.clear()
        for node in self.links:
            self._introduce(node, store, incarnation)

    def _introduce(self, node: NodeId, store: str, incarnation: int) -> None:
        if self.cluster:
            self.links[node].introduce(partial(self._hello, node, store, incarnation))

    def reset(self) -> None:
        """Break all connections, and give everybody time to show that they are alive."""
        self.listener.reset()
        for link in self.links.values():
            link.reset()
        self.trust()

    def trust(self) -> None:
        """Trust all nodes for a while."""
        self._detector.begin(self._now_ms())

    def alive(self) -> frozenset[NodeId]:
        """The nodes that are not suspect, this one among them."""
        return (self._detector.alive(self._now_ms()) - self.cut) | {self._config.me}

    def beat(self) -> None:
        """Show all nodes that this one is alive."""
        for node in self.links:
            self._beat(node)

    def _beat(self, node: NodeId) -> None:
        if self.links[node].connected and node not in self.cut:
            hears = self.listener.hears(node)
            now = self._now_ms()
            at, came = self._echoes.get(node, (0, now))
            held = max(0, round(now - came))
            beat = Beat(hears, self._numbers[node], round(now), at, held, self.saves())
            self.links[node].send(beat)
            if hears:
                self._greeted.add(node)

    def send(self, to: NodeId, said: list[Said], counted: int = 0) -> None:
        """Send a letter, or drop it; the loss of its `counted` messages will be noticed."""
        before = self._numbers[to]
        self._numbers[to] += counted
        self.counters["out"] += len(said)
        if to in self.cut or to not in self.links:
            self.counters["dropped: cut"] += len(said)
            return
        self.links[to].send(Letter(said, before, counted))

    async def await_links(self, wait_ms: float) -> None:
        """Wait until every other node has been reached both ways, or has proved unreachable.

        For the first `wait_ms` a node that cannot be reached may still be starting. A machine may
        count on live nodes being linked: a first message into a connection that is still being
        opened would be lost, and a receiver would ignore a message from a node that it does not see
        yet.
        """
        me, timeout = self._config.me, self._config.timeout_ms
        begun = self._now_ms()
        while True:
            taken = self._taken_since
            waited = self._now_ms() - begun
            starting = waited < wait_ms and not all(link.connected for link in self.links.values())
            settled = waited > max(wait_ms, timeout) or all(map(self._is_settled, self.links))
            if not taken and settled and not starting:
                return
            # A node that lost its power is taken for live until it has been silent for a while.
            if taken and self._now_ms() - min(taken.values()) > 2 * timeout + 1000 * KNOCKS_S:
                told = ", ".join(map(self._config.called, sorted(taken)))
                name = self._config.called(me)
                raise IdTaken(f"another node {name} is live, says node {told}")
            await asyncio.sleep(POLL_S)

    async def flushed(self) -> None:
        """Wait until everything that was said has left, wherever there is a connection."""
        while any(link.connected and link.behind for link in self.links.values()):
            await asyncio.sleep(POLL_S)

    def _is_settled(self, node: NodeId) -> bool:
        link = self.links[node]
        return link.tried and (not link.connected or node in self._greeted)

    def _hello(self, to: NodeId, store: str, incarnation: int) -> Hello:
        me, sent = self._config.me, self._numbers[to]
        said = self.introduction(to)
        return Hello(
            self.cluster,
            me,
            to,
            store,
            incarnation,
            self.process,
            sent,
            *said,
            cluster_name=self._config.cluster_name,
            saves=self.saves(),
        )

    # --- what comes in ---

    def _linked(self, node: NodeId) -> None:
        self._taken_since.pop(node, None)
        self._greeted.discard(node)
        self._beat(node)

    def _introduced(self, hello: Hello) -> None:
        self._ended.discard(hello.node)
        self.links[hello.node].retry()
        self._reader.met(hello)
        self._account(hello, hello.sent)
        if hello.node not in self._greeted:
            self._beat(hello.node)

    def _framed(self, hello: Hello, frame: Beat | Letter) -> None:
        node = hello.node
        if node in self.cut:
            return
        match frame:
            case Beat(hears, sent, saves=saves):
                self._account(hello, sent)
                self._note_round_trip(node, frame)
                self._reader.saved(hello, saves)
                if hears:
                    self._heard(node)
            case Letter(_, before, counted):
                if counted:
                    self._account(hello, before, counted)
                self._reader.read(hello, frame)

    def _note_round_trip(self, node: NodeId, beat: Beat) -> None:
        """How long it took since we said what this answers, without the wait for the next beat."""
        now = self._now_ms()
        self._echoes[node] = beat.at, now
        took = now - beat.echo - beat.held
        if beat.echo and 0 <= took < ROUND_TRIP_MAX_MS:
            self._round_trips[node] = min(took, self._round_trips.get(node, took))

    def round_trips(self) -> dict[NodeId, float]:
        """The shortest time in ms from a word to its answer, for each node, since the last call."""
        found, self._round_trips = self._round_trips, {}
        return found

    def _heard(self, node: NodeId) -> None:
        new = node not in self._detector.alive(self._now_ms())
        self._detector.heard(node, self._now_ms())
        if new:
            self._reader.seen()

    def _account(self, hello: Hello, before: int, arrived: int = 0) -> None:
        missing = self._ledger.missing(hello, before, arrived)
        if missing:
            self.counters["letters missed"] += missing
            self._reader.missed(hello.node, missing)

    def _lost_caller(self, node: NodeId, is_end: bool) -> None:
        """A node's connection to us broke: ask at once whether it is alive."""
        if node in self.links:
            self._detector.hint(node, self._now_ms())
            self.links[node].retry()
            if is_end and self._config.trusts_end:
                self._ended.add(node)
                self._reader.closed(node)

    def _lost_link(self, node: NodeId, error: Exception) -> None:
        self._detector.hint(node, self._now_ms())
        if isinstance(error, ConnectionRefusedError) and node in self._ended:
            self._detector.suspect(node, self._now_ms())
            self._reader.seen()
        if isinstance(error, HandshakeRefused) and error.taken:
            self._taken_since.setdefault(node, self._now_ms())
        else:
            self._taken_since.pop(node, None)
        name = self._config.called(node)
        if isinstance(error, HandshakeRefused):
            self._reader.refused(node, error.news)
            self._complain(node, f"is refused by node {name}: {printable(str(error))}")
        elif isinstance(error, NotAuthenticated):
            self._complain(node, f"does not talk to what answers for node {name}: {error}")

    def _complain(self, node: NodeId, what: str) -> None:
        """Log what is wrong with a node once; a node that answers ever else is not quoted."""
        self.counters[f"complaints about node {self._config.called(node)}"] += 1
        told = self._complaints.setdefault(node, set())
        if what not in told and len(told) < COMPLAINTS_MAX:
            told.add(what)
            log.warning("node %s %s", self._config.called(self._config.me), what)
