"""One election at one node in which every group of nodes that reach each other has its leader.

The machine is Garcia-Molina's Invitation as it was checked. What is added here is the application:
who does the work, in which order, and with whom of the others it has to be reconciled first.
"""

import math
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, Protocol

import msgspec

from electorate.core import Machine, Message, NodeId, Received, Stable, State, Turns
from electorate.core.codec import Codec
from electorate.leadership.office import Seat, SeatDesk, Seen
from electorate.leadership.term import GroupTenure, Tenure
from electorate.protocols.invitation.machine import (
    RESTING,
    Accept,
    Begin,
    Group,
    InvitationState,
    Leading,
    Phase,
)
from electorate.runtime.host import Host
from electorate.runtime.instance import Instance
from electorate.runtime.recorder import described
from electorate.trace.record import Letterhead

PREFIX = "group "
ANEW = Begin(0)
"""Form the group anew. Tasks are the machine's; here there is only one, for ever."""


class Newcomers:
    """Who has come into a group from another: with those the application has to be reconciled."""

    def __init__(self) -> None:
        self.owed: dict[NodeId, NodeId] = {}
        """Whom the application has not been reconciled with yet, and who had led them."""
        self._former: Group = (0, 0)
        self._came: dict[NodeId, Group] = {}

    def invite(self, former: Group) -> None:
        """A new group is being formed by a node that was in that one."""
        self._former = former
        self._came = {}

    def come(self, node: NodeId, group: Group) -> None:
        """A node has accepted that was in that group."""
        self._came[node] = group

    def join(self, followers: Iterable[NodeId]) -> None:
        """The group is complete. What was not settled in the last one is still owed."""
        came = {node: self._came[node] for node in sorted(followers)}
        owed = {node: leader for node, leader in self.owed.items() if node in came}
        new = {node: group[0] for node, group in came.items() if group != self._former}
        self.owed = {**owed, **new}

    def settle(self) -> None:
        """Nothing is owed any more."""
        self.owed = {}


class GroupDesk(SeatDesk, Protocol):
    """What such an election needs of its node."""

    @property
    def host(self) -> Host:
        """Where its instance lives."""

    def keeps(self, office: "GroupOffice") -> None:
        """Something is about to be kept that others rely on."""

    grace_ms: float
    alone_ms: float
    """How long a node that is alone looks for others before it leads itself."""

    def name_of(self, node: NodeId) -> str:
        """What the application calls it."""

    def turns(self, office: "GroupOffice") -> Turns:
        """The machine, by the ranks that are known at the moment."""

    def outranks(self, office: "GroupOffice", leader: NodeId) -> bool:
        """Whether this node is known to be stronger than its leader."""

    def ranked(self, office: "GroupOffice") -> None:
        """Tell the others the rank of this node."""


