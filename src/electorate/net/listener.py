"""The way in: who may speak, and what a connection may do before it is closed."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from electorate.core import NodeId
from electorate.net.clock import now_ms
from electorate.net.frame import (
    BadFrame,
    Beat,
    Frame,
    Hello,
    Letter,
    Refusal,
    Welcome,
    pack,
    read_frame,
)
from electorate.net.link import Address

HELLO_S = 2.0
FRAME_S = 5.0
CONNECTIONS_MAX = 128

log = logging.getLogger("electorate.net")


class Caller(NamedTuple):
    """Who speaks on a connection."""

    hello: Hello
    writer: asyncio.StreamWriter


class Listener:
    """Accepts the other nodes, one connection each, and hands their frames on."""

    def __init__(
        self,
        me: NodeId,
        cluster: str,
        others: frozenset[NodeId],
        on_hello: Callable[[Hello], None],
        on_frame: Callable[[Hello, Beat | Letter], None],
        on_broken: Callable[[NodeId, str], None],
        live_ms: float,
    ) -> None:
        self.counters: Counter[str] = Counter()
        self._me = me
        self._cluster = cluster
        self._others = others
        self._on_hello = on_hello
        self._on_frame = on_frame
        self._on_broken = on_broken
        self._live_ms = live_ms
        self._callers: dict[NodeId, Caller] = {}
        self._heard_at: dict[NodeId, float] = {}
        self._open = 0
        self._server: asyncio.Server | None = None

    async def start(self, address: Address) -> None:
        """Begin to listen; OSError if the address cannot be had."""
        self._server = await asyncio.start_server(self._serve, *address)

    def hears(self, node: NodeId) -> bool:
        """Whether that node is connected to this one."""
        return node in self._callers

    def close(self) -> None:
        """Stop listening and break all connections."""
        if self._server is not None:
            self._server.close()
        self.reset()

    def reset(self) -> None:
        """Break all connections; what they still hold will not be delivered."""
        for caller in self._callers.values():
            caller.writer.transport.abort()
        self._callers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        hello: Hello | None = None
        reason = "closed by the other side"
        try:
            if self._open > CONNECTIONS_MAX:
                raise BadFrame("too many connections")
            hello = await self._introduced(reader)
            self._admit(hello, writer)
            await self._listen(hello, reader, writer)
        except BadFrame as error:
            reason = str(error)
            self.counters[f"closed: {reason}"] += 1
            log.warning("node %s closed a connection: %s", self._me, reason)
            self._say(writer, Refusal(reason))
        except (OSError, EOFError):
            pass
        finally:
            self._open -= 1
            writer.close()
            if hello is not None and self._is_current(hello, writer):
                del self._callers[hello.node]
                self._on_broken(hello.node, reason)

    async def _introduced(self, reader: asyncio.StreamReader) -> Hello:
        try:
            async with asyncio.timeout(HELLO_S):
                hello = await read_frame(reader, HELLO_S)
        except TimeoutError:
            raise BadFrame("no hello in time") from None
        if not isinstance(hello, Hello):
            raise BadFrame("no hello")
        if hello.cluster != self._cluster:
            raise BadFrame("hello from another cluster")
        if hello.node == self._me:
            raise BadFrame(f"hello under my own id {self._me}: two nodes share it")
        if hello.node not in self._others:
            raise BadFrame("hello from a stranger")
        present = self._callers.get(hello.node)
        if present is not None and present.hello.process != hello.process:
            silent_ms = now_ms() - self._heard_at[hello.node]
            if silent_ms < self._live_ms and not present.writer.transport.is_closing():
                raise BadFrame(f"hello from a second node {hello.node} while the first is live")
        return hello

    def _admit(self, hello: Hello, writer: asyncio.StreamWriter) -> None:
        """From here on only this connection speaks for its node."""
        present = self._callers.pop(hello.node, None)
        if present is not None:
            present.writer.transport.abort()
        self._callers[hello.node] = Caller(hello, writer)
        self._heard_at[hello.node] = now_ms()
        self._say(writer, Welcome())
        self._on_hello(hello)

    async def _listen(
        self, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            frame = await read_frame(reader, FRAME_S)
            if not self._is_current(hello, writer):
                return
            if not isinstance(frame, Beat | Letter):
                raise BadFrame("unexpected frame")
            self._heard_at[hello.node] = now_ms()
            self._on_frame(hello, frame)

    def _is_current(self, hello: Hello, writer: asyncio.StreamWriter) -> bool:
        present = self._callers.get(hello.node)
        return present is not None and present.writer is writer

    @staticmethod
    def _say(writer: asyncio.StreamWriter, frame: Frame) -> None:
        if not writer.transport.is_closing():
            writer.write(pack(frame))
