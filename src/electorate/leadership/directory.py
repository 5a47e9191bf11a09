"""Who is who: which members this node knows, where they are, and what they are called.

A member is a memory, not a name. Its promises are kept in its data folder: a node that has lost its
folder, or another one that was given its name, has made none of them. So elections know members by
the numbers of their memories, and a node that joins gets one of its own, whatever it is called. The
network knows nodes by the numbers of their names: see `Lines`.

Who has a vote is another matter: that is for the register to say. The roll that is kept here only
tells which of several members of one name to speak to.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from electorate.core import NodeId
from electorate.errors import ClusterMismatch, StoreError
from electorate.protocols.mandate.state import Roster
from electorate.runtime.environment import Address
from electorate.runtime.frame import Hello
from electorate.runtime.store import Store

RECORD = "directory"
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,62}")
LOST = "%s has lost its memory: its votes do not count until it is replaced"
ANOTHER = (
    "{} is known here by another data folder; for this node to take its place, empty its folder, "
    "start it with join=True, and have a member replace {}"
)

log = logging.getLogger("electorate")


class Place(NamedTuple):
    """A member, `scheduler-1@10.0.0.1:7400`: its name, its number for machines, its address."""

    name: str
    id: NodeId
    address: Address

    @classmethod
    def of(cls, text: str) -> "Place":
        """Read `name@host:port`."""
        if not isinstance(text, str):
            raise TypeError(f"a member is name@host:port, not {text!r}")
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
    if not found:
        raise ValueError("the list of members is empty: name all of them, each as name@host:port")
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


class Lines:
    """One line for every name. Of several members that have it, the one on the latest list speaks.

    Of several on it, or none, it is the one that was proposed last.
    """

    def __init__(self, me: Place, known: Acquaintances) -> None:
        self.awaited: dict[NodeId, Place] = {}
        """Where newcomers should be; whoever answers there is let in."""
        self.newcomers: dict[NodeId, NodeId] = {}
        """Who has answered there."""
        self._me = me
        self._known = known
        self.speakers = {node: node for node in known}
        """Which member is reached on each line."""
        self.routes = {node: node for node in known}
        """The same the other way round: every letter needs it."""
        self._connected = {node: (_place(known, node).address, node) for node in known}

    def begin(self, number: NodeId, net: Net, members: tuple[NodeId, ...]) -> None:
        """Connect to all who are known; this node is known by that number."""
        self._number, self._net = number, net
        self.arrange(members)

    def of(self, node: NodeId) -> NodeId | None:
        """Where a member is to be reached; None if another one has its name by now."""
        return self.routes.get(node)

    def speaker(self, line: NodeId) -> NodeId | None:
        """Which member is reached there."""
        return self.speakers.get(line)

    def called(self, line: NodeId) -> str:
        """What people call whoever is there."""
        places = [Place.of(known.place) for known in self._known.values()]
        names = {place.id: place.name for place in [*places, *self.awaited.values()]}
        return names.get(line, str(line))

    def take(self, line: NodeId, member: NodeId) -> None:
        """It is this one that has connected there."""
        if line in self.awaited:
            self.newcomers[line] = member
        self._set_speakers({**self.speakers, line: member})
        self._connected[line] = (_place(self._known, member).address, member)

    def arrange(self, members: tuple[NodeId, ...]) -> None:
        """Connect to whoever speaks on each line, and to newcomers; part with all others."""
        known = self._known
        ranked = sorted(known, key=lambda node: (node in members, known[node].since, node))
        speakers = {known[node].line: node for node in ranked}
        speakers |= self.newcomers | {self._me.id: self._number}
        places = {line: _place(known, node) for line, node in speakers.items()} | self.awaited
        unknown = self.awaited.keys() - self.newcomers.keys()
        self._set_speakers({line: speakers[line] for line in speakers.keys() - unknown})
        for line in self._connected.keys() - places.keys():
            del self._connected[line]
            self._net.part(line)
        for line in places.keys() - {self._me.id}:
            self._connect(line, places[line])

    def _set_speakers(self, speakers: dict[NodeId, NodeId]) -> None:
        # The host holds on to both of them.
        for held, new in (
            (self.speakers, speakers),
            (self.routes, {node: line for line, node in speakers.items()}),
        ):
            held.clear()
            held.update(new)

    def _connect(self, line: NodeId, place: Place) -> None:
        """Anew if it is another member than before: the old one must not be taken for it."""
        end = place.address, self.speakers.get(line, 0)
        if self._connected.get(line) != end:
            self._connected[line] = end
            self._net.meet(line, place.address, place.name)


def _place(known: Acquaintances, node: NodeId) -> Place:
    return Place.of(known[node].place)


class Directory:
    """Every member that this node knows, itself included."""

    def __init__(
        self, me: Place, founders: dict[NodeId, Place], agreed: str, *, joins: bool
    ) -> None:
        self.me = me
        self.joins = joins
        self.number = me.id
        """By which elections know this node, once it has begun."""
        self._founders = sorted(founders)
        self._listed = {**founders, me.id: me}
        self.known = {node: Acquaintance(str(place)) for node, place in self._listed.items()}
        self.lines = Lines(me, self.known)
        self._agreed = agreed
        self._cluster = "" if joins else identity(founders)
        self.roll = Roster() if joins else Roster(old=self.founders, new=self.founders)
        """The newest list that anybody has told of."""
        self._former: Memories = {}
        self._own = Roster()
        """The list of this node's register."""
        self._is_settled = not joins
        """Whether it has a part in its cluster: before that it may join another one."""

    def begin(self, store: Store, net: Net) -> None:
        """Go by what was written down; how it was started counts only the first time."""
        self._store, self._net = store, net
        stored = store.load(RECORD)
        if stored is not None:
            self._recall(Record.read(stored))
        self._begin_as(store.identity)
        net.introduction = self.introduction
        self.lines.begin(self.number, net, self.roll.everybody)
        self._save()
        net.join(self._spoken)

    def _recall(self, record: Record) -> None:
        """Know them again; whoever is said to be elsewhere than at the last start has moved."""
        self._founders = record.founders
        self._is_settled = bool(record.cluster)
        if not self._is_settled:
            return
        self._cluster, self.roll, self._former = record.cluster, record.roll, record.former
        listed, lines = self._listed, {known.line for known in record.known.values()}
        for node in self.known.keys() & lines:
            del self.known[node]
        for node, known in record.known.items():
            place = str(listed.get(known.line, known.place))
            has_moved = record.listed.get(known.line, known.place) != place
            self.known[node] = replace(known, place=place) if has_moved else known

    def _begin_as(self, store: str) -> None:
        """Who joins has made no promise under its name, whoever else has."""
        if self.me.id not in self._founders:
            self.number = number(f"{self.me.name} {store}")
            if not self._is_settled:
                del self.known[self.me.id]
        since = self.known.get(self.number, UNKNOWN).since
        self.known[self.number] = Acquaintance(str(self.me), store, since)

    # --- who there is ---

    @property
    def founders(self) -> tuple[NodeId, ...]:
        """The first members of the cluster."""
        return tuple(self._founders)

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """Every member, in order."""
        return tuple(sorted(self.known))

    def name(self, node: NodeId) -> str:
        """What people call a member."""
        known = self.known.get(node)
        return str(node) if known is None else known.place.partition("@")[0]

    def memory(self, node: NodeId) -> tuple[str, int]:
        """The memory of a member, and since which term of the register it is known."""
        known = self.known.get(node, UNKNOWN)
        return known.store or self._former.get(node, ""), known.since

    def introduction(self, line: NodeId) -> tuple[NodeId, NodeId]:
        """Which member this node is, and for which one it takes the other; 0 if it has not met."""
        other = self.lines.speaker(line)
        return self.number, other if other is not None and self.known[other].store else 0

    def is_sure_of(self, speaker: NodeId | None) -> bool:
        """Whether nobody else can be who speaks under that name.

        Of those who were only listed no more than the name is known, and who is no member itself
        may have missed that others were replaced. Nobody gets a vote by that.
        """
        is_met = speaker in self.roll.everybody or self.memory(speaker or 0)[0]
        return bool(is_met) and self.number in self.roll.everybody

    # --- who comes and goes ---

    def expect_no_clash(self, place: Place) -> None:
        """ValueError if a newcomer would be taken for somebody else."""
        for known in list(self.known.values()):  # It may be asked by any thread.
            other = Place.of(known.place)
            if other.id == place.id and other.name != place.name:
                raise ValueError(f"{other.name!r} and {place.name!r} clash: rename one of them")
            if other.id != place.id and other.address == place.address:
                raise ValueError(f"{other} has that address already")

    def await_newcomer(self, place: Place) -> None:
        """Get to know a node that is to become a member, or has moved."""
        self.lines.awaited[place.id] = place
        self.lines.newcomers.pop(place.id, None)
        self._arrange()

    def await_no_more(self, place: Place, roster: Roster) -> None:
        """It has become a member, or not: then nothing is left of it."""
        self.lines.awaited.pop(place.id, None)
        node = self.lines.newcomers.pop(place.id, None)
        if node is not None and node not in roster.everybody:
            self.known.pop(node, None)
        self._arrange()
        self._save()

    def newcomer(self, place: Place) -> NodeId | None:
        """Who has answered there, if somebody has."""
        return self.lines.newcomers.get(place.id)

    def propose(self, node: NodeId, token: int) -> None:
        """Have others learn where it is, and who: before they are asked to vote on it."""
        self.known[node] = replace(self.known[node], since=token)
        self._save()

    def told(self) -> Known:
        """All that another node may want to know."""
        unsure = {node for node in self.lines.newcomers.values() if not self.memory(node)[1]}
        nodes = {node: known for node, known in self.known.items() if node not in unsure}
        return Known(self._cluster, nodes, self.roll, self._former)

    def is_of_one_cluster(self, told: Known) -> bool:
        """Whether this may be said by a member of the cluster that this node belongs to."""
        return told.cluster == self._cluster and told.is_sound

    def learn(self, told: Known) -> None:
        """Another node tells whom it knows."""
        if not self.is_of_one_cluster(told):
            return
        before = dict(self.known), self.roll, self._former
        self._former = told.former | self._former
        if told.roll.replaces(self.roll):
            self.roll = told.roll
        for node, known in told.nodes.items():
            self._learn(node, known)
        if (self.known, self.roll, self._former) != before:
            self._arrange()
            self._save()

    def _learn(self, node: NodeId, told: Acquaintance) -> None:
        mine = self.known.get(node)
        if mine is None:
            # Who is on no list any more, and about to be on none, is better forgotten.
            listed = {*self.roll.everybody, *self._own.everybody}
            if node in listed or told.since > self._own.version[0]:
                self.known[node] = replace(told, store=self.memory(node)[0] or told.store)
        elif told.since > mine.since:
            place = mine.place if node == self.number else told.place
            self.known[node] = Acquaintance(place, mine.store or told.store, told.since)
        elif told.since == mine.since and not mine.store:
            self.known[node] = replace(mine, store=told.store)

    def go_by(self, roster: Roster) -> None:
        """This is the list of the register by now."""
        self._own = roster
        if roster.replaces(self.roll):
            self.roll = roster
            self._arrange()
            self._save()

    def meet(self, line: NodeId, member: NodeId, store: str) -> None:
        """It is this one that speaks under a name."""
        speaker, awaited = self.lines.speaker(line), self.lines.awaited.get(line)
        before = self.known.get(member if speaker is None else speaker, UNKNOWN)
        if speaker not in (None, member):
            self._forget(speaker or 0)
        place = before.place if awaited is None else str(awaited)
        self.known[member] = replace(before, place=place, store=store)
        self.lines.take(line, member)
        if awaited is None and not before.store:
            self._save()

    def forget(self, nodes: set[NodeId]) -> None:
        """Have nothing to do with these any more."""
        for node in (nodes & self.known.keys()) - {self.number}:
            self._forget(node)
        self._arrange()
        self._save()

    def _forget(self, node: NodeId) -> None:
        """But not by which memory a founder was known: under its number no other may come back."""
        known = self.known.pop(node, UNKNOWN)
        if known.store and known.line == node:
            self._former = {node: known.store} | self._former

    def join(self, spoken: str, name: str) -> None:
        """A member has connected: if this node is to join, that is its cluster."""
        if self._cluster:
            return
        self._cluster, _, agreed = spoken.partition("/")
        if agreed != self._agreed:
            raise ClusterMismatch(f"{name} goes by {agreed}, but {self.me.name} by {self._agreed}")
        self._net.join(self._spoken)

    @property
    def _spoken(self) -> str:
        """What nodes must have in common to talk to one another; empty while it is not known."""
        return f"{self._cluster}/{self._agreed}" if self._cluster else ""

    def _arrange(self) -> None:
        self.lines.arrange(self.roll.everybody)

    def settle(self) -> None:
        """Something is about to be kept that others rely on: from now on this is its cluster."""
        if self._cluster and not self._is_settled:
            self._is_settled = True
            self._save()

    def _save(self) -> None:
        cluster = self._cluster if self._is_settled else ""
        listed = {line: str(place) for line, place in self._listed.items()}
        record = Record(cluster, self._founders, self.known, self.roll, listed, self._former)
        self._store.save({RECORD: msgspec.msgpack.encode(record)})


