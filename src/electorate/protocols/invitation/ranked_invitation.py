"""Ranked invitation: groups that merge under the member of the highest priority.

The nodes that reach each other form a group, and the strongest of those that stand leads it. With
which priority a node stands, its application says at any time; 0 follows, and never leads.

Source: H. Garcia-Molina, "Elections in a Distributed Computing System", 1982: his Invitation, as in
the file beside this one. Priorities that change, what a node sees, and newcomers are our own.
Needs: nothing for agreement within a group, and for being told of newcomers. For one group of all
that are linked, led by the strongest: a message is handled within T of being sent, and before a
timer that ends at that very moment, and in the end no live node is suspected; otherwise a leader
forms its group again and again: run ranked_invitation/without_accurate_detector.
"""

from typing import Any, Literal

from msgspec.structs import replace

from electorate.core import Assumption, GroupStanding, Result, Span, Status, T, Timer, Topic
from electorate.core.event import (
    Asked,
    CancelTimer,
    Effect,
    Event,
    Received,
    Send,
    TimedOut,
    Viewed,
)
from electorate.core.standing import Standing
from electorate.core.value import Message, NodeId, Request
from electorate.protocols.invitation.machine import (
    RESTING,
    Accept,
    Ack,
    AreYouLeader,
    AreYouThere,
    Following,
    Group,
    Here,
    Invitation,
    InvitationRules,
    InvitationStable,
    InvitationState,
    Invite,
    Leading,
    NotHere,
    Phase,
    Ready,
    Wait,
)

ALONE = "alone"
"""The timer of a node that is alone: if somebody were there, they would have met by then."""
PRIORITIES = (0, 1, 2)
"""Those that a checker asks for."""


Body = (
    AreYouThere
    | Here
    | NotHere
    | AreYouLeader
    | Leading
    | Following
    | Invite
    | Accept
    | Ready
    | Ack
)


class Said(Message):
    """I stand with this priority, and was in that group when I said this."""

    priority: int
    was: Group
    message: Body


class Stand(Request):
    """Lead with this priority from now on; 0 only follows."""

    priority: int


class Anew(Request):
    """Form your group anew; only a leader does so."""


class Reconciled(Request):
    """The nodes that have come into the group that you lead have been dealt with."""


class RankedRules(InvitationRules):
    """What may be varied. The defaults are the sound form."""

    outranking: Literal["leave", "stay"] = "leave"
    """What a follower does that is stronger than its leader."""
    told: Literal["at-once", "asked"] = "at-once"
    """When the others hear of another priority of a leader: at once, or when they ask."""
    heard: Literal["last", "first"] = "last"
    """Which word of another counts on the priority with which it stands."""
    missed: Literal["anew", "keep"] = "anew"
    """What a leader does that does not see a follower any more."""
    owing: Literal["on", "over"] = "on"
    """Whether newcomers that were not dealt with in one group still count as such in the next."""
    origin: Literal["before", "after"] = "before"
    """The group that an Accept comes from: the one that is left, or the one that is joined."""
    first: int = 1
    """The priority with which every node begins, if it has no attribute."""
    alone: Span = 12 * T
    """A check, its answers and a merge."""


class RankedState(InvitationState):
    """One node's part."""

    alive: frozenset[NodeId] = frozenset()
    """The nodes that I see. I ask these, and invite these, and no others."""
    priority: int = 0
    """The priority with which I stand; 0: I follow, and never lead."""
    priorities: frozenset[tuple[NodeId, int]] = frozenset()
    """The priority of my leader, or of the leaders that I have found: others do not matter."""
    looking: bool = False
    """Whether I am alone, and do not lead myself yet."""
    asked: bool = False
    """Whether I have asked all others since, and have waited for the answers."""
    owed: frozenset[tuple[NodeId, NodeId]] = frozenset()
    """The nodes of my group that came from another and were not dealt with, and its leader."""
    former: Group | None = None
    """The group that I led when I began to form the next one."""
    came: frozenset[tuple[NodeId, NodeId]] = frozenset()
    """The nodes of the group that I am forming that will be owed."""


