"""Who is who: where the other nodes are, and by which memory each of them is known.

Who has a vote is another matter: that is for the register to say.
"""

import hashlib
import logging
from typing import Protocol

import msgspec
from msgspec.structs import replace

from electorate.core import NodeId
from electorate.leadership.members.place import Place
from electorate.net.frame import Hello
from electorate.net.link import Address
from electorate.net.store import Store

RECORD = "directory"

log = logging.getLogger("electorate")


class Acquaintance(msgspec.Struct, frozen=True, array_like=True):
    """A node that this one knows."""

    place: str
    store: str = ""
    """By which memory it is known; empty until it was met."""
    since: int = 0
    """The term of the register in which it was proposed; 0 if it was there from the beginning."""


UNKNOWN = Acquaintance("")
Acquaintances = dict[NodeId, Acquaintance]


class Record(msgspec.Struct, frozen=True):
    """What is kept on disk."""

    cluster: str
    founders: list[NodeId]
    known: Acquaintances


class Net(Protocol):
    """What is needed of the network."""

    def join(self, cluster: str) -> None:
        """Belong to this cluster from now on."""

    def meet(self, node: NodeId, address: Address, name: str) -> None:
        """Connect to this node too, and let it in; also if it has moved."""

    def part(self, node: NodeId) -> None:
        """Have nothing to do with this node any more."""


class Directory:
    """Every node that this one knows, itself included."""

    def __init__(
        self, me: Place, founders: dict[NodeId, Place], agreed: str, *, joins: bool
    ) -> None:
        self.me = me
        self.strangers: set[NodeId] = set()
        """Nodes that have come back without the memory that they are known by."""
        self._newcomers: set[NodeId] = set()
        """Nodes whose memory is learnt from themselves: others may know them by an earlier one."""
        self._founders = sorted(founders)
        listed = {**founders, me.id: me}
        self._known = {node: Acquaintance(str(place)) for node, place in listed.items()}
        self._agreed = agreed
        self._cluster = "" if joins else _identity(founders)

    def begin(self, store: Store, net: Net) -> None:
        """Go by what was written down; how it was started counts only the first time."""
        self._store, self._net = store, net
        stored = store.load(RECORD)
        if stored is not None:
            record = msgspec.msgpack.decode(stored, type=Record)
            self._cluster, self._founders = record.cluster, record.founders
            self._recall(record.known)
        self._known[self.me.id] = replace(self._known[self.me.id], store=store.identity)
        if stored is None and self._cluster:
            self._save()
        net.join(self._spoken)

    def _recall(self, known: Acquaintances) -> None:
        """Know them again; who has moved is where this node was told when it was started."""
        listed, self._known = self._known, known
        for node in listed.keys() - known.keys():
            self._net.part(node)
        for node, acquaintance in known.items():
            if node in listed:
                self._known[node] = replace(acquaintance, place=listed[node].place)
            else:
                self._meet(Place.of(acquaintance.place))

    @property
    def founders(self) -> tuple[NodeId, ...]:
        """The first members of the cluster."""
        return tuple(self._founders)

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """Every node, in order."""
        return tuple(sorted(self._known))

    def name(self, node: NodeId) -> str:
        """What people call a node."""
        known = self._known.get(node)
        return str(node) if known is None else known.place.partition("@")[0]

    def told(self) -> Acquaintances:
        """All that another node may want to know."""
        return dict(self._known)

    def memory(self, node: NodeId) -> tuple[str, int]:
        """By which memory a node is known, and since which term of the register."""
        known = self._known.get(node, UNKNOWN)
        return known.store, known.since

    def has_met(self, node: NodeId) -> bool:
        """Whether that node has ever connected."""
        return bool(self._known[node].store) and node not in self.strangers

    def expect_no_clash(self, place: Place) -> None:
        """ValueError if a newcomer would be taken for somebody else."""
        for node, known in self._known.items():
            other = Place.of(known.place)
            if node == place.id and other.name != place.name:
                raise ValueError(f"{other.name!r} and {place.name!r} clash: rename one of them")
            if node != place.id and other.address == place.address:
                raise ValueError(f"{other} has that address already")

    def meet(self, place: Place) -> None:
        """Get to know a node that is to become a member; nothing of that is kept."""
        if place.id not in self._known:
            self._known[place.id] = Acquaintance(str(place))
            self._newcomers.add(place.id)
            self._meet(place)

    def propose(self, node: NodeId, token: int) -> Acquaintances:
        """What others have to know about a newcomer, before they are asked to vote on it."""
        self._known[node] = replace(self._known[node], since=token)
        self._save()
        return {node: self._known[node]}

    def learn(self, told: Acquaintances) -> None:
        """Another node tells whom it knows."""
        before = dict(self._known)
        for node, known in told.items():
            self._learn(node, known)
        if self._known != before and self._cluster:
            self._save()

    def recognise(self, hello: Hello) -> bool:
        """Whether it is the node that has promised what it has promised."""
        if not self._cluster:
            self._join(hello)
        known = self._known[hello.node]
        if not known.store:
            self._known[hello.node] = replace(known, store=hello.store)
            self._save()
        elif known.store != hello.store:
            if hello.node not in self.strangers:
                self.strangers.add(hello.node)
                told = "%s has lost its memory: its votes do not count until it is replaced"
                log.error(told, self.name(hello.node))
            return False
        self.strangers.discard(hello.node)
        return True

    def forget_all_but(self, nodes: set[NodeId]) -> None:
        """Have nothing to do any more with those that are not among these."""
        gone = self._known.keys() - nodes - {self.me.id}
        for node in gone:
            self._part(node)
        if gone:
            self._save()

    def _learn(self, node: NodeId, told: Acquaintance) -> None:
        mine = self._known.get(node)
        if node == self.me.id and mine is not None:
            if told.store == mine.store and told.since > mine.since:
                self._known[node] = replace(mine, since=told.since)
        elif mine is None or told.since > mine.since:
            self._known[node] = told
            self.strangers.discard(node)
            if mine is None or (mine.place, mine.store) != (told.place, told.store):
                self._meet(Place.of(told.place))
        elif told.since == mine.since and not mine.store and node not in self._newcomers:
            self._known[node] = replace(mine, store=told.store)

    def _join(self, hello: Hello) -> None:
        """A member has connected: so this is the cluster that this node is to join."""
        self._cluster, _, agreed = hello.cluster.partition("/")
        if agreed != self._agreed:
            name = self.name(hello.node)
            raise ClusterMismatch(f"{name} goes by {agreed}, but {self.me.name} by {self._agreed}")
        self._net.join(self._spoken)
        self._save()

    @property
    def _spoken(self) -> str:
        """What nodes must have in common to talk to one another; empty while it is not known."""
        return f"{self._cluster}/{self._agreed}" if self._cluster else ""

    def _meet(self, place: Place) -> None:
        self._net.meet(place.id, place.address, place.name)

    def _part(self, node: NodeId) -> None:
        self._known.pop(node, None)
        self._newcomers.discard(node)
        self.strangers.discard(node)
        self._net.part(node)

    def _save(self) -> None:
        record = Record(self._cluster, self._founders, self._known)
        self._store.save({RECORD: msgspec.msgpack.encode(record)})


class ClusterMismatch(Exception):
    """This node was started otherwise than those that it is to join."""


def _identity(founders: dict[NodeId, Place]) -> str:
    """What nodes have in common that were started together."""
    names = sorted(place.name for place in founders.values())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
