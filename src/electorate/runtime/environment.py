"""What a host lives on, behind four small ports: a network, a clock, a disk and chance.

A host learns the time, opens connections and files, and draws random numbers through these ports
only. So the same host runs on a real machine (`real` in tcp.py) and on a simulated one
(`electorate.testing`), where a seed decides times, delays and faults.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from electorate.core import NodeId
from electorate.runtime.identity import Identity
from electorate.runtime.store import Store

Address = tuple[str, int]


class Stream(ABC):
    """One end of a connection: its bytes arrive in order and unaltered, or not at all."""

    address: str = ""
    """Where the other end is, as the network says."""
    proven: Identity | None = None
    """Who is at the other end, once that is proven; None for ever where nobody proves anything."""

    @abstractmethod
    async def authenticate(self) -> None:
        """Have both sides prove who they are; NotAuthenticated, or OSError, if that fails.

        It comes before everything else that is read or written.
        """

    @abstractmethod
    async def read(self) -> bytes:
        """The next bytes; none once the other side has ended it; OSError if it is broken."""

    @abstractmethod
    def write(self, data: bytes) -> bool:
        """Send these bytes after those before; nothing happens once it is closed.

        Returns whether the system has taken everything that was written so far.
        """

    @abstractmethod
    async def drain(self) -> None:
        """Wait until the system has taken everything."""

    @property
    @abstractmethod
    def is_closing(self) -> bool:
        """Whether this side has closed it, or it is broken."""

    @abstractmethod
    def close(self) -> None:
        """End it once everything that was written has left."""

    @abstractmethod
    def drop(self) -> None:
        """End it now. The other side reads to the end of what has left, as from a dead process."""

    @abstractmethod
    def reset(self) -> None:
        """Break it now, so that the other side does not take it for the end of this process."""


class Listening(ABC):
    """An address at which connections are accepted."""

    @abstractmethod
    async def close(self) -> None:
        """Accept no more connections; those that were accepted stay open."""


class Transport(ABC):
    """Connections to and from other hosts."""

    @abstractmethod
    async def connect(self, address: Address, fresh_ms: float) -> Stream:
        """Connect; OSError if that fails.

        A connection breaks if what was written is not known to have arrived after `fresh_ms`.
        """

    @abstractmethod
    async def listen(
        self,
        address: Address,
        accept: Callable[[Stream], None],
        admits: Callable[[str], bool] = lambda address: True,
    ) -> Listening:
        """Accept connections from now on; OSError if the address cannot be used.

        A connection from an address that `admits` turns down is closed before it costs anything.
        """


@dataclass(frozen=True)
class Environment:
    """The four ports of one host."""

    transport: Transport
    now_ms: Callable[[], float]
    """Milliseconds since some fixed time in the past. It never goes back."""
    chance: Callable[[str], random.Random]
    """A source of random numbers of its own for each purpose."""
    open_store: Callable[[Path, NodeId], Store]
    """Opens what a node has saved in this folder; StoreError if that is not possible."""
    wall_ms: Callable[[], float]
    """The time of day in milliseconds. It may be set at any moment, and only hints at something."""
