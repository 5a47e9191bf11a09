"""A node: its machine, its connections, its detector and its store, in one event loop."""

import asyncio
import logging
import random
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec import Raw

from electorate.core import (
    Asked,
    Event,
    Machine,
    Message,
    NodeId,
    Received,
    Request,
    Stable,
    Standing,
    State,
    Turns,
    Viewed,
    text_of,
)
from electorate.core.codec import Codec
from electorate.net.clock import now_ms
from electorate.net.config import NodeConfig
from electorate.net.detector import Detector, HeartbeatDetector, PhiDetector
from electorate.net.frame import BadFrame, Beat, Hello, Letter
from electorate.net.instance import Instance
from electorate.net.link import Link
from electorate.net.listener import Listener
from electorate.net.store import Store
from electorate.trace.record import FORMAT, Ended, Entry, Letterhead, Lived, Scribe, line_of

INSTANCE = "election"
DETECTORS: dict[str, type[Detector]] = {"heartbeat": HeartbeatDetector, "phi": PhiDetector}

log = logging.getLogger("electorate.net")


class Node:
    """Runs a machine on the network until it is stopped."""

    def __init__(
        self,
        config: NodeConfig,
        machine: Machine[Any],
        on_change: Callable[[Standing | None], None],
    ) -> None:
        me, timing = config.me, config.setting.timing
        others = [node for node in config.setting.ids if node != me]
        self.config = config
        self.store = Store(config.data)
        self.counters: Counter[str] = Counter()
        self.cut: frozenset[NodeId] = frozenset()
        """Nodes that this one behaves as if it had no link to."""
        self._machine = machine
        self._on_change = on_change
        self._codec = Codec(machine)
        self._scribe = Scribe(machine)
        self._instance = Instance(Turns(machine), me, self)
        self._record = None if config.record is None else config.record.open("a", encoding="utf-8")
        self._detector = DETECTORS[config.detector](others, config.timeout_ms, 2.0 * timing.T)
        self._links = {
            node: Link(node, config.addresses[node], float(timing.T), self._lost_link)
            for node in others
        }
        self._listener = Listener(
            me,
            config.cluster(machine),
            frozenset(others),
            on_hello=self._introduced,
            on_frame=self._framed,
            on_broken=self._lost_caller,
            live_ms=config.timeout_ms,
        )
        self._process = uuid.uuid4().hex
        self._shown: Standing | None = None
        self._seen = frozenset(config.setting.ids)
        self._heard_at: dict[NodeId, float] = {}
        self._awake_at = now_ms()
        self._numbers: Counter[NodeId] = Counter()
        self._beats = 0
        self._alarm: asyncio.TimerHandle | None = None

    # --- its life ---

    async def run(self, stopping: asyncio.Event) -> None:
        """Listen, connect, boot, and go on until told to stop; errors that matter end it."""
        self._loop = asyncio.get_running_loop()
        self._failed: asyncio.Future[None] = self._loop.create_future()
        self._life_due = asyncio.Event()
        self._life_due.set()
        self._detector.begin(now_ms())
        await self._listener.start(self.config.addresses[self.config.me])
        tasks: list[asyncio.Future[Any]] = [
            self._failed,
            asyncio.create_task(stopping.wait()),
            asyncio.create_task(self._beat()),
            asyncio.create_task(self._live()),
            *(asyncio.create_task(link.run()) for link in self._links.values()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            self._listener.close()
            self._instance.halt()
            self._write(Ended(now_ms()))
            self.store.close()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _live(self) -> None:
        """Begin a life whenever one is due, once the other nodes are within reach."""
        while True:
            await self._life_due.wait()
            self._life_due.clear()
            hello = Hello(
                self.config.cluster(self._machine),
                self.config.me,
                self.store.identity,
                self.store.begin_life(),
                self._process,
            )
            for link in self._links.values():
                link.introduce(hello)
            await self._await_links()
            self._enter(self._boot)

    async def _await_links(self) -> None:
        """Wait until every other node has been reached both ways, or has proved unreachable.

        The machine may count on live nodes being linked; a first message into a connection that
        is still being opened would be lost.
        """
        patience = now_ms() + self.config.timeout_ms
        while now_ms() < patience:
            links = self._links.items()
            if all(link.tried and link.connected <= self._listener.hears(n) for n, link in links):
                return
            await asyncio.sleep(0.005)

    def _boot(self) -> None:
        """Boot the machine with what its last life saved."""
        self._numbers.clear()
        self._detector.begin(now_ms())
        data = self.store.load(INSTANCE)
        self._instance.boot(None if data is None else self._codec.stable(data))
        self._seen = frozenset(self.config.setting.ids)
        if self._machine.uses_views:
            self._instance.take(Viewed(self._seen))

    def _enter(self, act: Callable[..., None], *given: Any) -> None:
        """Every way into the machine: first notice a pause, afterwards see what changed."""
        if self._failed.done():
            return
        try:
            if not self._was_paused():
                act(*given)
            standing = self._instance.standing
            if standing != self._shown:
                self._shown = standing
                self._on_change(standing)
            self._set_alarm()
        except Exception as error:
            # A store that fails or a machine that breaks its contract: stop, do not guess.
            self._failed.set_exception(error)

    def _was_paused(self) -> bool:
        """Whether this process stood still for so long that others must have given it up."""
        gap = now_ms() - self._awake_at
        self._awake_at = now_ms()
        if gap < self.config.timeout_ms / 2:
            return False
        self.counters["pauses noticed"] += 1
        log.warning("node %s stood still for %d ms", self.config.me, gap)
        self._listener.reset()
        self._detector.begin(now_ms())
        for link in self._links.values():
            link.reset()
        if gap >= self.config.timeout_ms and self._instance.state is not None:
            # The others have taken this node for dead. What it believes is out of date, and so
            # is what was sent to it: it starts over, as after a crash.
            self.counters["lives ended by a pause"] += 1
            self._instance.halt()
            self._life_due.set()
        return True

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        deadline = self._instance.next_deadline_ms
        if deadline is not None:
            delay_s = max(0.0, deadline - now_ms()) / 1000
            self._alarm = self._loop.call_later(delay_s, self._settle_input, 3)

    def _settle_input(self, rounds: int) -> None:
        """Let messages that have arrived go before a timer that ends now."""
        if rounds:
            self._loop.call_soon(self._settle_input, rounds - 1)
        else:
            self._enter(self._instance.wake)

    # --- what comes in ---

    def ask(self, request: Request) -> None:
        """The application's word."""
        self._enter(self._instance.take, Asked(request))

    async def _beat(self) -> None:
        while True:
            self._enter(self._look_around)
            await asyncio.sleep(self.config.beat_ms / 1000)

    def _look_around(self) -> None:
        """Show that this node lives, and see who else does."""
        now = now_ms()
        self._beats += 1
        for node, link in self._links.items():
            hears = now - self._heard_at.get(node, -1e12) < self.config.timeout_ms
            if link.connected and node not in self.cut:
                link.send(Beat(self._beats, hears))
        alive = (self._detector.alive(now) - self.cut) | {self.config.me}
        if alive != self._seen and self._machine.uses_views and self._instance.state is not None:
            self._seen = alive
            self._instance.take(Viewed(alive))

    def _introduced(self, hello: Hello) -> None:
        """Another node has connected; a store that it did not have before is worth a word."""
        known = self.store.last_seen(hello.node)
        if known is not None and known[0] != hello.store:
            self.counters["stores replaced"] += 1
            log.warning("node %s has come back with its memory wiped", hello.node)
        if known != (hello.store, hello.incarnation):
            self.store.remember(hello.node, hello.store, hello.incarnation)
        self._links[hello.node].retry()

    def _framed(self, hello: Hello, frame: Beat | Letter) -> None:
        if hello.node in self.cut:
            return
        self._heard_at[hello.node] = now_ms()
        match frame:
            case Beat(_, hears) if hears:
                self._detector.heard(hello.node, now_ms())
            case Letter(number, body):
                try:
                    message = self._codec.message(bytes(body))
                except Exception:
                    raise BadFrame("unreadable message") from None
                self.counters["in"] += 1
                letterhead = Letterhead(hello.incarnation, number)
                self._enter(self._instance.take, Received(hello.node, message), letterhead)

    def _lost_caller(self, node: NodeId, reason: str) -> None:
        """A node's connection to us broke: ask at once whether it lives."""
        self._detector.hint(node, now_ms())
        self._links[node].retry()

    def _lost_link(self, node: NodeId, reason: str) -> None:
        self._detector.hint(node, now_ms())
        log.info("node %s lost its link to %s: %s", self.config.me, node, reason)

    # --- the port of its instance ---

    def now_ms(self) -> float:
        """The node's clock."""
        return now_ms()

    def save(self, stable: Stable) -> None:
        """Make this durable before returning."""
        self.store.save({INSTANCE: self._codec.encode(stable)})

    def send(self, to: NodeId, message: Message) -> None:
        """Bring a message on its way, or drop it."""
        self._numbers[to] += 1
        self.counters["out"] += 1
        if to in self.cut:
            self.counters["dropped: cut"] += 1
            return
        self._links[to].send(Letter(self._numbers[to], Raw(self._codec.encode(message))))

    def jitter(self, up_to: int) -> float:
        """A random part of this."""
        return random.uniform(0, up_to)

    def booted(self, stable: Stable | None, state: State) -> None:
        """Write down that a life begins."""
        text = self.config.setting.text()
        me, incarnation = self.config.me, self.store.incarnation
        raw = self._scribe.raw(stable)
        self._write(Lived(FORMAT, now_ms(), text, me, incarnation, raw, text_of(state)))

    def took(self, event: Event, state: State, letterhead: Letterhead | None) -> None:
        """Write down an event and where it leads."""
        if self._record is not None:
            self._write(self._scribe.took(now_ms(), event, state, letterhead))

    def _write(self, entry: Entry) -> None:
        if self._record is not None:
            self._record.write(line_of(entry) + "\n")
            self._record.flush()
