"""The way out to one other node: a connection that is opened again and again, and never late.

What could not be written within T is dropped; what an old connection had not written is
forgotten when a new one opens.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable

from electorate.core import NodeId
from electorate.runtime.environment import Address, Environment, Stream
from electorate.runtime.frame import BadFrame, Frame, FrameReader, Hello, Refusal, Welcome, pack

BACKOFF_FIRST_S = 0.02
BACKOFF_MAX_S = 0.25
"""So soon after a partition has healed the two sides look for each other again."""


class Refused(BadFrame):
    """The other node does not take us for who we say we are."""

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
        """Whether connecting under the present name has succeeded or failed by now."""
        self.member = 0
        """Which member has answered last."""
        self._transport = environment.transport
        self._now_ms = environment.now_ms
        self._chance = environment.chance(f"link to {to}")
        self._address = address
        self._name: Callable[[], Hello] | None = None
        self._fresh_ms = fresh_ms
        self._connect_s = connect_ms / 1000
        self._on_connected = on_connected
        self._on_broken = on_broken
        self._outbox: deque[tuple[float, bytes]] = deque()
        self._stirred = asyncio.Event()
        self._retry = asyncio.Event()
        self._stream: Stream | None = None
        self._was_reset = False
        self._says_goodbye = False

    def send(self, frame: Frame) -> None:
        """Queue a frame; without a connection it is lost, as on any network."""
        if not self.connected:
            self.counters["dropped: not connected"] += 1
            return
        self._outbox.append((self._now_ms() + self._fresh_ms, pack(frame)))
        self._stirred.set()

    @property
    def behind(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._outbox)

    def introduce(self, name: Callable[[], Hello]) -> None:
        """Speak under this name from now on, on a new connection."""
        self._name = name
        self.tried = False
        self.reset()
        self.retry()

    def retry(self) -> None:
        """The other node shows signs of life: do not wait any longer to connect."""
        self._retry.set()

    def reset(self) -> None:
        """Break the connection; nothing that it had not delivered will be delivered."""
        self.connected = False
        self._was_reset = True
        self._outbox.clear()
        self._break_off()

    def say_goodbye(self) -> None:
        """From now on the connection ends as that of a process does that is no more."""
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
        async with asyncio.timeout(self._connect_s):
            stream = await self._transport.connect(self._address, self._fresh_ms)
            self._stream = stream
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
            while self._outbox:
                deadline, data = self._outbox.popleft()
                left_ms = deadline - self._now_ms()
                if left_ms < 0:
                    self.counters["dropped: too late"] += 1
                    continue
                if not stream.write(data):
                    async with asyncio.timeout(left_ms / 1000):
                        await stream.drain()
            await self._stirred.wait()

    def _close(self) -> None:
        self.connected = False
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
    """Nothing more is expected on an outgoing connection, unless a word on why it ends."""
    raise _objection(await frames.next(complete_s))


def _objection(answer: Frame) -> BadFrame:
    return Refused(answer) if isinstance(answer, Refusal) else BadFrame("unexpected answer")
