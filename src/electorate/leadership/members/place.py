"""Where members are, and by which number machines know them: `scheduler-1@10.0.0.1:7400`."""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from electorate.core import NodeId
from electorate.runtime.environment import Address

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,62}")


class Place(NamedTuple):
    """A member: its name, its number, its address."""

    name: str
    id: NodeId
    address: Address

    @classmethod
    def of(cls, text: str) -> "Place":
        """Read `name@host:port`."""
        name, at, where = text.rpartition("@")
        host, colon, port = where.rpartition(":")
        if not (at and colon and host and port.isdecimal() and 1 <= int(port) <= 65535):
            raise ValueError(f"a member is name@host:port, not {text!r}")
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name: use letters, digits, '.', '_' and '-'")
        return cls(name, number(name), (host.strip("[]"), int(port)))

    def __str__(self) -> str:
        host, port = self.address
        return f"{self.name}@[{host}]:{port}" if ":" in host else f"{self.name}@{host}:{port}"


def number(name: str) -> NodeId:
    """The number of a name: the same everywhere, whoever else is a member."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1 or 1


def named(me: str, found: dict[NodeId, Place]) -> Place:
    """This node among the members: by its name, or as it is listed."""
    name = me.rpartition("@")[0] or me
    for place in found.values():
        if place.name == name:
            return place
    told = ", ".join(sorted(place.name for place in found.values()))
    raise ValueError(f"{name!r} is no member; the members are {told}")


def places(texts: Iterable[str]) -> dict[NodeId, Place]:
    """All members by their numbers."""
    found: dict[NodeId, Place] = {}
    for place in map(Place.of, texts):
        other = found.setdefault(place.id, place)
        if other.name != place.name:
            raise ValueError(f"{other.name!r} and {place.name!r} clash: rename one of them")
        if other != place:
            raise ValueError(f"{place.name!r} is listed twice, at different addresses")
    where = [place.address for place in found.values()]
    if len(set(where)) < len(where):
        raise ValueError("two members have the same address")
    return found
