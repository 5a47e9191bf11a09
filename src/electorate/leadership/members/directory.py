"""Who is who: which members this node knows, where they are, and what they are called.

A member is a memory, not a name. Its promises are kept in its data folder: a node that has lost its
folder, or another one that was given its name, has made none of them. So elections know members by
the numbers of their memories, and a node that joins gets one of its own, whatever it is called. The
network knows nodes by the numbers of their names: see `Lines`.

Who has a vote is another matter: that is for the register to say. The roll that is kept here only
tells which of several members of one name to speak to.
"""

import msgspec
from msgspec.structs import replace

from electorate.core import NodeId
from electorate.errors import ClusterMismatch
from electorate.leadership.members.acquaintance import (
    UNKNOWN,
    Acquaintance,
    Known,
    Memories,
    Net,
    Record,
    identity,
)
from electorate.leadership.members.lines import Lines
from electorate.leadership.members.place import Place, number
from electorate.protocols.mandate.roster import Roster
from electorate.runtime.store import Store

RECORD = "directory"


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

    def learn(self, told: Known) -> None:
        """Another node tells whom it knows."""
        if told.cluster != self._cluster or not told.is_sound:
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
