"""All elections of one node in which each group of nodes that reach each other has its leader."""

import asyncio
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from electorate.core import Members, Message, NodeId, Turns
from electorate.core.codec import Codec
from electorate.errors import StoreError
from electorate.leadership.directory import Directory
from electorate.leadership.group.office import PREFIX, GroupOffice
from electorate.leadership.letter import Letter, Ranks
from electorate.leadership.office import Machines, Seat
from electorate.pace import Pace
from electorate.protocols.invitation import Group, Invitation
from electorate.runtime.host import Host, Mail

TURNS_MAX = 2_000
MACHINES_MAX = 200


class Said(msgspec.Struct, frozen=True, array_like=True):
    """A message of the machine, and the group that its sender was in."""

    group: Group
    body: msgspec.Raw


_decoder = msgspec.msgpack.Decoder(Said)


class House(Protocol):
    """What is needed of the node."""

    me: NodeId
    directory: Directory
    pace: Pace
    alive: frozenset[NodeId]
    host: Host
    lived: asyncio.Event
    machines: Machines
    now_ms: Callable[[], float]

    def others(self) -> Iterable[NodeId]:
        """Every other node."""

    def is_paused(self, office: Seat) -> bool:
        """Whether this node is not to stand there."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way, or drop it."""

    def keeps(self, office: Seat) -> None:
        """Something is about to be kept that others rely on."""

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once all is kept that was promised before."""

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Have something done in the node's thread, from any other."""


class Groups:
    """The desk of these elections: it knows who takes part in which, and with which rank."""

    def __init__(self, house: House) -> None:
        self.offices: dict[str, GroupOffice] = {}
        self.grace_ms = float(house.pace.grace_ms)
        self.alone_ms = float(house.pace.alone_ms)
        self._codec = Codec(Invitation)
        self._house = house
        self._known: dict[NodeId, dict[str, int]] = {}

    def office(self, name: str) -> GroupOffice:
        """The election of that name: this node takes part in it from now on."""
        found = self.offices.get(name)
        if found is None:
            found = self.offices[name] = GroupOffice(name, self)
            found.paused = self._house.is_paused(found)
            if self._house.lived.is_set():
                self._boot(found)
        return found

    def lives(self) -> None:
        """The first life boots all elections."""
        for office in list(self.offices.values()):
            self._boot(office)

    def viewed(self) -> None:
        """Other nodes are suspect than before."""
        for office in list(self.offices.values()):
            office.reconsider()
        self.announce()

    def announce(self) -> None:
        """Tell everybody where this node takes part, and with which rank."""
        if self.offices:
            ranks = Ranks({name: office.rank for name, office in self.offices.items()})
            for node in self._house.others():
                self._house.send(node, ranks)

    def hear(self, node: NodeId, said: Ranks) -> None:
        """Another node tells where it takes part."""
        before, self._known[node] = self._known.get(node, {}), said.ranks
        for name, office in list(self.offices.items()):
            if before.get(name) != said.ranks.get(name):
                office.reconsider()

    def decode(self, body: bytes) -> tuple[Group, Message]:
        """A message, and the group that its sender was in."""
        said = _decoder.decode(body)
        return said.group, self._codec.message(bytes(said.body))

    def receive(self, mail: Mail) -> None:
        """A message has come; who takes no part does not answer."""
        office = self.offices.get(mail.name)
        if office is not None:
            group, message = mail.message
            office.hear(mail.sender, group, message, mail.head)

    def _boot(self, office: GroupOffice) -> None:
        data = self._house.host.store.load(PREFIX + office.name)
        try:
            stable = None if data is None else self._codec.stable(data)
        except msgspec.DecodeError as error:
            raise StoreError(f"the groups of {office.name} cannot be read: {error}") from None
        self.announce()
        office.boot(stable)

    # --- the desk of its offices ---

    @property
    def me(self) -> NodeId:
        """This node."""
        return self._house.me

    @property
    def alive(self) -> frozenset[NodeId]:
        """Who is not suspect."""
        return self._house.alive

    def now_ms(self) -> float:
        """The node's clock."""
        return self._house.now_ms()

    @property
    def host(self) -> Host:
        """Where its instances live."""
        return self._house.host

    def name_of(self, node: NodeId) -> str:
        """What the application calls it."""
        return self._house.directory.name(node)

    def turns(self, office: GroupOffice) -> Turns:
        """The machine, by the ranks that are known at the moment."""
        ids = self._house.directory.ids
        return self._machine(ids, tuple(self._rank(office, node) or 0 for node in ids))

    def outranks(self, office: GroupOffice, leader: NodeId) -> bool:
        """Whether this node is known to be stronger than its leader."""
        rank = self._rank(office, leader)
        return rank is not None and (office.rank, self.me) > (rank, leader)

    def ranked(self, office: GroupOffice) -> None:
        """Tell the others the rank of this node."""
        if self._house.lived.is_set():
            self.announce()

    def keeps(self, office: GroupOffice) -> None:
        """Something is about to be kept that others rely on."""
        self._house.keeps(office)

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once all is kept that was promised before."""
        self._house.then(effect, *given)

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Have something done in the node's thread, from any other."""
        self._house.enter(act, *given)

    def _rank(self, office: GroupOffice, node: NodeId) -> int | None:
        """The rank of a node, as far as it is known here."""
        return office.rank if node == self.me else self._known.get(node, {}).get(office.name)

    @lru_cache(MACHINES_MAX)  # noqa: B019 - it lives as long as the node
    def _machine(self, ids: tuple[NodeId, ...], ranks: tuple[int, ...]) -> Turns:
        members = Members.of(ids, "highest", dict(zip(ids, ranks, strict=True)))
        machine: Any = Invitation(members, self._house.pace.group_timing)
        return self._house.machines.kind_of_turns(machine, TURNS_MAX)