class GroupOffice(Seat):
    """The group that this node is in, and the term that the application holds if it leads it."""

    looks_inside = True

    def __init__(self, name: str, desk: GroupDesk) -> None:
        super().__init__(name, desk)
        self.rank = 0
        """The priority with which this node takes part; 0 follows, and never leads anybody."""
        self._desk = desk
        self._alone_since_ms = 0.0
        self._idle_until_ms = -math.inf
        """Until then it is believed that somebody will wait for the next term."""
        self._served = 0
        """The last group of which the application had a term."""
        self.left: Group = (0, 0)
        """The group that this node was in before the present turn."""
        self._newcomers = Newcomers()
        self._instance = desk.host.add(
            Instance(PREFIX + name, desk.turns(self), desk.me, desk.host, self)
        )

    @property
    def stands_with(self) -> int:
        """The priority with which this node would lead; 0 if it has nobody to do the work.

        Who has just finished a term is expected to come back for the next.
        """
        if self.term is not None:
            has_hands = not self.term.is_overdue(self._desk.grace_ms)
        else:
            has_hands = bool(self.waiting) or self.now_ms() < self._idle_until_ms
        return 0 if self.paused or not has_hands else self.priority

    @property
    def group(self) -> Group | None:
        """The number of the group that this node is in; None while there is none."""
        state = self._state
        return None if state is None or state.phase in RESTING else state.group

    @property
    def _state(self) -> InvitationState | None:
        state = self._instance.state
        assert state is None or isinstance(state, InvitationState)
        return state

    def hear(self, sender: NodeId, group: Group, message: Message, head: Letterhead) -> None:
        """A message has come from a node that was in that group when it wrote."""
        if isinstance(message, Leading) and not self.rank:
            return  # Who never leads has nobody to invite.
        if isinstance(message, Accept) and self._is_forming(message.group):
            self._newcomers.come(sender, group)
        self._instance.take(Received(sender, message), head)

    def reconsider(self) -> None:
        """Other nodes are suspect than before, or have other ranks."""
        self._rule()
        self._instance.look()

    def _rule(self) -> None:
        """Go by the ranks known now; a group with somebody in it who is unknown now is over."""
        turns, state = self._desk.turns(self), self._state
        self._instance.rule_by(turns)
        if state is not None:
            named = {state.group[0], *state.followers, *state.found, *state.unheard}
            if not named <= {*turns.machine.members.ids}:
                self._go()

    # --- what the application wants ---

    def leave(self, future: "Future[Tenure]") -> None:
        """Somebody does not want to lead any more."""
        if self.term is None:
            self._idle_until_ms = -math.inf
        super().leave(future)

    def stand(self) -> None:
        """See whether this node has another rank than before; its work is awaited first."""
        rank = self.stands_with
        if not rank and self.term is not None and not self.term.is_overdue(self._desk.grace_ms):
            self.term.ask_to_end()
            self._schedule()
            self._instance.reschedule()
        elif rank != self.rank:
            if not self.rank:
                self._alone_since_ms = self.now_ms()
            self.rank = rank
            self._desk.ranked(self)
            self._rule()
            if not rank and self._state is not None and self._state.leads:
                self._go()
            else:
                self._instance.look()
        elif self.waiting:
            self._instance.look()

    def reconciled(self, term: GroupTenure) -> None:
        """Whoever has come from another group has been dealt with; called in any thread."""
        self._desk.enter(self._reconciled, term)

    def _reconciled(self, term: GroupTenure) -> None:
        # Once the group is over, somebody else may have come that the hook knew nothing of.
        if self.term is term and term.remaining() > 0:
            self._newcomers.settle()

    def _finished(self, term: Tenure) -> None:
        if self.term is term:
            self.term = None
            self._idle_until_ms = self.now_ms() + self._desk.grace_ms
            self._instance.look()

    # --- what follows from a turn ---

    def after(self) -> None:
        """See what this node is in its group, and what the application has to know of that."""
        state = self._state
        if state is None:
            return
        group = self.group
        if self.term is not None and group != (self._desk.me, self.term.token):
            self.term.end()
        if group is None:
            self._tell(Seen())
        elif state.leads:
            self._lead(state)
        elif self.rank and self._desk.outranks(self, group[0]):
            self._go()
            return
        else:
            self._tell(Seen(*group))
        self._schedule()
        if self.stands_with != self.rank:
            self.stand()

    def _lead(self, state: InvitationState) -> None:
        """The group is this node's own: somebody has to do its work."""
        if not state.followers <= self._desk.alive:
            self.ask(ANEW)
            return
        seen, token = Seen(*state.group), state.group[1]
        if not self.rank or (seen != self._seen and self._is_looking(state)):
            self._tell(Seen())
            return
        self._tell(seen)
        if self.waiting and self.term is None and self.stands_with:
            if token == self._served:
                self.ask(ANEW)
            else:
                self._give(self._group_term(state))
                self._served = token if self.term is not None else self._served

    def _group_term(self, state: InvitationState) -> GroupTenure:
        name_of = self._desk.name_of
        members = tuple(sorted(map(name_of, {self._desk.me, *state.followers})))
        owed = self._newcomers.owed
        others = dict(sorted((name_of(node), name_of(leader)) for node, leader in owed.items()))
        return GroupTenure(self.name, state.group[1], self, self._desk.now_ms, members, others)

    def _go(self) -> None:
        """Leave the group, without a word, for one of my own: as by a crash and a recovery."""
        state = self._state
        if state is not None:
            self._instance.halt()
            self.boot(state.stable)

    def _is_looking(self, state: InvitationState) -> bool:
        """Whether this node is alone, and others may be about to find it or to be found."""
        is_early = self.now_ms() < self._alone_until_ms
        # After a pause it may be late all of a sudden, without having asked anybody.
        return not state.followers and (is_early or state.phase is Phase.ASKING)

    def _is_forming(self, group: Group) -> bool:
        state = self._state
        return state is not None and state.phase is Phase.INVITING and state.group == group

    @property
    def _alone_until_ms(self) -> float:
        return self._alone_since_ms + self._desk.alone_ms

    def _schedule(self) -> None:
        """Wake up for whatever changes by time alone."""
        wakes = [self._alone_until_ms]
        if self.term is not None:
            wakes.append(self.term.overdue_at_ms(self._desk.grace_ms))
        elif not self.waiting:
            wakes.append(self._idle_until_ms)
        later = (wake for wake in wakes if self.now_ms() < wake < math.inf)
        self.wakes_ms = min(later, default=None)

    # --- what its instance asks of it ---

    def now_ms(self) -> float:
        """The node's clock."""
        return self._desk.now_ms()

    def packed(self, stable: Stable) -> bytes:
        """What is to be kept of it."""
        self._desk.keeps(self)
        return Codec.encode(stable)

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        return described(machine, "invitation")

    def wrapped(self, body: bytes) -> bytes:
        """A message goes with the group that it comes from."""
        return msgspec.msgpack.encode((self.left, msgspec.Raw(body)))

    def turns(self, before: State | None, after: State) -> None:
        """Note which group is left, and with whom of a new one the application is to deal."""
        assert isinstance(after, InvitationState)
        if before is None:  # A life in a group of its own begins.
            self.left = after.group
            self._alone_since_ms = self.now_ms()
            return
        assert isinstance(before, InvitationState)
        self.left = before.group
        if after.group == before.group and after.phase is before.phase:
            return
        if after.phase is Phase.INVITING and before.phase not in RESTING:
            self._newcomers.invite(before.group)
        elif before.phase is Phase.INVITING:
            self._newcomers.join(after.followers)
        if after.group != before.group or before.phase in RESTING:
            self._alone_since_ms = self.now_ms()
