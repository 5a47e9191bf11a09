"""What is known of members: what nodes tell each other about that, and what is kept."""

import hashlib
from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec.structs import replace

from electorate.core import NodeId
from electorate.errors import StoreError
from electorate.leadership.members.place import Place
from electorate.protocols.mandate.roster import Roster
from electorate.runtime.environment import Address


class Acquaintance(msgspec.Struct, frozen=True, array_like=True):
    """A member that this node knows."""

    place: str
    store: str = ""
    """Its memory; empty until it was met."""
    since: int = 0
    """The term of the register in which it was proposed; 0 if it was there from the beginning."""

    @property
    def line(self) -> NodeId:
        """The number of its name, by which the network knows it."""
        return Place.of(self.place).id


UNKNOWN = Acquaintance("")
Acquaintances = dict[NodeId, Acquaintance]
Memories = dict[NodeId, str]
"""By which memory founders were known that are known no more: their numbers do not show it."""


class Known(msgspec.Struct, frozen=True, tag=True):
    """The members that I know: where they are, by which memory, and the latest list I heard of."""

    cluster: str
    nodes: Acquaintances
    roll: Roster
    former: Memories = msgspec.field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether it can be gone by: it may come from anybody who answers where a member was."""
        try:
            for node, known in self.nodes.items():
                Place.of(known.place)
                if node <= 0 or known.since < 0:
                    return False
        except ValueError:
            return False
        return True

    def without_memories(self) -> "Known":
        """The same for one that is not let in: who knows a memory could speak for it."""
        nodes = {node: replace(known, store="") for node, known in self.nodes.items()}
        return replace(self, nodes=nodes, former={})


class Record(msgspec.Struct, frozen=True):
    """What is kept on disk."""

    cluster: str
    founders: list[NodeId]
    known: Acquaintances
    roll: Roster
    listed: dict[NodeId, str]
    """Where the others were said to be when this node was started last."""
    former: Memories = msgspec.field(default_factory=dict)

    @classmethod
    def read(cls, stored: bytes) -> "Record":
        """The record in these bytes; StoreError if there is none."""
        try:
            return msgspec.msgpack.decode(stored, type=cls)
        except msgspec.DecodeError as error:
            raise StoreError(f"what is known of the members cannot be read: {error}") from None


class Net(Protocol):
    """What is needed of the network."""

    introduction: Callable[[NodeId], tuple[NodeId, NodeId]]
    """Which member this node is, and for which one it takes the node on a line."""

    def join(self, cluster: str) -> None:
        """Belong to this cluster from now on."""

    def meet(self, node: NodeId, address: Address, name: str) -> None:
        """Connect to this node too, and let it in; also if it has moved."""

    def part(self, node: NodeId) -> None:
        """Have nothing to do with this node any more."""

    def answers(self, node: NodeId, member: NodeId) -> bool:
        """Whether it is this member that is found where that node should be."""


def identity(founders: dict[NodeId, Place]) -> str:
    """What nodes have in common that were started together."""
    names = sorted(place.name for place in founders.values())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
