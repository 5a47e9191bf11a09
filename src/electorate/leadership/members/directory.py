"""Who is who: which members this node knows, where they are, and what they are called.

A member is a memory, not a name. Its promises are kept in its data folder: a node that has lost its
folder, or another one that was given its name, has made none of them. So elections know members by
the numbers of their memories, and a node that joins gets one of its own, whatever it is called. The
network knows nodes by the numbers of their names: see `Lines`.

Who has a vote is another matter: that is for the register to say.
"""

import logging

import msgspec
from msgspec.structs import replace

from electorate.core import NodeId
from electorate.leadership.members.acquaintance import (
    UNKNOWN,
    Acquaintance,
    Acquaintances,
    ClusterMismatch,
    Net,
    Record,
    identity,
)
from electorate.leadership.members.lines import Lines
from electorate.leadership.members.place import Place, number
from electorate.net.frame import Hello
from electorate.net.store import Store, StoreError

RECORD = "directory"
LOST = "%s has lost its memory: its votes do not count until it is replaced"
ANOTHER = (
    "{} is known here by another data folder: if that is lost, start it with join=True, "
    "and have another member replace it"
)

log = logging.getLogger("electorate")


class Directory:
    """Every member that this node knows, itself included."""

    def __init__(
        self, me: Place, founders: dict[NodeId, Place], agreed: str, *, joins: bool
    ) -> None:
        self.me = me
        self.number = me.id
        """By which elections know this node, once it has begun."""
        self._founders = sorted(founders)
        self._listed = {**founders, me.id: me}
        self._known = {node: Acquaintance(str(place)) for node, place in self._listed.items()}
        self.lines = Lines(me, self._known)
        self._doubted: set[str] = set()
        self._agreed = agreed
        self._cluster = "" if joins else identity(founders)

    def begin(self, store: Store, net: Net) -> None:
        """Go by what was written down; how it was started counts only the first time."""
        self._store, self._net = store, net
        stored = store.load(RECORD)
        if stored is None:
            self._begin_as(store.identity, is_first=True)
        else:
            self._recall(_read(stored))
            self._begin_as(store.identity, is_first=False)
        net.introduction = self.introduction
        self.lines.begin(self.number, net)
        if self._cluster:
            self._save()
        net.join(self._spoken)

    def _recall(self, record: Record) -> None:
        """Know them again; whoever is said to be elsewhere than at the last start has moved."""
        self._cluster, self._founders = record.cluster, record.founders
        self._known.clear()
        for node, known in record.known.items():
            place = str(self._listed.get(known.line, known.place))
            has_moved = record.listed.get(known.line, place) != place
            self._known[node] = replace(known, place=place) if has_moved else known

    def _begin_as(self, store: str, *, is_first: bool) -> None:
        """Who joins has made no promise under its name, whoever else has."""
        if self.me.id not in self._founders:
            self.number = number(f"{self.me.name} {store}")
            if is_first:
                del self._known[self.me.id]
        since = self._known.get(self.number, UNKNOWN).since
        self._known[self.number] = Acquaintance(str(self.me), store, since)

    # --- who there is ---

    @property
    def founders(self) -> tuple[NodeId, ...]:
        """The first members of the cluster."""
        return tuple(self._founders)

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """Every member, in order."""
        return tuple(sorted(self._known))

    def name(self, node: NodeId) -> str:
        """What people call a member."""
        known = self._known.get(node)
        return str(node) if known is None else known.place.partition("@")[0]

    def memory(self, node: NodeId) -> tuple[str, int]:
        """The memory of a member, and since which term of the register it is known."""
        known = self._known.get(node, UNKNOWN)
        return known.store, known.since

    def told(self) -> Acquaintances:
        """All that another node may want to know."""
        unsure = {node for node in self.lines.newcomers.values() if not self._known[node].since}
        return {node: known for node, known in self._known.items() if node not in unsure}

    # --- who speaks ---

    def introduction(self, line: NodeId) -> tuple[NodeId, NodeId]:
        """Which member this node is, and for which one it takes the other; 0 if it has not met."""
        other = self.lines.speaker(line)
        return self.number, other if other is not None and self._known[other].store else 0

    def objection(self, hello: Hello) -> str:
        """Why a node is not to be let in; empty if it is the one that has promised what it has."""
        line, member, known = hello.node, hello.member, self._known.get(hello.member)
        name, speaker = self.lines.called(line), self.lines.speaker(line)
        if hello.meant not in (0, self.number):
            return f"{name} takes {self.me.name} for one with another data folder"
        if known is not None and known.line != line:
            return f"{self.name(member)} and {name} clash: rename one of them"
        if line in self.lines.awaited and speaker is None:
            is_known = self._net.answers(line, member)
        elif speaker == member:
            is_known = self._known[member].store in ("", hello.store)
            if not is_known and hello.store not in self._doubted:
                self._doubted.add(hello.store)
                log.error(LOST, name)
        else:
            is_known = self._knows_only_its_name(speaker)
        return "" if is_known else ANOTHER.format(name)

    def recognise(self, hello: Hello) -> None:
        """A node was let in."""
        if not self._cluster:
            self._join(hello)
        line, member = hello.node, hello.member
        speaker, awaited = self.lines.speaker(line), self.lines.awaited.get(line)
        before = self._known.get(member if speaker is None else speaker, UNKNOWN)
        if speaker is not None and speaker != member:
            del self._known[speaker]
        place = before.place if awaited is None else str(awaited)
        self._known[member] = replace(before, place=place, store=hello.store)
        self.lines.take(line, member)
        if awaited is None and not before.store:
            self._save()

    def _knows_only_its_name(self, speaker: NodeId | None) -> bool:
        """Whether this node is to join, and has not met that one: it may have joined, too."""
        is_unmet = speaker is not None and not self._known[speaker].store
        return is_unmet and self.me.id not in self._founders

    # --- who comes and goes ---

    def expect_no_clash(self, place: Place) -> None:
        """ValueError if a newcomer would be taken for somebody else."""
        for known in list(self._known.values()):  # It may be asked by any thread.
            other = Place.of(known.place)
            if other.id == place.id and other.name != place.name:
                raise ValueError(f"{other.name!r} and {place.name!r} clash: rename one of them")
            if other.id != place.id and other.address == place.address:
                raise ValueError(f"{other} has that address already")

    def await_newcomer(self, place: Place) -> None:
        """Get to know a node that is to become a member; nothing of that is kept.

        Who was a member once may come back from elsewhere, and with another memory.
        """
        for node in [node for node, known in self._known.items() if known.line == place.id]:
            del self._known[node]
        self.lines.awaited[place.id] = place
        self.lines.newcomers.pop(place.id, None)
        self.lines.arrange()

    def await_no_more(self, place: Place) -> None:
        """It has become a member, or not."""
        self.lines.awaited.pop(place.id, None)
        node = self.lines.newcomers.pop(place.id, None)
        if node is not None and not self._known[node].since:
            del self._known[node]
        self.lines.arrange()

    def newcomer(self, place: Place) -> NodeId | None:
        """Who has answered there, if somebody has."""
        return self.lines.newcomers.get(place.id)

    def propose(self, node: NodeId, token: int) -> Acquaintances:
        """What others have to know before they are asked to vote on a newcomer."""
        self._known[node] = replace(self._known[node], since=token)
        self._save()
        return self.told()

    def learn(self, told: Acquaintances) -> None:
        """Another node tells whom it knows."""
        before = dict(self._known)
        for node, known in told.items():
            self._learn(node, known)
        if self._known != before:
            self.lines.arrange()
            if self._cluster:
                self._save()

    def _learn(self, node: NodeId, told: Acquaintance) -> None:
        mine = self._known.get(node)
        if mine is None:
            self._known[node] = told
        elif told.since > mine.since:
            place = mine.place if node == self.number else told.place
            self._known[node] = Acquaintance(place, mine.store or told.store, told.since)
        elif told.since == mine.since and not mine.store:
            self._known[node] = replace(mine, store=told.store)

    def forget(self, nodes: set[NodeId]) -> None:
        """Have nothing to do with these any more."""
        for node in (nodes & self._known.keys()) - {self.number}:
            del self._known[node]
        self.lines.arrange()
        self._save()

    def _join(self, hello: Hello) -> None:
        """A member has connected: so this is the cluster that this node is to join."""
        self._cluster, _, agreed = hello.cluster.partition("/")
        if agreed != self._agreed:
            name = self.lines.called(hello.node)
            raise ClusterMismatch(f"{name} goes by {agreed}, but {self.me.name} by {self._agreed}")
        self._net.join(self._spoken)
        self._save()

    @property
    def _spoken(self) -> str:
        """What nodes must have in common to talk to one another; empty while it is not known."""
        return f"{self._cluster}/{self._agreed}" if self._cluster else ""

    def _save(self) -> None:
        listed = {line: str(place) for line, place in self._listed.items()}
        record = Record(self._cluster, self._founders, self._known, listed)
        self._store.save({RECORD: msgspec.msgpack.encode(record)})


def _read(stored: bytes) -> Record:
    try:
        return msgspec.msgpack.decode(stored, type=Record)
    except msgspec.DecodeError as error:
        raise StoreError(f"what is known of the members cannot be read: {error}") from None
