"""A connection to a node, held by a test: it says whatever the test wants."""

import contextlib
import socket
from types import TracebackType
from typing import Self

from electorate.runtime.environment import Address
from electorate.runtime.frame import HEADER, Frame, Hello, pack, unpack

PATIENCE_S = 5.0
TCP_REPAIR = 19


class Caller:
    """One end of a connection, with nobody behind it who would know the rules."""

    def __init__(self, address: Address, host: str = "127.0.0.1") -> None:
        self._socket = socket.create_connection(address, PATIENCE_S, (host, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def write(self, data: bytes) -> None:
        """Say these bytes; that the other side has hung up is no surprise."""
        with contextlib.suppress(ConnectionError, TimeoutError):
            self._socket.sendall(data)

    def say(self, frame: Frame) -> None:
        self.write(pack(frame))

    def hear(self) -> Frame | None:
        """The next frame; None if the other side has closed the connection."""
        head = self._exactly(HEADER.size)
        if head is None:
            return None
        body = self._exactly(HEADER.unpack(head)[1])
        return None if body is None else unpack(body)

    def is_closed(self) -> bool:
        """Wait for the other side to hang up; whatever it says before does not matter."""
        try:
            while self._socket.recv(4096):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True

    def vanish(self) -> bool:
        """Close it without a word to the other side, as if that was lost; only root can."""
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        except OSError:
            return False
        self._socket.close()
        return True

    def _exactly(self, count: int) -> bytes | None:
        data = b""
        while len(data) < count:
            try:
                more = self._socket.recv(count - len(data))
            except ConnectionError:
                return None
            if not more:
                return None
            data += more
        return data


def hello(cluster: str, node: int, to: int, **changed: object) -> Hello:
    """A hello that would be let in."""
    fields = {"store": "s", "incarnation": 1, "process": "p", "sent": 0, **changed}
    return Hello(cluster, node, to, **fields)  # type: ignore[arg-type]
