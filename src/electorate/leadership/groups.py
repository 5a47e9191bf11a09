"""Elections in which every group of nodes that reach each other has its leader.

Groups are decided on in `protocols/invitation/ranked_invitation.py`. Here the application is told
what that machine shows, and the machine what the application wants.
"""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

import msgspec

from electorate.core import (
    GroupStanding,
    Machine,
    Members,
    Message,
    NodeId,
    Received,
    Stable,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.errors import StoreError
from electorate.leadership.directory import Directory
from electorate.leadership.election import ElectionInstance, KnownLeader, Machines
from electorate.leadership.term import GroupTenure, Tenure
from electorate.pace import Pace, in_ms
from electorate.protocols.invitation import RankedInvitation
from electorate.protocols.invitation.ranked_invitation import Anew, Reconciled, Stand
from electorate.runtime.host import Host, Mail
from electorate.runtime.instance import Instance
from electorate.runtime.recorder import described
from electorate.trace.record import Letterhead

PREFIX = "group "


class GroupElection(ElectionInstance):
    """The group that this node is in, and the term that the application holds if it leads it."""

    def __init__(self, name: str, port: "Groups") -> None:
        super().__init__(name, port)
        self._port = port
        self._idle_until_ms = -math.inf
        """Until then it is assumed that the application will wait for the next term."""
        self._served = 0
        """The last group of which the application had a term."""
        self._instance = port.host.add(
            Instance(PREFIX + name, port.turns, port.me, port.host, self)
        )

    @property
    def stands_with(self) -> int:
        """The priority with which this node would lead; 0 if nobody is there to do the work.

        An application that has just finished a term is expected to come back for the next one.
        """
        if self.term is not None:
            has_hands = not self.term.is_overdue(self._port.grace_ms)
        else:
            has_hands = bool(self.waiting) or self.now_ms() < self._idle_until_ms
        return 0 if self.paused or not has_hands else self.priority

    @property
    def group(self) -> tuple[int, ...] | None:
        """The number of the group that this node is in; None while there is none."""
        return None if self._view is None else self._view.group

    @property
    def _view(self) -> GroupStanding | None:
        view = self._instance.view
        assert view is None or isinstance(view, GroupStanding)
        return view

    def hear(self, sender: NodeId, message: Message, head: Letterhead) -> None:
        """A message has come."""
        self._instance.take(Received(sender, message), head)

    def reconsider(self) -> None:
        """The set of suspects changed."""
        if not self.is_down:
            self._instance.take(Viewed(self._port.alive))

    # --- what the application wants ---

    def leave(self, future: "Future[Tenure]") -> None:
        """The application does not want to lead any more."""
        if self.term is None:
            self._idle_until_ms = -math.inf
        super().leave(future)

    def stand(self) -> None:
        """See whether this node has another priority than before; its work is awaited first."""
        view, priority = self._view, self.stands_with
        if not priority and self.term is not None and not self.term.is_overdue(self._port.grace_ms):
            self.term.ask_to_end()
            self._schedule()
            self._instance.reschedule()
        elif view is not None and priority != view.priority:
            self.ask(Stand(priority))
        elif self.waiting:
            self._instance.look()

    def reconciled(self, term: GroupTenure) -> None:
        """The nodes that came from another group were dealt with; called in any thread."""
        self._port.enter(self._reconciled, term)

    def _reconciled(self, term: GroupTenure) -> None:
        # Once the group is over, somebody else may have come that the hook knew nothing of.
        if self.term is term and term.remaining() > 0 and term.others:
            self.ask(Reconciled())

    def _finished(self, term: Tenure) -> None:
        if self.term is term:
            self.term = None
            self._idle_until_ms = self.now_ms() + self._port.grace_ms
            self._instance.look()

    # --- what follows from a turn ---

    def after(self) -> None:
        """See what this node is in its group, and tell the application what it has to know."""
        view = self._view
        if view is None:
            return
        if self.term is not None and view.group != (self._port.me, self.term.token):
            self.term.end()
        if view.leader is None or view.group is None:
            self._tell(KnownLeader())
        else:
            leader, token = view.group
            self._tell(KnownLeader(leader, token))
            if leader == self._port.me:
                self._lead(view, token)
        self._schedule()
        if self.stands_with != view.priority:
            self.stand()

    def _lead(self, view: GroupStanding, token: int) -> None:
        """This node leads its group: the application has to do the work."""
        if self.waiting and self.term is None and self.stands_with:
            if token == self._served:
                self.ask(Anew())
            else:
                self._give(self._group_term(view, token))
                self._served = token if self.term is not None else self._served

    def _group_term(self, view: GroupStanding, token: int) -> GroupTenure:
        name_of = self._port.name_of
        members = tuple(sorted(map(name_of, view.members)))
        others = dict(sorted((name_of(node), name_of(leader)) for node, leader in view.owed))
        return GroupTenure(self.name, token, self, self._port.now_ms, members, others)

    def _schedule(self) -> None:
        """Wake up for what changes by time alone."""
        if self.term is not None:
            wake_ms = self.term.overdue_at_ms(self._port.grace_ms)
        else:
            wake_ms = math.inf if self.waiting else self._idle_until_ms
        self.wakes_ms = wake_ms if self.now_ms() < wake_ms < math.inf else None

    # --- what its instance asks of it ---

    def now_ms(self) -> float:
        """The node's clock."""
        return self._port.now_ms()

    def packed(self, stable: Stable) -> bytes:
        """What to save of it."""
        self._port.keeps(self)
        return Codec.encode(stable)

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        return described(machine, "ranked-invitation/application", "application")


# --- all of a node ---


class GroupsPort(Protocol):
    """What elections in groups need of their node."""

    me: NodeId
    directory: Directory
    pace: Pace
    alive: frozenset[NodeId]
    host: Host
    lived: asyncio.Event
    machines: Machines
    now_ms: Callable[[], float]

    def is_paused(self, election: ElectionInstance) -> bool:
        """Whether this node must not stand there."""

    def keeps(self, election: ElectionInstance) -> None:
        """Something that others rely on is about to be saved."""

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once everything is saved that was promised before."""

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Run this in the node's thread, from any other."""


class Groups:
    """All elections in groups of a node: one machine runs them, for the node's whole life."""

    def __init__(self, port: GroupsPort) -> None:
        self.elections: dict[str, GroupElection] = {}
        self.grace_ms = float(in_ms(port.pace.grace))
        rules = RankedInvitation.form("application")
        self._machine = RankedInvitation(Members.open("highest"), port.pace.group_timing, rules)
        self._codec = Codec(self._machine)
        self._turns: Turns | None = None
        self._port = port

    def election(self, name: str) -> GroupElection:
        """The election of that name: this node takes part in it from now on."""
        found = self.elections.get(name)
        if found is None:
            found = self.elections[name] = GroupElection(name, self)
            found.paused = self._port.is_paused(found)
            if self._port.lived.is_set():
                self._boot(found)
        return found

    def lives(self) -> None:
        """The first life boots all elections."""
        for election in list(self.elections.values()):
            self._boot(election)

    def viewed(self) -> None:
        """The set of suspects changed."""
        for election in list(self.elections.values()):
            election.reconsider()

    def decode(self, body: bytes) -> Message:
        """A message of the machine."""
        return self._codec.message(body)

    def receive(self, mail: Mail) -> None:
        """A message has come; a node that takes no part does not answer."""
        election = self.elections.get(mail.name)
        if election is not None:
            election.hear(mail.sender, mail.message, mail.head)

    def _boot(self, election: GroupElection) -> None:
        data = self._port.host.store.load(PREFIX + election.name)
        try:
            stable = None if data is None else self._codec.stable(data)
        except msgspec.DecodeError as error:
            raise StoreError(f"the groups of {election.name} cannot be read: {error}") from None
        election.boot(stable)

    # --- what its elections need ---

    @property
    def me(self) -> NodeId:
        """This node."""
        return self._port.me

    @property
    def alive(self) -> frozenset[NodeId]:
        """The nodes that are not suspect."""
        return self._port.alive

    def now_ms(self) -> float:
        """The node's clock."""
        return self._port.now_ms()

    @property
    def host(self) -> Host:
        """The host of its instances."""
        return self._port.host

    def name_of(self, node: NodeId) -> str:
        """What the application calls it."""
        return self._port.directory.name(node)

    @property
    def turns(self) -> Turns:
        """The turns of the machine."""
        if self._turns is None:
            self._turns = self._port.machines.turns(self._machine)
        return self._turns

    def keeps(self, election: GroupElection) -> None:
        """Something that others rely on is about to be saved."""
        self._port.keeps(election)

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once everything is saved that was promised before."""
        self._port.then(effect, *given)

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Run this in the node's thread, from any other."""
        self._port.enter(act, *given)
