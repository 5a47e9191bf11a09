"""A node: its machine, its store and its network, in one event loop."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from electorate.core import (
    Asked,
    Assumption,
    Machine,
    Message,
    NodeId,
    Received,
    Request,
    Standing,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.runtime.clock import now_ms
from electorate.runtime.config import NodeConfig
from electorate.runtime.frame import BadFrame, Hello, Letter
from electorate.runtime.guest import Guest, Host
from electorate.runtime.instance import Instance
from electorate.runtime.network import Network
from electorate.runtime.port import NodePort
from electorate.runtime.store import Store
from electorate.trace.record import Letterhead

STALL_MS = 100.0
"""Shorter pauses are a matter of course on a busy machine, whatever T was promised."""

INPUT_ROUNDS = 3
"""Turns of the loop within which everything is read that has arrived."""

log = logging.getLogger("electorate.runtime")


class Node:
    """Runs a machine on the network until it is stopped."""

    def __init__(
        self,
        config: NodeConfig,
        machine: Machine[Any],
        on_change: Callable[[Standing | None], None],
        guest: Guest | None = None,
    ) -> None:
        self.config = config
        self.counters: Counter[str] = Counter()
        self.network = Network(config, config.cluster(machine), self)
        self.store = Store(config.data, config.me)
        self._port = NodePort(config, machine, self.network, self.store)
        self._instance = Instance(Turns(machine), config.me, self._port)
        self._early: list[tuple[float, Received, Letterhead]] = []
        """Letters for the life that is about to begin."""
        self._machine = machine
        self._guest = guest
        self._during = Guest().moment if guest is None else guest.moment
        self._codec = Codec(machine)
        self._on_change = on_change
        self._shown: Standing | None = None
        self._seen = self.network.everybody
        self._awake_at = now_ms()
        self._still_ms = _still_ms(config, machine)
        self._alarm: asyncio.TimerHandle | None = None

    def tally(self) -> Counter[str]:
        """Everything that was counted."""
        links = (link.counters for link in self.network.links.values())
        total: Counter[str] = Counter()
        for part in (self.counters, self.network.counters, self.network.listener.counters, *links):
            total.update(dict(part))  # A copy: the node goes on counting in its own thread.
        return total

    def ask(self, request: Request) -> None:
        """The application's word."""
        self._enter(self._instance.take, Asked(request))

    # --- its life ---

    async def run(self, stopping: asyncio.Event) -> None:
        """Listen, connect, boot, and go on until told to stop; errors that matter end it."""
        self._loop = asyncio.get_running_loop()
        self._failed: asyncio.Future[None] = self._loop.create_future()
        self._life_due = asyncio.Event()
        self._life_due.set()
        self._awake_at = now_ms()
        self.network.trust()
        tasks: list[asyncio.Future[Any]] = [self._failed]
        try:
            if self._guest is not None:
                self._guest.begin(Host(self.config.me, self.network, self.store, self._enter))
            await self.network.listener.start(self.config.addresses[self.config.me])
            runs = [stopping.wait(), self._beat(), self._live(), self.network.run()]
            tasks += map(asyncio.ensure_future, runs)
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if self._guest is None or self._guest.is_at_rest:
                self.network.say_goodbye()
            # From here on nothing is taken any more: the record says that this life is over.
            self._failed.cancel()
            self._port.ended()
        finally:
            self._failed.cancel()  # From here on nothing enters: what comes now comes too late.
            await self.network.listener.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._guest is not None:
                await self._guest.end()
            self.close()

    def close(self) -> None:
        """Let go of the store and the record; a node that never ran needs it too."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._port.close()
        self.store.close()
        self._instance.halt()
        self._show()

    async def _live(self) -> None:
        """Begin a life whenever one is due, once the other nodes are within reach."""
        while True:
            await self._life_due.wait()
            self._life_due.clear()
            self.network.introduce(self.store.identity, self.store.begin_life())
            first = self.store.incarnation == 1
            await self.network.await_links(self.config.first_wait_ms if first else 0)
            self._enter(self._boot)

    def _boot(self) -> None:
        """Boot the machine with what its last life saved."""
        if self._life_due.is_set():
            return  # A pause has just broken the links again.
        self.network.trust()
        self._seen = self.network.everybody
        self._instance.boot(self._port.saved(), self._seen)
        early, self._early = self._early, []
        for at, event, letterhead in early:
            if now_ms() - at < self.config.setting.timing.T:
                self.counters["in"] += 1
                self._instance.take(event, letterhead)
        if self._guest is not None:
            self._guest.lives(self._seen)

    def _end_life(self, why: str) -> None:
        """Start over, as after a crash: what this node believes may be out of date."""
        self.counters[f"lives ended: {why}"] += 1
        self._instance.halt()
        self._early.clear()
        self.network.listener.reset()
        self._life_due.set()

    async def _beat(self) -> None:
        beat_ms = self.config.beat_ms
        rest_ms = min(beat_ms, self._still_ms / 4)  # A pause must stand out from our own rest.
        beat_at = 0.0
        while True:
            self._enter(lambda: None)  # A pause is noticed at once.
            if now_ms() >= beat_at:
                self.network.beat()
                beat_at = now_ms() + beat_ms - rest_ms / 2
            # A busy node has not read yet what shows that others live.
            self._settle_input(self._look_around)
            await asyncio.sleep(rest_ms / 1000)

    def _look_around(self) -> None:
        """See who is alive."""
        alive = self.network.alive()
        if alive == self._seen or self._instance.state is None:
            return
        self._seen = alive
        if self._machine.uses_views:
            self._instance.take(Viewed(alive))
        if self._guest is not None:
            self._guest.viewed(alive)

    # --- the one way into the machine ---

    def _enter(self, act: Callable[..., None], *given: Any) -> None:
        """First notice a pause, afterwards see what changed."""
        if self._failed.done():
            return
        try:
            self._notice_pause()
            self._during(act, *given)
            self._show()
            self._set_alarm()
        except Exception as error:
            # A store that fails or a machine that breaks its contract: stop, do not guess.
            self._failed.set_exception(error)

    def _notice_pause(self) -> None:
        """See whether this process stood still for so long that others may have given it up."""
        now, timeout = now_ms(), self.config.timeout_ms
        gap, self._awake_at = now - self._awake_at, now
        if gap < self._still_ms:
            return
        self.counters["pauses noticed"] += 1
        me = self.config.called(self.config.me)
        log.warning("node %s stood still for %d ms", me, gap)
        self.network.reset()  # What waits on the connections is out of date.
        if self._instance.state is None:
            self._life_due.set()
        elif gap >= timeout:
            self._end_life("stood still")

    def _show(self) -> None:
        standing = self._instance.standing
        if standing != self._shown:
            self._shown = standing
            self._on_change(standing)

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        deadline = self._instance.next_deadline_ms
        if deadline is not None:
            delay_s = max(0.0, deadline - now_ms()) / 1000
            self._alarm = self._loop.call_later(delay_s, self._settle_input, self._instance.wake)

    def _settle_input(self, act: Callable[[], None], rounds: int = INPUT_ROUNDS) -> None:
        """Let messages that have arrived go before a timer that ends now, or a suspicion."""
        if rounds:
            self._loop.call_soon(self._settle_input, act, rounds - 1)
        else:
            self._enter(act)

    # --- the reader of its network ---

    def objection(self, hello: Hello) -> str:
        """Why another node is not to be let in; empty if it is."""
        return "" if self._guest is None else self._guest.objection(hello)

    def news(self) -> bytes:
        """What such a node may want to know."""
        return b"" if self._guest is None else self._guest.news()

    def refused(self, news: bytes) -> None:
        """A node that has not let in this one has told that."""
        if news and self._guest is not None:
            self._enter(self._guest.refused, news)

    def met(self, hello: Hello) -> None:
        """Another node has connected."""
        self._enter(self._recognise, hello)

    def _recognise(self, hello: Hello) -> None:
        odd = self.store.meet(hello.node, hello.store, hello.incarnation)
        if odd is not None:
            self.counters[f"came back with {odd}"] += 1
            log.warning("node %s came back with %s", self.config.called(hello.node), odd)
        if self._guest is not None:
            self._guest.met(hello)

    def seen(self) -> None:
        """A node that was suspect shows that it is alive."""
        self._enter(self._look_around)

    def closed(self, node: NodeId) -> None:
        """The connection of a node came to its end, as when a process has died."""
        if self._guest is not None:
            self._enter(self._guest.closed, node)

    def missed(self, node: NodeId, count: int) -> None:
        """Letters of that node will never come: a machine that relies on them starts over."""
        if Assumption.NO_LOSS in self._machine.assumptions and self._instance.state is not None:
            log.info("node %s missed %d letters of node %s", self.config.me, count, node)
            self._enter(self._end_life, "letters missed")

    def read(self, hello: Hello, letter: Letter) -> None:
        """A letter has come; BadFrame if it cannot be read."""
        if letter.to_guest:
            self._read_for_guest(hello, letter)
            return
        try:
            message = self._codec.message(bytes(letter.body))
        except Exception:
            raise BadFrame("unreadable message") from None
        self._enter(self._receive, hello, letter.number, message)

    def _read_for_guest(self, hello: Hello, letter: Letter) -> None:
        if self._guest is None:
            raise BadFrame("unreadable message")
        try:
            message = self._guest.decode(bytes(letter.body))
        except Exception:
            raise BadFrame("unreadable message") from None
        self._enter(self._guest.read, hello, message)

    def _receive(self, hello: Hello, number: int, message: Message) -> None:
        if not self.network.listener.hears(hello.node):
            return  # A pause that was noticed just now has broken the connection that this came on.
        event, letterhead = Received(hello.node, message), Letterhead(hello.incarnation, number)
        if self._instance.state is None:
            # This node can be reached already, and is about to boot: that will be the first news.
            self._early.append((now_ms(), event, letterhead))
            return
        self.counters["in"] += 1
        self._instance.take(event, letterhead)


def _still_ms(config: NodeConfig, machine: Machine[Any]) -> float:
    """How long a node may stand still before it distrusts what waits on its connections."""
    if Assumption.BOUNDED_DELAY not in machine.assumptions:
        return config.timeout_ms / 2
    # Later than 2T, a message may come after the answer to what followed it.
    return min(config.timeout_ms / 2, max(STALL_MS, 2.0 * config.setting.timing.T))
