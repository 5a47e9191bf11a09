"""All elections of one node in which each group of nodes that reach each other has its leader."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from electorate.core import Members, Message, NodeId, Turns
from electorate.core.codec import Codec
from electorate.errors import StoreError
from electorate.leadership.directory import Directory
from electorate.leadership.group.office import PREFIX, GroupOffice
from electorate.leadership.office import Machines, Seat
from electorate.pace import Pace
from electorate.protocols.invitation import RankedInvitation
from electorate.runtime.host import Host, Mail


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

    def is_paused(self, office: Seat) -> bool:
        """Whether this node is not to stand there."""

    def keeps(self, office: Seat) -> None:
        """Something is about to be kept that others rely on."""

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once all is kept that was promised before."""

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Have something done in the node's thread, from any other."""


class Groups:
    """The desk of these elections: one machine runs them all, for the node's whole life."""

    def __init__(self, house: House) -> None:
        self.offices: dict[str, GroupOffice] = {}
        self.grace_ms = float(house.pace.grace_ms)
        rules = RankedInvitation.form("application")
        self._machine = RankedInvitation(Members.open("highest"), house.pace.group_timing, rules)
        self._codec = Codec(self._machine)
        self._turns: Turns | None = None
        self._house = house

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
        """The set of suspects changed."""
        for office in list(self.offices.values()):
            office.reconsider()

    def decode(self, body: bytes) -> Message:
        """A message of the machine."""
        return self._codec.message(body)

    def receive(self, mail: Mail) -> None:
        """A message has come; a node that takes no part does not answer."""
        office = self.offices.get(mail.name)
        if office is not None:
            office.hear(mail.sender, mail.message, mail.head)

    def _boot(self, office: GroupOffice) -> None:
        data = self._house.host.store.load(PREFIX + office.name)
        try:
            stable = None if data is None else self._codec.stable(data)
        except msgspec.DecodeError as error:
            raise StoreError(f"the groups of {office.name} cannot be read: {error}") from None
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

    @property
    def turns(self) -> Turns:
        """The turns of the machine."""
        if self._turns is None:
            self._turns = self._house.machines.turns(self._machine)
        return self._turns

    def keeps(self, office: GroupOffice) -> None:
        """Something is about to be kept that others rely on."""
        self._house.keeps(office)

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once all is kept that was promised before."""
        self._house.then(effect, *given)

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Have something done in the node's thread, from any other."""
        self._house.enter(act, *given)
