"""What else may live in a node, beside its election: it shares the network and the store."""

from collections.abc import Callable
from typing import Any, NamedTuple

from electorate.core import NodeId
from electorate.runtime.frame import Hello
from electorate.runtime.network import Network
from electorate.runtime.store import Store


class Host(NamedTuple):
    """What a node offers to its guest."""

    me: NodeId
    network: Network
    store: Store
    enter: Callable[..., None]
    """Has something done as the node does its own things: what it raises ends the node."""


class Guest:
    """It is called in the node's loop only. What a guest has no use for it leaves as it is here."""

    def begin(self, host: Host) -> None:
        """The node is about to listen."""

    def moment(self, act: Callable[..., object], *given: Any) -> None:
        """Do something of the node's: whatever is done in it is done in here."""
        act(*given)

    def lives(self, alive: frozenset[NodeId]) -> None:
        """A life of the node begins: the others are within reach as far as they ever are."""

    def viewed(self, alive: frozenset[NodeId]) -> None:
        """Other nodes are suspect than before."""

    def objection(self, hello: Hello) -> str:
        """Why another node is not to be let in; empty if it is."""
        return ""

    def news(self) -> bytes:
        """What such a node may want to know."""
        return b""

    def refused(self, news: bytes) -> None:
        """A node that has not let in this one has told that."""

    def met(self, hello: Hello) -> None:
        """Another node has connected."""

    def closed(self, node: NodeId) -> None:
        """The connection of another node came to its end, and that is believed to be its own."""

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing goes on here that others rely on."""
        return True

    def decode(self, body: bytes) -> Any:
        """The message in a letter to the guest; any error if it cannot be read."""
        return body

    def read(self, hello: Hello, message: Any) -> None:
        """A letter to the guest has come."""

    async def end(self) -> None:
        """The node has ended: nothing is sent or saved any more."""