class RankedInvitation(Invitation[RankedState]):
    """Invitation with priorities that change, among the nodes that see each other."""

    state_type = RankedState
    rules_type = RankedRules
    messages: tuple[type[Message], ...] = (Said,)
    requests: tuple[type[Request], ...] = (Stand, Anew, Reconciled)
    timers = (*Invitation.timers, Timer(ALONE))
    uses_views = True
    forms = {"application": RankedRules(first=0)}
    promises = ("A3", "S4", "G1", "G2")
    form_promises = {}
    assumptions = (
        Assumption.UNIQUE_IDS,
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.ACCURATE_DETECTOR,
    )
    form_assumptions = {}
    tells = frozenset({Topic.GROUPS, Topic.CANDIDATES, Topic.NEWCOMERS})

    rules: RankedRules

    def boot(self, me: NodeId, stable: InvitationStable | None) -> Result[RankedState]:
        unborn = RankedState(
            me,
            stable or InvitationStable(),
            Phase.NORMAL,
            (me, 0),
            alive=frozenset({me}),
            priority=max(0, self.rules.first + self.members.attribute(me)),
        )
        alone, effects = self._alone(self._forming(unborn, Phase.NORMAL))
        return alone, [self.set_timer(Wait.CHECK), *effects]

    def step(self, s: RankedState, event: Event) -> Result[RankedState]:
        after, effects = self._mended(*self._taken(s, event))
        known = {after.group[0], *after.found} - {s.me}
        matter = frozenset(each for each in after.priorities if each[0] in known)
        was = s.group if self.rules.origin == "before" else after.group
        return replace(after, priorities=matter), [_said(after, was, each) for each in effects]

    def _taken(self, s: RankedState, event: Event) -> Result[RankedState]:
        """The result of an event."""
        match event:
            case Viewed(alive):
                seen = replace(s, alive=alive)
                return seen, self._look() if s.looking and not alive <= s.alive else []
            case Received(j, Said(priority, was, message)) if j in self.members:
                heard = self._heard(s, j, priority)
                if isinstance(message, Accept) and s.phase is Phase.INVITING:
                    heard = self._welcomed(heard, j, was, message.group)
                return super().step(heard, Received(j, message))
            case TimedOut(timer) if timer == ALONE and s.looking:
                return self._looked(s)
            case TimedOut():
                return super().step(s, event)
            case Asked(Stand(priority)) if priority != s.priority and priority >= 0:
                return self._stand(s, priority)
            case Asked(Anew()) if s.leads and s.priority and s.phase not in RESTING:
                return self._invite(replace(s, found=frozenset()))
            case Asked(Reconciled()) if s.phase not in RESTING:
                return replace(s, owed=frozenset()), []
        return s, []

    def view(self, s: RankedState) -> GroupStanding:
        if s.phase in RESTING:
            return GroupStanding(Status.ELECTION, priority=s.priority)
        if not s.leads:
            return GroupStanding(Status.NORMAL, s.group[0], s.group, priority=s.priority)
        if s.looking or not s.priority:
            return GroupStanding(Status.ELECTION, None, s.group, priority=s.priority)
        return GroupStanding(
            Status.NORMAL,
            s.me,
            s.group,
            priority=s.priority,
            members=tuple(sorted({s.me, *s.followers})),
            owed=tuple(sorted(s.owed)),
        )

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        if not isinstance(view, GroupStanding):
            return ()  # Another machine stands between.
        found: list[Request] = [Stand(p) for p in PRIORITIES if p != view.priority]
        found += [Anew()] if view.members else []
        found += [Reconciled()] if view.owed else []
        return tuple(found)

    def _mended(self, s: RankedState, effects: list[Effect]) -> Result[RankedState]:
        """Leave a group that should not be as it is."""
        if s.phase in RESTING:
            return s, effects
        if s.leads and not s.followers <= s.alive and self.rules.missed == "anew":
            mended, more = self._invite(replace(s, found=frozenset()))
        elif not s.leads and self._is_misled(s) and self.rules.outranking == "leave":
            mended, more = self._stand_alone(s)
        else:
            return s, effects
        return mended, [*effects, *more]

    def _is_misled(self, s: RankedState) -> bool:
        """Whether I stand, and know that I outrank my leader."""
        return s.priority > 0 and any(
            j == s.group[0] and self._rank(s.me, s.priority) > self._rank(j, priority)
            for j, priority in s.priorities
        )

    def _stand(self, s: RankedState, priority: int) -> Result[RankedState]:
        """Stand with another priority than before."""
        standing, effects = replace(s, priority=priority), list[Effect]()
        if s.leads and not priority:
            standing, effects = self._stand_alone(standing)
        elif s.leads and not s.priority:
            # What others have told one that does not stand is out of date: they may stand, too.
            asked_no_more = [CancelTimer(Wait.ANSWERS)] if s.phase is Phase.ASKING else []
            forgot = replace(standing, phase=Phase.NORMAL, found=frozenset())
            standing, effects = self._alone(forgot)
            effects = [*asked_no_more, *effects]
        # My followers may be stronger now, and a leader that has asked me must not invite me.
        is_told = standing.leads and standing.phase not in RESTING and self.rules.told == "at-once"
        told = self._others(s) if is_told else ()
        return standing, [*effects, *(Send(j, Leading(standing.group)) for j in told)]

    def _heard(self, s: RankedState, j: NodeId, priority: int) -> RankedState:
        """What j says now of its priority counts, and not what it has said before."""
        if self.rules.heard == "first" and j in dict(s.priorities):
            return s
        others = {each for each in s.priorities if each[0] != j}
        return replace(s, priorities=frozenset({*others, (j, priority)}))

    def _welcomed(self, s: RankedState, j: NodeId, was: Group, group: Group) -> RankedState:
        """A node joins the group that I form: is it a newcomer, or still one?"""
        if group != s.group:
            return s
        still = {each for each in s.owed if each[0] == j and self.rules.owing == "on"}
        owed = still if was == s.former else {(j, was[0])}
        return replace(s, came=s.came | owed)

    # --- what Invitation does, and what follows from that here ---

    def _consider(self, s: RankedState) -> Result[RankedState]:
        """All answers are in; a node that never leads has nobody to invite."""
        found = s.found if s.priority else frozenset[NodeId]()
        return super()._consider(replace(s, found=found, asked=s.looking))

    def _invite(self, s: RankedState) -> Result[RankedState]:
        """Form a new group of all these that I see."""
        return super()._invite(replace(s, found=s.found & s.alive, followers=s.followers & s.alive))

    def _lead(self, s: RankedState) -> Result[RankedState]:
        """The group is complete: to work, unless I am alone."""
        # One that I do not see any more would have to leave again at once.
        there = s.followers if self.rules.missed == "keep" else s.followers & s.alive
        leading, effects = super()._lead(replace(s, followers=there))
        owed = frozenset(each for each in s.came if each[0] in there)
        leading = replace(leading, owed=owed, came=frozenset(), former=None)
        alone, more = (leading, []) if leading.followers else self._alone(leading)
        return alone, [*effects, *more]

    def _stand_alone(self, s: RankedState) -> Result[RankedState]:
        """My leader is lost, or soon will be: a group of my own, once I have looked for others."""
        alone, effects = super()._stand_alone(s)
        alone, more = self._alone(alone)
        return alone, [*effects, *self._found(s), *more]

    def _alone(self, s: RankedState) -> Result[RankedState]:
        """Look for others, if I may lead at all."""
        if not s.priority:
            return s, []
        return replace(s, looking=True, asked=False), self._look()

    def _look(self) -> list[Effect]:
        return [self.set_timer(ALONE)]

    def _looked(self, s: RankedState) -> Result[RankedState]:
        """The time to look for others is over; but after a pause it is over all of a sudden."""
        if not s.asked:
            return s, self._look()
        if s.phase is Phase.ASKING:
            return s, [self.set_timer(ALONE, self.rules.answers)]
        return replace(s, looking=False), []

    def _entering(self, s: RankedState, phase: Phase, group: Group) -> RankedState:
        forms = phase is Phase.INVITING
        return replace(
            super()._entering(s, phase, group),
            looking=False,
            asked=False,
            owed=s.owed if forms else frozenset(),
            former=s.group if forms else None,
            came=frozenset(),
        )

    def _stopped(self, s: RankedState) -> list[Effect]:
        return [*super()._stopped(s), *self._found(s)]

    def _found(self, s: RankedState) -> list[Effect]:
        """I am alone no longer."""
        return [CancelTimer(ALONE)] if s.looking else []

    # --- who takes part, and who is stronger ---

    def _others(self, s: RankedState) -> tuple[NodeId, ...]:
        return tuple(sorted(s.alive - {s.me}))

    def _stronger(self, s: RankedState) -> tuple[NodeId, ...]:
        mine = self._rank(s.me, s.priority)
        return tuple(j for j, priority in sorted(s.priorities) if self._rank(j, priority) > mine)

    def _is_weaker(self, s: RankedState, j: NodeId) -> bool:
        return j not in self._stronger(s)

    def _rank(self, node: NodeId, priority: int) -> tuple[int, int]:
        """The higher priority is the stronger; between equals the ids decide."""
        return priority, self.members.rank(node)[1]


def _said(s: RankedState, was: Group, effect: Effect) -> Effect:
    """A message goes with my priority, and with the group that I come from."""
    if not isinstance(effect, Send):
        return effect
    body: Any = effect.message
    return Send(effect.to, Said(s.priority, was, body))
