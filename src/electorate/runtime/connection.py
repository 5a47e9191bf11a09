"""Connections with other nodes: a link out to each of them, and one listener for all that come in.

A link is opened again and again, and never late: what could not be written within T is dropped,
and what an old connection had not written is forgotten when a new one opens. The listener says who
may speak, and what a connection may do before it is closed. Where connections prove who is at the
other end, a link says nothing to anybody but the node that it means, and a node is heard under the
name that it has proven alone.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from electorate.core import NodeId
from electorate.runtime.environment import Address, Environment, Listening, Stream
from electorate.runtime.frame import (
    ANSWER_MAX,
    HELLO_MAX,
    BadFrame,
    Beat,
    Frame,
    FrameReader,
    Hello,
    Letter,
    Ping,
    Pong,
    Refusal,
    Welcome,
    pack,
)
from electorate.runtime.identity import CertificateRole, Identity, NotAuthenticated, expect_member
from electorate.runtime.strangers import Strangers

BACKOFF_FIRST_S = 0.02
BACKOFF_MAX_S = 0.25
"""After a partition has healed, the two sides look for each other again within this time."""
HELLO_S = 2.0
GREETING = 4.0
"""How many times as long as connecting a greeting and its answer may take."""
FRAME_S = 5.0
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
        meant: Identity,
        address: Address,
        fresh_ms: float,
        connect_ms: float,
        on_connected: Callable[[NodeId], None],
        on_broken: Callable[[NodeId, Exception], None],
    ) -> None:
        self.to = to
        self.meant = meant
        """Who must be at the other end."""
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
            await stream.authenticate()
            expect_member(stream.proven, self.meant.cluster, self.meant.name)
            stream.write(pack(self._name()))
            frames = FrameReader(stream.read)
            answer = await frames.next(self._connect_s, ANSWER_MAX)
        if not isinstance(answer, Welcome):
            raise _objection(answer)
        if self._was_reset:
            return
        self.connected = self.tried = True
        self.member = answer.member
        self._on_connected(self.to)
        ending = asyncio.ensure_future(self._until_closed(frames))
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

    async def _until_closed(self, frames: FrameReader) -> None:
        """Read: all that may come is whether this is still here, and the reason why it ends."""
        while isinstance(answer := await frames.next(self._connect_s, ANSWER_MAX), Ping):
            self.send(Pong())
        raise _objection(answer)

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


def _objection(answer: Frame) -> BadFrame:
    return (
        HandshakeRefused(answer) if isinstance(answer, Refusal) else BadFrame("unexpected answer")
    )


class Taken(BadFrame):
    """Two live nodes have the same id."""


class Objection(BadFrame):
    """Another node is not let in here. It may have missed why, so it is told the news."""

    def __init__(self, why: str, hello: Hello) -> None:
        super().__init__(why)
        self.hello = hello


class Caller:
    """The node that speaks on a connection."""

    def __init__(self, hello: Hello, stream: Stream) -> None:
        self.hello = hello
        self.stream = stream
        self.proof: asyncio.Future[bool] | None = None
        """Whether it is still there, once it was asked because another one says that it is it."""

    def prove(self, is_here: bool) -> None:
        """It has answered, or is gone."""
        if self.proof is not None and not self.proof.done():
            self.proof.set_result(is_here)
        self.proof = None


class Listener:
    """Accepts one connection from each of the other nodes, and hands their frames on."""

    def __init__(
        self,
        environment: Environment,
        me: NodeId,
        cluster_name: str,
        cluster: str,
        others: Iterable[NodeId],
        on_hello: Callable[[Hello], None],
        on_frame: Callable[[Hello, Beat | Letter], None],
        on_broken: Callable[[NodeId, bool], None],
        live_ms: float,
        called: Callable[[NodeId], str] = str,
        is_ours: Callable[[Hello], bool] = lambda hello: True,
        objection: Callable[[Hello], str] = lambda hello: "",
        news: Callable[[Hello], bytes] = lambda hello: b"",
        member: Callable[[NodeId], NodeId] = lambda node: 0,
        process: str = "",
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.cluster = cluster
        """Empty: then `is_ours` alone says which other nodes are of it."""
        self.others = set(others)
        self._transport = environment.transport
        self._now_ms = environment.now_ms
        self._me = me
        self._cluster_name = cluster_name
        self._process = process
        self._is_ours = is_ours
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
        self._strangers = Strangers(environment.now_ms)
        self._serving: set[asyncio.Future[None]] = set()
        self._listening: Listening | None = None

    async def start(self, address: Address) -> None:
        """Begin to listen; OSError if the address cannot be used."""
        self._listening = await self._transport.listen(address, self._accept, self._admits)

    def hears(self, node: NodeId) -> bool:
        """Whether that node is connected to this one, and has spoken lately."""
        return node in self._callers and self._now_ms() - self._heard_at[node] < self._live_ms

    async def close(self) -> None:
        """Stop listening and break all connections."""
        if self._listening is not None:
            await self._listening.close()
        self.reset()
        self._strangers.drop_all()

    def reset(self) -> None:
        """Break the connections of all nodes; what they still hold is lost."""
        for node in list(self._callers):
            self._hang_up(node)

    def forget(self, node: NodeId) -> None:
        """Forget this node: from now on it is a stranger."""
        self.others.discard(node)
        self._hang_up(node)

    def _hang_up(self, node: NodeId) -> None:
        caller = self._callers.pop(node, None)
        if caller is not None:
            caller.stream.drop()
            caller.prove(False)

    def _admits(self, address: str) -> bool:
        """Whether a connection from there is looked at."""
        admits = self._strangers.admits(address)
        if not admits:
            self._count("too many connections at once")
        return admits

    def _accept(self, stream: Stream) -> None:
        """A connection has come in."""
        victim = self._strangers.add(stream)
        if victim is not None:
            victim.drop()
            self._count("too many strangers")
        serving = asyncio.ensure_future(self._serve(stream))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _serve(self, stream: Stream) -> None:
        frames = FrameReader(stream.read)
        hello: Hello | None = None
        is_end = False
        try:
            hello = await self._introduced(stream, frames)
            self._strangers.remove(stream)
            self._strangers.met(stream)
            self._admit(hello, stream)
            await self._listen(hello, frames, stream)
        except NotAuthenticated as error:
            self._count("it has not proven who it is", f" ({error})")
        except BadFrame as error:
            self._count(str(error))
            # Only a node that knows what our cluster is called comes as far as an objection.
            news = self._news(error.hello) if isinstance(error, Objection) else b""
            self._say(stream, Refusal(str(error), isinstance(error, Taken), news))
        except EOFError:
            is_end = True
        except OSError:
            pass  # The connection broke, or we broke it.
        finally:
            self._strangers.remove(stream)
            stream.close()
            if hello is not None and self._is_current(hello, stream):
                self._callers.pop(hello.node).prove(False)
                self._on_broken(hello.node, is_end)

    def _count(self, reason: str, detail: str = "") -> None:
        """Count why a connection was closed; log frequent reasons only now and then.

        There are few reasons: nothing that a stranger says is among them.
        """
        key = f"closed: {reason}"
        self.counters[key] += 1
        times = self.counters[key]
        if times & (times - 1) == 0:
            me = self._called(self._me)
            log.warning("node %s closed a connection: %s%s (%d so far)", me, reason, detail, times)

    async def _introduced(self, stream: Stream, frames: FrameReader) -> Hello:
        try:
            async with asyncio.timeout(HELLO_S):
                await stream.authenticate()
                hello = await frames.next(HELLO_S, HELLO_MAX)
        except TimeoutError:
            raise BadFrame("no hello in time") from None
        if not isinstance(hello, Hello):
            raise BadFrame("no hello")
        is_named = hello.cluster_name == self._cluster_name
        is_same = not self.cluster or hello.cluster == self.cluster
        if not (is_named and is_same and self._is_ours(hello)):
            raise BadFrame(
                "hello from another cluster: all nodes need the same members and settings"
            )
        if stream.proven is not None and (stream.proven.cluster, stream.proven.role) != (
            self._cluster_name,
            CertificateRole.MEMBER,
        ):
            raise NotAuthenticated(f"it is {stream.proven}")
        if hello.process == self._process:
            # A node that was removed had the address that this one has now.
            raise BadFrame("hello to another node: that is this very process")
        if hello.node == self._me:
            raise Taken(f"hello from a second node {self._called(self._me)}: that is me")
        if hello.node not in self.others:
            raise Objection("hello from a stranger: it is no member here", hello)
        expect_member(stream.proven, self._cluster_name, self._called(hello.node))
        if hello.to != self._me:
            raise BadFrame("hello to another node: it was looked for at a wrong address")
        await self._expect_alone(hello)
        objection = self._objection(hello)
        if objection:
            raise Objection(objection, hello)
        return hello

    async def _expect_alone(self, hello: Hello) -> None:
        """Wait until no other connection speaks for this node; Taken if one does that is live.

        An equal process proves nothing: anybody may have heard it. So the connection that is there
        is asked. If its node has broken it, and that was lost on the way, the answer is a reset;
        if no answer comes at all, it is given up after the time in which a node becomes suspect.
        """
        node = hello.node
        while (present := self._callers.get(node)) and self._is_live(present):
            if present.proof is None:
                present.proof = asyncio.get_running_loop().create_future()
                self._say(present.stream, Ping())
            asked, is_here = present.proof, False
            with suppress(TimeoutError):
                async with asyncio.timeout(self._live_ms / 1000):
                    is_here = await asyncio.shield(asked)
            if is_here:
                raise Taken(
                    f"hello from a second node {self._called(node)} while the first is live"
                )
            if self._is_current(present.hello, present.stream):
                self._hang_up(node)

    def _is_live(self, present: Caller) -> bool:
        """Whether this is the connection of its node, which has spoken on it lately."""
        node = present.hello.node
        is_current = self._is_current(present.hello, present.stream)
        return is_current and self.hears(node) and not present.stream.is_closing

    def _admit(self, hello: Hello, stream: Stream) -> None:
        """Make this the only connection of its node."""
        self._hang_up(hello.node)
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
            now_s = self._now_ms() / 1000
            self._heard_at[hello.node] = 1000 * now_s
            if isinstance(frame, Beat | Letter):
                self._on_frame(hello, frame)
            elif isinstance(frame, Pong):
                self._callers[hello.node].prove(True)
            else:
                raise BadFrame("unexpected frame")
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
