"""What a node knows of members: their names, where they are, and by which memory each is known.

A member is a memory, not a name. Its promises are kept in its data folder: a node that has lost its
folder, or another one that was given its name, has made none of them. So members have the numbers
of their memories, and several of them may have had one name, one after the other.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from msgspec.structs import replace

from electorate.core import Message, NodeId, Value
from electorate.protocols.mandate.state import Roster

Numbers = Literal["plain", "digests"]
NUMBERS_MAX = 10_000
"""Numbers that are remembered; anybody may ask for more."""


@lru_cache(NUMBERS_MAX)
def digest(text: str) -> NodeId:
    """The same number everywhere, from 1 to 2^31-1."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1 or 1


def number_of(name: str, store: str, numbers: Numbers) -> NodeId:
    """The number of a member: of its name if it is a founder, else of its name and its memory."""
    plain = store or name
    if numbers == "digests" or not (plain.isascii() and plain.isdecimal()):
        return digest(f"{name} {store}" if store else name)
    return int(plain[:9])


def name_at(place: str) -> str:
    """The name in `name@address`."""
    return place.rpartition("@")[0]


class Acquaintance(Value):
    """A member that this node knows."""

    place: str
    """`name@address`; what an address is like, others know."""
    store: str = ""
    """Its memory; empty until it was met."""
    since: int = 0
    """The token with which it was proposed; 0 if it was there from the beginning."""

    @property
    def name(self) -> str:
        """What people call it."""
        return name_at(self.place)


UNKNOWN = Acquaintance("")
Acquaintances = tuple[tuple[NodeId, Acquaintance], ...]
Memories = tuple[tuple[NodeId, str], ...]
Names = tuple[tuple[str, str], ...]
"""A place for each name."""


class Known(Message):
    """The members that I know: where they are, by which memory, and the latest list I heard of."""

    cluster: str
    nodes: Acquaintances
    roll: Roster
    former: Memories = ()
    """By which memory founders were known that are known no more: their numbers do not show it."""

    @property
    def is_sound(self) -> bool:
        """Whether it can be gone by: it may come from anybody who answers where a member was."""
        return all(node > 0 and known.since >= 0 for node, known in self.nodes)

    def without_memories(self) -> "Known":
        """The same for one that is not let in: who knows a memory could speak for it."""
        nodes = tuple((node, replace(known, store="")) for node, known in self.nodes)
        return replace(self, nodes=nodes, former=())


def spoken(
    known: Mapping[NodeId, Acquaintance], roll: Roster, by: Literal["list", "token"] = "list"
) -> dict[str, NodeId]:
    """Which member is spoken to by each name: one name is one address, so it is one at a time.

    Of several that have a name, it is the one on the latest list; of several on it, or none, the
    one that was proposed last.
    """
    listed = roll.everybody if by == "list" else ()
    ranked = sorted(known, key=lambda node: (node in listed, known[node].since, node))
    return {known[node].name: node for node in ranked}
