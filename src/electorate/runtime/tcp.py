"""The real environment of a host: TCP, the clock and the files of its machine."""

import asyncio
import os
import random
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from electorate.runtime.environment import Address, Environment, Listening, Stream, Transport
from electorate.runtime.store import Store

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
READ_MAX = 1 << 16
"""Bytes that are read at once."""
RESET = struct.pack("ii", 1, 0)
"""Linger for no time at all: closing resets the connection."""
ACCEPTING_STEPS = 4
"""Turns of the loop from when a connection comes until it is ours to break."""


def now_ms() -> float:
    """Milliseconds on the one clock of a node: it never goes back, and runs on in suspend."""
    return time.clock_gettime_ns(_CLOCK) / 1e6


def wall_ms() -> float:
    """The time of day of this machine."""
    return time.time() * 1000


def real() -> Environment:
    """The environment of a deployed host."""
    return Environment(Tcp(), now_ms, lambda purpose: random.Random(), Store, wall_ms)


class TcpStream(Stream):
    """One end of a TCP connection, on the streams of asyncio."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def break_after(self, unacknowledged_ms: float) -> None:
        """Send at once, and break when the other host does not acknowledge in time."""
        # With no room in the process's own buffer, `drain` returns once the kernel has it all.
        self._writer.transport.set_write_buffer_limits(high=0)
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Bytes that the other host does not acknowledge in time must not arrive later.
            patience_ms = max(1, int(unacknowledged_ms))
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, patience_ms)

    async def read(self) -> bytes:
        """The next bytes; none once the other side has ended it; OSError if it is broken."""
        return await self._reader.read(READ_MAX)

    def write(self, data: bytes) -> bool:
        """Have these bytes sent after those before; whether the kernel has taken them all."""
        if not self._writer.transport.is_closing():
            self._writer.write(data)
        return not self._writer.transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Wait until the kernel has taken everything."""
        await self._writer.drain()

    @property
    def is_closing(self) -> bool:
        """Whether this side has closed it, or it is broken."""
        return self._writer.transport.is_closing()

    def close(self) -> None:
        """End it once everything that was written has left."""
        self._writer.close()

    def drop(self) -> None:
        """End it now; the kernel closes it like those of a process that has died."""
        self._writer.transport.abort()

    def reset(self) -> None:
        """Break it now: the other side sees a reset, not an end."""
        raw = self._writer.get_extra_info("socket")
        with suppress(OSError):  # The other side may have closed it already.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._writer.transport.abort()


class TcpListening(Listening):
    """A port of this machine."""

    def __init__(self, accept: Callable[[Stream], None]) -> None:
        self._accept = accept
        self._server: asyncio.Server | None = None

    async def open(self, address: Address) -> None:
        """Begin; OSError if the address cannot be used."""
        try:
            self._server = await asyncio.start_server(self._accepted, *address)
        except (OSError, UnicodeError) as error:
            host, port = address
            raise OSError(f"cannot listen on {host}:{port}: {_reason(error)}") from error

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection has come in; it is closed at once if this node has just stopped."""
        if self._server is not None and not self._server.is_serving():
            writer.transport.abort()
        else:
            self._accept(TcpStream(reader, writer))

    async def close(self) -> None:
        """Accept no more connections."""
        if self._server is not None:
            # Python 3.11 leaves a connection open if its server closes while it is being accepted.
            for listening in self._server.sockets:
                asyncio.get_running_loop().remove_reader(listening.fileno())
            for _ in range(ACCEPTING_STEPS):
                await asyncio.sleep(0)
            self._server.close()


class Tcp(Transport):
    """The network of this machine."""

    async def connect(self, address: Address, fresh_ms: float) -> Stream:
        """Connect; OSError if that fails."""
        stream = TcpStream(*await asyncio.open_connection(*address))
        stream.break_after(fresh_ms)
        return stream

    async def listen(self, address: Address, accept: Callable[[Stream], None]) -> Listening:
        """Accept connections from now on; OSError if the address cannot be used."""
        listening = TcpListening(accept)
        await listening.open(address)
        return listening


def _reason(error: Exception) -> str:
    """Why an address cannot be used, without what asyncio has to say about it."""
    known = isinstance(error, OSError) and error.errno is not None and error.errno > 0
    return os.strerror(error.errno) if known else str(error)  # type: ignore[attr-defined]
