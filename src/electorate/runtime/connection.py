"""Connections with other nodes: a link out to each of them, and one listener for all that come in.

A link is opened again and again, and never late: what could not be written within T is dropped,
and what an old connection had not written is forgotten when a new one opens. The listener says who
may speak, and what a connection may do before it is closed.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from electorate.core import NodeId
from electorate.runtime.environment import Address, Environment, Listening, Stream
from electorate.runtime.frame import (
    HELLO_MAX,
    BadFrame,
    Beat,
    Frame,
    FrameReader,
    Hello,
    Letter,
    Refusal,
    Welcome,
    pack,
)

BACKOFF_FIRST_S = 0.02
BACKOFF_MAX_S = 0.25
"""After a partition has healed, the two sides look for each other again within this time."""
HELLO_S = 2.0
GREETING = 4.0
"""How many times as long as connecting a greeting and its answer may take."""
FRAME_S = 5.0
STRANGERS_MAX = 64
"""Connections that have not said who they are. If one more comes, the oldest is closed. So a node
that says hello at once always gets in, however many others only connect."""
FRAMES_PER_S = 2000
BURST_S = 0.1
"""How far a node may run ahead of that rate; beyond, its frames are left waiting on the network."""
BUSY_S = 0.005
"""How long one node may be read while others may be waiting."""

log = logging.getLogger("electorate.runtime")


class HandshakeRefused(BadFrame):
    """The other node does not accept that we are who we say."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.taken = refusal.taken
        self.news = refusal.news


class Link:
    """Sends frames to one node, in order, while they are fresh."""

    def __init__(
        self,
        environment: Environment,
        to: NodeId,
        address: Address,
        fresh_ms: float,
        connect_ms: float,
        on_connected: Callable[[NodeId], None],
        on_broken: Callable[[NodeId, Exception], None],
    ) -> None:
        self.to = to
        self.counters: Counter[str] = Counter()
        self.connected = False
        self.tried = False
        """Set once connecting under the present name has succeeded or failed."""
        self.member = 0
        """The member that answered last."""
        self._transport = environment.transport
        self._now_ms = environment.now_ms
        self._chance = environment.chance(f"link to {to}")
        self._address = address
        self._name: Callable[[], Hello] | None = None
        self._fresh_ms = fresh_ms
        self._connect_s = connect_ms / 1000
        self._on_connected = on_connected
        self._on_broken = on_broken
        self.behind = False
        """Whether the system still has to take some of what was sent."""
        self._outbox: deque[tuple[float, bytes]] = deque()
        """What was queued meanwhile, and how long it is fresh."""
        self._stirred = asyncio.Event()
        self._retry = asyncio.Event()
        self._stream: Stream | None = None
        self._was_reset = False
        self._says_goodbye = False

    def send(self, frame: Frame) -> None:
        """Send a frame; without a connection it is lost, as on any network."""
        if not self.connected or self._stream is None:
            self.counters["dropped: not connected"] += 1
        elif self.behind:
            self._outbox.append((self._now_ms() + self._fresh_ms, pack(frame)))
        elif not self._stream.write(pack(frame)):
            self.behind = True
            self._stirred.set()

    def introduce(self, name: Callable[[], Hello]) -> None:
        """Use this name from now on, on a new connection."""
        self._name = name
        self.tried = False
        self.reset()
        self.retry()

    def retry(self) -> None:
        """The other node is alive: connect at once, without waiting any longer."""
        self._retry.set()

    def reset(self) -> None:
        """Break the connection; what it had not delivered is lost."""
        self.connected = False
        self._was_reset = True
        self._outbox.clear()
        self._break_off()

    def say_goodbye(self) -> None:
        """From now on the connection ends like that of a process that has died."""
        self._says_goodbye = True

    async def run(self) -> None:
        """Keep connecting, with growing pauses, until cancelled."""
        pause_s = BACKOFF_FIRST_S
        while True:
            self._retry.clear()
            self._was_reset = False
            name, began = self._name, self._now_ms()
            try:
                await self._converse()
            except (OSError, UnicodeError, BadFrame, TimeoutError, EOFError) as error:
                # What we broke ourselves says nothing about the other node.
                if not self._was_reset:
                    self.counters["broken connections"] += 1
                    self._on_broken(self.to, error)
            finally:
                self._close()
            if name is self._name is not None and not self._was_reset:
                self.tried = True
            if self._now_ms() - began > 1000 * BACKOFF_MAX_S:
                pause_s = BACKOFF_FIRST_S
            try:
                # Jitter keeps nodes that lost each other at one moment from meeting in step.
                async with asyncio.timeout(pause_s * self._chance.uniform(0.5, 1.5)):
                    await self._retry.wait()
            except TimeoutError:
                pause_s = min(2 * pause_s, BACKOFF_MAX_S)

    async def _converse(self) -> None:
        if self._name is None:
            raise EOFError("not introduced yet")
        began = self._now_ms()
        async with asyncio.timeout(self._connect_s):
            stream = await self._transport.connect(self._address, self._fresh_ms)
            self._stream = stream
        # Somebody is there. Where that took long to know, so does the rest.
        took_s = (self._now_ms() - began) / 1000
        async with asyncio.timeout(max(self._connect_s - took_s, GREETING * took_s)):
            stream.write(pack(self._name()))
            frames = FrameReader(stream.read)
            answer = await frames.next(self._connect_s)
        if not isinstance(answer, Welcome):
            raise _objection(answer)
        if self._was_reset:
            return
        self.connected = self.tried = True
        self.member = answer.member
        self._on_connected(self.to)
        ending = asyncio.ensure_future(_until_closed(frames, self._connect_s))
        try:
            await self._pump(stream, ending)
        finally:
            ending.cancel()
            await asyncio.wait([ending])

    async def _pump(self, stream: Stream, ending: asyncio.Future[None]) -> None:
        ending.add_done_callback(lambda _: self._stirred.set())
        while True:
            self._stirred.clear()
            if ending.done():
                ending.result()
            if self.behind:
                await self._catch_up(stream)
            await self._stirred.wait()

    async def _catch_up(self, stream: Stream) -> None:
        """Wait until the system takes what was sent, and send what was queued meanwhile."""
        async with asyncio.timeout(self._fresh_ms / 1000):
            await stream.drain()
        while self._outbox:
            deadline, data = self._outbox.popleft()
            left_ms = deadline - self._now_ms()
            if left_ms < 0:
                self.counters["dropped: too late"] += 1
            elif not stream.write(data):
                async with asyncio.timeout(left_ms / 1000):
                    await stream.drain()
        self.behind = False

    def _close(self) -> None:
        self.connected = self.behind = False
        self._outbox.clear()
        self._break_off()
        self._stream = None

    def _break_off(self) -> None:
        """Break the connection, so that nobody takes it for the end of this process.

        The system closes the connections of a process that has died: the other side reads to the
        end of the stream. While there is still somebody at work here, it must see a reset instead.
        """
        if self._stream is not None:
            if self._says_goodbye:
                self._stream.drop()
            else:
                self._stream.reset()


