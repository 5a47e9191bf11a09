"""The far end of a link, held by a test: it welcomes, refuses, listens or turns a deaf ear."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from electorate.runtime.connection import Link
from electorate.runtime.environment import Address
from electorate.runtime.frame import Frame, FrameReader, Hello, Welcome, pack
from electorate.runtime.identity import CertificateRole, Identity
from electorate.runtime.tcp import real
from tests.runtime.cluster import free_addresses

MEANT = Identity("c", CertificateRole.MEMBER, "2")
HELLO = Hello("c", node=1, to=2, store="s", incarnation=1, process="p", sent=0)


class Host:
    """Takes calls on an address of its own."""

    def __init__(self, answer: Frame | bytes | None = None, *, deaf: bool = False) -> None:
        self.answer: Frame | bytes | None = Welcome() if answer is None else answer
        self.deaf = deaf
        self.calls: list[list[Frame]] = []
        self.address: Address = free_addresses(1)[0]
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self) -> None:
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.bind(self.address)
        self._server = await asyncio.start_server(self._serve, sock=raw, limit=4096)

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.hang_up()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call: list[Frame] = []
        frames = FrameReader(partial(reader.read, 4096))
        self.calls.append(call)
        self._writers.append(writer)
        try:
            call.append(await frames.next(5.0))
            if self.answer is not None:
                writer.write(self.answer if isinstance(self.answer, bytes) else pack(self.answer))
            if self.deaf:
                await asyncio.sleep(60)
            while True:
                call.append(await frames.next(5.0))
        except (EOFError, OSError):
            writer.close()


class Caretaker:
    """Keeps a link running, and writes down when it broke and why."""

    def __init__(self, address: Address, fresh_ms: float = 100.0) -> None:
        self.broken: list[Exception] = []
        self.times: list[float] = []
        self.connections = 0
        self.link = Link(real(), 2, MEANT, address, fresh_ms, 300.0, self._connected, self._broke)

    def _connected(self, node: int) -> None:
        self.connections += 1

    def _broke(self, node: int, error: Exception) -> None:
        self.broken.append(error)
        self.times.append(asyncio.get_running_loop().time())


@asynccontextmanager
async def linked(host: Host, fresh_ms: float = 100.0) -> AsyncIterator[Caretaker]:
    """A link to a host, introduced and running."""
    keeper = Caretaker(host.address, fresh_ms)
    keeper.link.introduce(lambda: HELLO)
    running = asyncio.ensure_future(keeper.link.run())
    try:
        yield keeper
    finally:
        running.cancel()
        await asyncio.wait([running])
        host.close()


async def until(condition: object, seconds: float = 5.0) -> None:
    """Wait in the loop until something is the case, but not for ever."""
    assert callable(condition)
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.002)