class Door:
    """Lets in whoever has promised what it is known to have promised, and nobody in its place."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._doubted: set[str] = set()

    def begin(self, net: Net) -> None:
        """The network knows who answers where."""
        self._net = net

    def objection(self, hello: Hello) -> str:
        """Why a node is not to be let in; empty if it is."""
        directory, lines = self._directory, self._directory.lines
        line, member, speaker = hello.node, hello.member, lines.speaker(hello.node)
        name = lines.called(line)
        if hello.meant not in (0, directory.number):
            return f"{name} takes {directory.me.name} for one with another data folder"
        known = directory.known.get(member)
        if known is not None and known.line != line:
            return f"{directory.name(member)} and {name} clash: rename one of them"
        if line in lines.awaited and speaker is None:
            is_known = self._net.answers(line, member) and self._has_its_memory(hello)
        elif speaker == member:
            is_known = self._has_its_memory(hello)
        else:
            is_known = line not in lines.awaited and not directory.is_sure_of(speaker)
        return "" if is_known else ANOTHER.format(name, name)

    def recognise(self, hello: Hello) -> None:
        """A node was let in."""
        directory = self._directory
        directory.join(hello.cluster, directory.lines.called(hello.node))
        directory.meet(hello.node, hello.member, hello.store)

    def _has_its_memory(self, hello: Hello) -> bool:
        """Whether it is the memory that is known. Who has joined has a number that shows it."""
        known, _ = self._directory.memory(hello.member)
        name = self._directory.lines.called(hello.node)
        if hello.member != hello.node and hello.member != number(f"{name} {hello.store}"):
            return False
        if known in ("", hello.store):
            return True
        if hello.store not in self._doubted:
            self._doubted.add(hello.store)
            log.error(LOST, name)
        return False