async def _until_closed(frames: FrameReader, complete_s: float) -> None:
    """Read an outgoing connection: all that may come is the reason why it ends."""
    raise _objection(await frames.next(complete_s))


def _objection(answer: Frame) -> BadFrame:
    return (
        HandshakeRefused(answer) if isinstance(answer, Refusal) else BadFrame("unexpected answer")
    )


class Taken(BadFrame):
    """Two live nodes have the same id."""


class Objection(BadFrame):
    """Another node is not let in here. It may have missed why, so it is told the news."""


class Caller(NamedTuple):
    """The node that speaks on a connection."""

    hello: Hello
    stream: Stream


class Listener:
    """Accepts one connection from each of the other nodes, and hands their frames on."""

    def __init__(
        self,
        environment: Environment,
        me: NodeId,
        cluster: str,
        others: Iterable[NodeId],
        on_hello: Callable[[Hello], None],
        on_frame: Callable[[Hello, Beat | Letter], None],
        on_broken: Callable[[NodeId, bool], None],
        live_ms: float,
        called: Callable[[NodeId], str] = str,
        objection: Callable[[Hello], str] = lambda hello: "",
        news: Callable[[], bytes] = lambda: b"",
        member: Callable[[NodeId], NodeId] = lambda node: 0,
        process: str = "",
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.cluster = cluster
        """Empty: then the first node that speaks says what it is."""
        self.others = set(others)
        self._transport = environment.transport
        self._now_ms = environment.now_ms
        self._me = me
        self._process = process
        self._objection = objection
        self._news = news
        self._member = member
        self._on_hello = on_hello
        self._on_frame = on_frame
        self._on_broken = on_broken
        self._live_ms = live_ms
        self._called = called
        self._callers: dict[NodeId, Caller] = {}
        self._heard_at: dict[NodeId, float] = {}
        self._strangers: dict[Stream, None] = {}
        self._serving: set[asyncio.Future[None]] = set()
        self._listening: Listening | None = None

    async def start(self, address: Address) -> None:
        """Begin to listen; OSError if the address cannot be used."""
        self._listening = await self._transport.listen(address, self._accept)

    def hears(self, node: NodeId) -> bool:
        """Whether that node is connected to this one, and has spoken lately."""
        return node in self._callers and self._now_ms() - self._heard_at[node] < self._live_ms

    async def close(self) -> None:
        """Stop listening and break all connections."""
        if self._listening is not None:
            await self._listening.close()
        self.reset()
        for stream in self._strangers:
            stream.drop()

    def reset(self) -> None:
        """Break the connections of all nodes; what they still hold is lost."""
        for caller in self._callers.values():
            caller.stream.drop()
        self._callers.clear()

    def forget(self, node: NodeId) -> None:
        """Forget this node: from now on it is a stranger."""
        self.others.discard(node)
        caller = self._callers.pop(node, None)
        if caller is not None:
            caller.stream.drop()

    def _accept(self, stream: Stream) -> None:
        """A connection has come in."""
        self._make_room()
        self._strangers[stream] = None
        serving = asyncio.ensure_future(self._serve(stream))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _serve(self, stream: Stream) -> None:
        frames = FrameReader(stream.read)
        hello: Hello | None = None
        is_end = False
        try:
            hello = await self._introduced(frames)
            self._strangers.pop(stream, None)
            self._admit(hello, stream)
            await self._listen(hello, frames, stream)
        except BadFrame as error:
            self._count(str(error))
            news = self._news() if isinstance(error, Objection) else b""
            self._say(stream, Refusal(str(error), isinstance(error, Taken), news))
        except EOFError:
            is_end = True
        except OSError:
            pass  # The connection broke, or we broke it.
        finally:
            self._strangers.pop(stream, None)
            stream.close()
            if hello is not None and self._is_current(hello, stream):
                del self._callers[hello.node]
                self._on_broken(hello.node, is_end)

    def _make_room(self) -> None:
        if len(self._strangers) >= STRANGERS_MAX:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.drop()
            self._count("too many strangers")

    def _count(self, reason: str) -> None:
        """Count why a connection was closed; log frequent reasons only now and then."""
        key = f"closed: {reason}"
        self.counters[key] += 1
        times = self.counters[key]
        if times & (times - 1) == 0:
            me = self._called(self._me)
            log.warning("node %s closed a connection: %s (%d so far)", me, reason, times)

    async def _introduced(self, frames: FrameReader) -> Hello:
        try:
            async with asyncio.timeout(HELLO_S):
                hello = await frames.next(HELLO_S, HELLO_MAX)
        except TimeoutError:
            raise BadFrame("no hello in time") from None
        if not isinstance(hello, Hello):
            raise BadFrame("no hello")
        if self.cluster and hello.cluster != self.cluster:
            raise BadFrame(
                "hello from another cluster: all nodes need the same members and settings"
            )
        if hello.process == self._process:
            # A node that was removed had the address that this one has now.
            raise BadFrame(f"hello to node {self._called(hello.to)}: that is this very process")
        if hello.node == self._me:
            raise Taken(f"hello from a second node {self._called(self._me)}: that is me")
        if hello.node not in self.others:
            raise Objection("hello from a stranger: it is no member here")
        if hello.to != self._me:
            raise BadFrame(
                f"hello to node {self._called(hello.to)}: this is node {self._called(self._me)}"
            )
        if self._is_second(hello):
            raise Taken(
                f"hello from a second node {self._called(hello.node)} while the first is live"
            )
        objection = self._objection(hello)
        if objection:
            raise Objection(objection)
        return hello

    def _is_second(self, hello: Hello) -> bool:
        present = self._callers.get(hello.node)
        if present is None or present.hello.process == hello.process:
            return False
        return self.hears(hello.node) and not present.stream.is_closing

    def _admit(self, hello: Hello, stream: Stream) -> None:
        """Make this the only connection of its node."""
        present = self._callers.pop(hello.node, None)
        if present is not None:
            present.stream.drop()
        self._callers[hello.node] = Caller(hello, stream)
        self._heard_at[hello.node] = self._now_ms()
        self._say(stream, Welcome(self._member(hello.node)))
        self._on_hello(hello)

    async def _listen(self, hello: Hello, frames: FrameReader, stream: Stream) -> None:
        paid_s = began_s = 0.0
        while True:
            frame = await frames.next(FRAME_S)
            if not self._is_current(hello, stream):
                return
            if not isinstance(frame, Beat | Letter):
                raise BadFrame("unexpected frame")
            now_s = self._now_ms() / 1000
            self._heard_at[hello.node] = 1000 * now_s
            self._on_frame(hello, frame)
            paid_s = max(paid_s, now_s) + 1 / FRAMES_PER_S
            if paid_s > now_s + BURST_S:
                self.counters["floods slowed"] += 1
                await asyncio.sleep(BURST_S)
            elif self._now_ms() / 1000 > began_s + BUSY_S:
                await asyncio.sleep(0)
                began_s = self._now_ms() / 1000

    def _is_current(self, hello: Hello, stream: Stream) -> bool:
        present = self._callers.get(hello.node)
        return present is not None and present.stream is stream

    @staticmethod
    def _say(stream: Stream, frame: Frame) -> None:
        if not stream.is_closing:
            stream.write(pack(frame))
