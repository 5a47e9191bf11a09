"""Who is who, when another node has been put in the place of one."""

from pathlib import Path

from electorate.core import NodeId
from electorate.leadership.members.directory import Acquaintance, Directory
from electorate.leadership.members.place import Place
from electorate.net.link import Address
from electorate.net.store import Store


class Met:
    """A network that only remembers whom it was told to connect to."""

    def __init__(self) -> None:
        self.nodes: list[NodeId] = []

    def join(self, cluster: str) -> None: ...

    def meet(self, node: NodeId, address: Address, name: str) -> None:
        self.nodes.append(node)

    def part(self, node: NodeId) -> None: ...


def test_another_memory_at_the_same_address_is_met_anew(tmp_path: Path) -> None:
    """What is connected may still be the one before it, whose votes do not count any more."""
    a, b = Place.of("a@localhost:1"), Place.of("b@localhost:2")
    directory, met = Directory(a, {a.id: a, b.id: b}, "", joins=False), Met()
    directory.begin(Store(tmp_path, a.id), met)
    directory.learn({b.id: Acquaintance(str(b), "old", since=1)})
    directory.learn({b.id: Acquaintance(str(b), "new", since=2)})
    directory.learn({b.id: Acquaintance(str(b), "new", since=3)})
    assert met.nodes == [b.id, b.id]
