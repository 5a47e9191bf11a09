"""The real environment of a host: TCP, the clock and the files of its machine."""

import asyncio
import ipaddress
import logging
import os
import random
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from electorate.runtime.environment import Address, Environment, Listening, Stream, Transport
from electorate.runtime.store import Store

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
READ_MAX = 1 << 16
"""Bytes that are read at once."""
RESET = struct.pack("ii", 1, 0)
"""Linger for no time at all: closing resets the connection."""
BACKLOG = 128
ACCEPTED_AT_ONCE = 16
RETRY_ACCEPT_S = 0.5
"""How soon to accept again after there was no descriptor left for it."""

log = logging.getLogger("electorate.runtime")


def now_ms() -> float:
    """Milliseconds on the one clock of a node: it never goes back, and runs on in suspend."""
    return time.clock_gettime_ns(_CLOCK) / 1e6


def wall_ms() -> float:
    """The time of day of this machine."""
    return time.time() * 1000


def real(transport: Transport | None = None) -> Environment:
    """The environment of a deployed host; unless told otherwise it does not leave this machine."""
    network = transport or Tcp(local_only=True)
    return Environment(network, now_ms, lambda purpose: random.Random(), Store, wall_ms)


class TcpStream(Stream):
    """One end of a TCP connection, on the streams of asyncio."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        far = writer.get_extra_info("peername")
        self.address = str(far[0]) if far else ""

    async def authenticate(self) -> None:
        """Nobody proves anything on a plain connection."""

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

    def __init__(self, accept: Callable[[Stream], None], admits: Callable[[str], bool]) -> None:
        self._accept = accept
        self._admits = admits
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._taking: set[asyncio.Task[None]] = set()

    async def open(self, address: Address, *, local_only: bool) -> None:
        """Begin; OSError if the address cannot be used."""
        host, port = address
        try:
            found = await self._loop.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            for family, kind, protocol, _, where in dict.fromkeys(found):
                if local_only:
                    expect_local(str(where[0]))
                self._sockets.append(_bound(family, kind, protocol, where))
        except (OSError, UnicodeError) as error:
            self._close()
            raise OSError(f"cannot listen on {host}:{port}: {_reason(error)}") from error
        for each in self._sockets:
            self._loop.add_reader(each.fileno(), self._come, each)

    def _come(self, listening: socket.socket) -> None:
        """Take the connections that have come in: a few, so that a flood does not stop all else."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                taken, (address, *_) = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # No descriptors or no memory are left: others may give some back.
                log.warning("no connection can be accepted: %s", error.strerror)
                self._loop.remove_reader(listening.fileno())
                self._loop.call_later(RETRY_ACCEPT_S, self._go_on, listening)
                return
            if self._admits(address):
                taking = self._loop.create_task(self._take(taken))
                self._taking.add(taking)
                taking.add_done_callback(partial(self._taken, taken))
            else:
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                taken.close()

    def _go_on(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening.fileno(), self._come, listening)

    async def _take(self, taken: socket.socket) -> None:
        """Hand a connection on as a stream."""
        taken.setblocking(False)
        reader = asyncio.StreamReader(loop=self._loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self._loop)
        transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, taken)
        writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        if not self._sockets:
            transport.abort()
            return
        self._accept(TcpStream(reader, writer))

    def _taken(self, taken: socket.socket, taking: asyncio.Task[None]) -> None:
        self._taking.discard(taking)
        if taking.cancelled() or taking.exception() is not None:
            taken.close()  # It is broken already, or nobody listens any more.

    async def close(self) -> None:
        """Accept no more connections."""
        self._close()
        for taking in list(self._taking):
            taking.cancel()
        await asyncio.gather(*self._taking, return_exceptions=True)

    def _close(self) -> None:
        for each in self._sockets:
            self._loop.remove_reader(each.fileno())
            each.close()
        self._sockets.clear()


class Tcp(Transport):
    """The network of this machine, or what of it does not leave this machine."""

    def __init__(self, *, local_only: bool = False) -> None:
        self._local_only = local_only

    async def connect(self, address: Address, fresh_ms: float) -> Stream:
        """Connect; OSError if that fails."""
        stream = TcpStream(*await asyncio.open_connection(*address))
        if self._local_only:
            try:
                expect_local(stream.address)
            except OSError:
                stream.reset()
                raise
        stream.break_after(fresh_ms)
        return stream

    async def listen(
        self,
        address: Address,
        accept: Callable[[Stream], None],
        admits: Callable[[str], bool] = lambda address: True,
    ) -> Listening:
        """Accept connections from now on; OSError if the address cannot be used."""
        listening = TcpListening(accept, admits)
        await listening.open(address, local_only=self._local_only)
        return listening


def is_local(address: str) -> bool:
    """Whether an address is this machine's own, which no other can reach."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def expect_local(address: str) -> None:
    """OSError unless this is an address of this machine alone."""
    if not is_local(address):
        raise OSError(f"{address} is not on this machine, and nothing proves who is there")


def _bound(family: int, kind: int, protocol: int, where: tuple[Any, ...]) -> socket.socket:
    """A socket that listens there."""
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setblocking(False)
        made.bind(where)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _reason(error: Exception) -> str:
    """Why an address cannot be used, without what asyncio has to say about it."""
    known = isinstance(error, OSError) and error.errno is not None and error.errno > 0
    return os.strerror(error.errno) if known else str(error)  # type: ignore[attr-defined]
