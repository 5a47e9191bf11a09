"""Invitation: a leader does not impose itself; it invites other leaders to merge their groups.

Source: H. Garcia-Molina, "Elections in a Distributed Computing System", 1982, in the message form
of P. F. Souto, "Elections", 2021, slides "The Invitation Algorithm"; more choices are those of the
Carnegie Mellon lecture notes "Coordinator Election", section "The Invitation Algorithm".
Needs: nothing for agreement within a group. For few groups: a message is handled within T of being
sent, and before a timer that ends at that very moment. For a single group all live nodes must be
linked; otherwise more than one may remain: run invitation/not_transitive.
"""

from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec.structs import replace

from electorate.core import Rules, Serial, Span, Standing, Status, T
from electorate.core.event import (
    Asked,
    CancelTimer,
    Effect,
    Event,
    Received,
    Send,
    SetTimer,
    TimedOut,
)
from electorate.core.machine import Assumption, Machine, Result, Timer, Topic
from electorate.core.value import Message, NodeId, Request, Stable, State

Group = tuple[NodeId, Annotated[int, Serial(of=0, module=__name__)]]
"""The number of a group: the node that formed it and leads it, and how many it has formed."""
Tasks = frozenset[int]
"""What a group works on. Groups that merge join their tasks, and do none of them twice."""


class Tagged(Message):
    """Every message names a group: the sender's, or the one that it is about."""

    group: Group


class AreYouThere(Tagged):
    """I am in this group of yours: are you there?"""


class Here(Tagged):
    """I am here: go on."""


class NotHere(Tagged):
    """I do not lead that group, or you are not in it."""


class AreYouLeader(Tagged):
    """I lead this group: do you lead another?"""


class Leading(Tagged):
    """I lead this group."""


class Following(Tagged):
    """I am in this group, and do not lead it."""


class Invite(Tagged):
    """Stop your work and join this new group."""


class Accept(Tagged):
    """I have stopped, and join you: these are my tasks."""

    tasks: Tasks


class Ready(Tagged):
    """Our group is complete, and these are our tasks: to work."""

    tasks: Tasks


class Ack(Tagged):
    """I am at work in your group."""


FOR_STRANGERS = (AreYouThere, AreYouLeader, Leading, Following, Invite)
"""These are heard whatever group they come from; all others only within my group."""
Heard = Literal["AreYouThere", "AreYouLeader", "Leading", "Invite"]
Ignored = Literal["Here", "NotHere", "Accept", "Ready", "Ack"]


class Begin(Request):
    """Form a new group for this task; only a leader does so."""

    task: int


class Wait(StrEnum):
    """The timers."""

    CHECK = "check"  # it is time to look for other leaders, or after my own
    ANSWERS = "answers"  # those that I asked would have answered by now
    DELAY = "delay"  # a stronger leader would have invited me by now
    ACCEPTS = "accepts"  # those that accept would have told me by now
    READY = "ready"  # the node that invited me would have completed its group by now
    ACKS = "acks"  # all that are at work in my group would have told me by now


class Phase(StrEnum):
    """What a node is doing. In the last two its work rests."""

    NORMAL = "normal"  # leads or follows
    PROBING = "probing"  # follows, and has asked whether its leader is there
    ASKING = "asking"  # leads, and has asked everybody else whether they lead too
    WAITING = "waiting"  # leads, has found other leaders, and lets the stronger ones go first
    INVITING = "inviting"  # forms a new group and counts those that accept
    ACCEPTED = "accepted"  # has accepted an invitation; the group is not complete yet


RESTING = (Phase.INVITING, Phase.ACCEPTED)
WAITS = {
    Phase.PROBING: Wait.ANSWERS,
    Phase.ASKING: Wait.ANSWERS,
    Phase.WAITING: Wait.DELAY,
    Phase.INVITING: Wait.ACCEPTS,
    Phase.ACCEPTED: Wait.READY,
}


class InvitationRules(Rules):
    """What may be varied. The defaults are the sound form."""

    probe: Literal["group", "alive"] = "group"
    """What a follower asks: do you lead my group, with me in it? Or just: are you alive?"""
    outranked: Literal["leave", "delay", "weaker"] = "leave"
    """What a leader does that finds a stronger one: leave it all to that one; invite everybody
    after a delay, unless it is invited first; or invite the weaker ones at once."""
    queries: Literal["answer", "ignore-weaker"] = "answer"
    """Whether a leader tells a weaker one that it leads."""
    prompted: bool = False
    """Whether the question of a weaker leader makes a leader check at once."""
    participants: Literal["silent", "no"] = "silent"
    """What a node that does not lead says when it is asked whether it does."""
    asks: Literal["all", "outsiders"] = "all"
    """Which nodes a leader asks whether they lead: also those that it takes for its followers?"""
    pace: Literal["steady", "afresh"] = "steady"
    """Whether checks go on at their own pace, or begin afresh with every new group."""
    ack: Literal["none", "awaited"] = "none"
    """Whether followers confirm that they are at work; one that does not is struck off."""
    resumes: Literal["joined", "leader", "own"] = "joined"
    """What a new group goes on with: all its nodes' tasks, its leader's, or each with its own."""
    misjudges: Literal["none", Heard, Ignored] = "none"
    """Messages of which kind are misjudged if they come from another group: those that are meant
    for strangers are ignored, and those that are meant for members are taken as such."""
    wraps: int = 0
    """After how many groups the numbers of a node begin anew; 0: never."""
    delay: Span = T + 1
    """For each rank above mine."""
    check: Span = 7 * T
    answers: Span = 2 * T
    accepts: Span = 3 * T
    ready: Span = 4 * T
    acks: Span = 2 * T


class InvitationStable(Stable):
    """How many groups this node has formed, so that no two get the same number."""

    counter: Annotated[int, Serial(module=__name__)] = 0


class InvitationState(State):
    """One node's part."""

    stable: InvitationStable
    phase: Phase
    group: Group
    """The group that I am in, or that I am forming or joining."""
    tasks: Tasks = frozenset()
    followers: frozenset[NodeId] = frozenset()
    found: frozenset[NodeId] = frozenset()
    """The other leaders that have answered."""
    unheard: frozenset[NodeId] = frozenset()
    """The followers that have not confirmed yet."""

    @property
    def leads(self) -> bool:
        return self.group[0] == self.me


S = TypeVar("S", bound=InvitationState)


class Invitation(Machine[S], Generic[S]):
    """Groups that merge; the printed form has another probe, a delay, and needless Acks."""

    state_type = InvitationState
    stable_type = InvitationStable
    rules_type = InvitationRules
    messages: tuple[type[Message], ...] = (
        *(AreYouThere, Here, NotHere),
        *(AreYouLeader, Leading, Following),
        *(Invite, Accept, Ready, Ack),
    )
    requests: tuple[type[Request], ...] = (Begin,)
    timers = tuple(Timer(wait, periodic=wait is Wait.CHECK) for wait in Wait)
    forms = {
        "sound": InvitationRules(),
        "printed": InvitationRules(probe="alive", outranked="delay", ack="awaited"),
    }
    promises = ("A3", "S4", "A2", "A4p")
    # As printed, groups may be left in the lurch, or miss each other for ever.
    form_promises = {"printed": ("A3", "S4", "A2")}
    assumptions = (
        Assumption.UNIQUE_IDS,
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.NO_PARTITION,
    )
    form_assumptions = {
        "printed": (Assumption.NO_RECOVERY, Assumption.NO_LOSS, Assumption.NO_PAUSE)
    }
    tells = frozenset({Topic.GROUPS, Topic.TASKS})
    strongest = "lowest"

    rules: InvitationRules

    def boot(self, me: NodeId, stable: InvitationStable | None) -> Result[S]:
        unborn = self._unborn(me, stable or InvitationStable())
        return self._forming(unborn, Phase.NORMAL), [self.set_timer(Wait.CHECK)]

    def step(self, s: S, event: Event) -> Result[S]:
        match event, s.phase:
            case Received(j, m), _ if j not in self.members or not self._concerns(s, m):
                return s, []
            case TimedOut(Wait.CHECK), _:
                return self._check(s)
            case Received(j, AreYouThere(group)), _:
                return s, [Send(j, self._presence(s, j, group))]
            case Received(_, Here()), Phase.PROBING:
                return replace(s, phase=Phase.NORMAL), _ended(s)
            case Received(_, NotHere()), Phase.PROBING:
                return self._stand_alone(s)
            case TimedOut(Wait.ANSWERS), Phase.PROBING:
                return self._stand_alone(replace(s, phase=Phase.NORMAL))

            case Received(j, AreYouLeader()), phase if phase not in RESTING:
                return self._answer(s, j)
            case Received(j, Leading()), Phase.ASKING:
                return replace(s, found=s.found | {j}), []
            case TimedOut(Wait.ANSWERS), Phase.ASKING:
                return self._consider(replace(s, phase=Phase.NORMAL))
            case TimedOut(Wait.DELAY), Phase.WAITING:
                return self._invite(replace(s, phase=Phase.NORMAL))

            case Received(_, Invite(group)), phase if phase not in RESTING:
                return self._accept(s, group)
            case Received(j, Accept(_, tasks)), Phase.INVITING:
                tasks = s.tasks | tasks if self.rules.resumes == "joined" else s.tasks
                return replace(s, followers=s.followers | {j}, tasks=tasks), []
            case TimedOut(Wait.ACCEPTS), Phase.INVITING:
                return self._lead(s)
            case Received(_, Ready(_, tasks)), Phase.ACCEPTED:
                return self._follow(s, s.tasks if self.rules.resumes == "own" else tasks)
            case TimedOut(Wait.READY), Phase.ACCEPTED:
                return self._stand_alone(replace(s, phase=Phase.NORMAL))
            case Received(j, Ack()), _:
                return replace(s, unheard=s.unheard - {j}), []
            case TimedOut(Wait.ACKS), _:
                heard = s.followers - s.unheard
                return replace(s, followers=heard, unheard=frozenset()), []

            case Asked(Begin(task)), phase if phase not in RESTING and s.leads:
                return self._invite(replace(s, tasks=s.tasks | {task}, found=frozenset()))
        return s, []

    def view(self, s: S) -> Standing:
        if s.phase in RESTING:
            return Standing(Status.ELECTION)
        return Standing(Status.NORMAL, s.group[0], s.group)

    def task(self, s: S) -> Tasks:
        return s.tasks

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return tuple(map(Begin, self.members.ids)) if view.status is Status.NORMAL else ()

    def cautions(self) -> tuple[str, ...]:
        rules, ranks = self.rules, len(self.members.ids) - 1
        length = (rules.answers + ranks * rules.delay).of(self.timing)
        if rules.outranked != "delay" or rules.check.of(self.timing) > length:
            return ()
        wait = f"waits {rules.answers} for answers and then {ranks} times {rules.delay}"
        never = f"its check every {rules.check} comes first and cancels that: it never invites them"
        return (f"the weakest of {ranks + 1} that finds stronger leaders {wait}, but {never}",)

    def _concerns(self, s: S, m: Message) -> bool:
        """Whether a message concerns me: of my own group any, of another if meant for strangers."""
        misjudged = type(m).__name__ == self.rules.misjudges
        same = isinstance(m, Tagged) and m.group == s.group
        return same or isinstance(m, FOR_STRANGERS) is not misjudged

    def _check(self, s: S) -> Result[S]:
        """Look for other leaders, or after my own."""
        if s.phase in RESTING:
            return s, [self.set_timer(Wait.CHECK)]
        timers = [self.set_timer(Wait.CHECK), self.set_timer(Wait.ANSWERS)]
        if not s.leads:
            return replace(s, phase=Phase.PROBING), [
                Send(s.group[0], AreYouThere(s.group)),
                *timers,
            ]
        # A follower that has restarted unseen leads a group of its own by now, so all are asked.
        known = s.followers if self.rules.asks == "outsiders" else frozenset()
        questions = [Send(j, AreYouLeader(s.group)) for j in self._others(s) if j not in known]
        return replace(s, phase=Phase.ASKING, found=frozenset()), [*_ended(s), *questions, *timers]

    def _presence(self, s: S, j: NodeId, group: Group) -> Message:
        """Whether j may go on following me."""
        # Unlike the slides, it is not enough to be alive: a leader that has lost its group, or has
        # left it for another, would be followed for ever.
        mine = group == s.group and s.leads and j in s.followers
        return Here(group) if mine or self.rules.probe == "alive" else NotHere(group)

    def _answer(self, s: S, j: NodeId) -> Result[S]:
        """Tell another leader what I am."""
        if not s.leads:
            return s, [Send(j, Following(s.group))] if self.rules.participants == "no" else []
        weaker = self._is_weaker(s, j)
        ignored = weaker and self.rules.queries == "ignore-weaker"
        answer: list[Effect] = [] if ignored else [Send(j, Leading(s.group))]
        if not (weaker and self.rules.prompted and s.phase is Phase.NORMAL):
            return s, answer
        asking, effects = self._check(s)
        return asking, [*answer, *effects]

    def _consider(self, s: S) -> Result[S]:
        """All answers are in: who is to invite whom?"""
        stronger = self._stronger(s)
        if s.found and s.found.isdisjoint(stronger):
            return self._invite(s)
        weaker = s.found.difference(stronger)
        if weaker and self.rules.outranked == "weaker":
            return self._invite(replace(s, found=weaker))
        if s.found and self.rules.outranked == "delay":
            delay = SetTimer(Wait.DELAY, len(stronger) * self.rules.delay.of(self.timing))
            return replace(s, phase=Phase.WAITING), [delay]
        # Unlike the slides, I do not try my luck after a delay: the stronger leader is linked to
        # me both ways, for it has answered, and so it will find me too.
        return replace(s, found=frozenset()), []

    def _invite(self, s: S) -> Result[S]:
        """Form a new group of the leaders that I have found and of my followers."""
        inviting = self._forming(s, Phase.INVITING)
        invites = [Send(j, Invite(inviting.group)) for j in sorted(s.found | s.followers)]
        return inviting, [*self._stopped(s), *invites, self.set_timer(Wait.ACCEPTS)]

    def _accept(self, s: S, group: Group) -> Result[S]:
        """Leave my group for a new one; if I lead, my followers are invited too."""
        candidate = group[0]
        if candidate == s.me or candidate not in self.members:
            return s, []
        accepted = self._entering(s, Phase.ACCEPTED, group)
        invites = [Send(j, Invite(group)) for j in sorted(s.followers - {candidate})]
        accept = Send(candidate, Accept(group, s.tasks))
        return accepted, [*self._stopped(s), *invites, accept, self.set_timer(Wait.READY)]

    def _lead(self, s: S) -> Result[S]:
        """The group is complete: to work."""
        ready = [Send(j, Ready(s.group, s.tasks)) for j in sorted(s.followers)]
        unheard = s.followers if self.rules.ack == "awaited" else frozenset()
        acks = [self.set_timer(Wait.ACKS)] if unheard else []
        return replace(s, phase=Phase.NORMAL, unheard=unheard), [*ready, *acks, *self._started()]

    def _follow(self, s: S, tasks: Tasks) -> Result[S]:
        """The group that I have joined is complete: to work."""
        ack = [Send(s.group[0], Ack(s.group))] if self.rules.ack == "awaited" else []
        following = replace(s, phase=Phase.NORMAL, tasks=tasks)
        return following, [*_ended(s), *ack, *self._started()]

    def _stand_alone(self, s: S) -> Result[S]:
        """My leader is lost: lead a group of my own. That takes no message."""
        return self._forming(s, Phase.NORMAL), [*_ended(s), *self._started()]

    def _unborn(self, me: NodeId, stable: InvitationStable) -> S:
        """Myself before I have formed my first group."""
        state_type: Any = self.state_type
        unborn: S = state_type(me, stable, Phase.NORMAL, (me, 0))
        return unborn

    def _forming(self, s: S, phase: Phase) -> S:
        """Myself at the head of a new group, which nobody else is in yet."""
        counter = s.stable.counter + 1
        if 0 < self.rules.wraps < counter:
            counter = 1
        numbered = replace(s, stable=InvitationStable(counter))
        return self._entering(numbered, phase, (s.me, counter))

    def _entering(self, s: S, phase: Phase, group: Group) -> S:
        """Myself with this group instead of the one before, and of that one only my tasks."""
        nobody = frozenset[NodeId]()
        return replace(s, phase=phase, group=group, followers=nobody, found=nobody, unheard=nobody)

    # --- who takes part, and who is stronger ---

    def _others(self, s: S) -> tuple[NodeId, ...]:
        """Everybody else."""
        return self.members.others(s.me)

    def _stronger(self, s: S) -> tuple[NodeId, ...]:
        """Those that outrank me."""
        return self.members.stronger_than(s.me)

    def _is_weaker(self, s: S, j: NodeId) -> bool:
        """Whether I outrank j."""
        return self.members.is_stronger(s.me, j)

    # --- work and timers ---

    def _stopped(self, s: S) -> list[Effect]:
        """My work rests, and my old group is no concern of mine any more."""
        idle = [Wait.ACKS] if s.unheard else []
        idle += [Wait.CHECK] if self.rules.pace == "afresh" else []
        return [*_ended(s), *map(CancelTimer, idle)]

    def _started(self) -> list[Effect]:
        """My work goes on in another group."""
        return [self.set_timer(Wait.CHECK)] if self.rules.pace == "afresh" else []


def _ended(s: S) -> list[Effect]:
    """Whatever a node was waiting for, it waits no longer."""
    return [CancelTimer(WAITS[s.phase])] if s.phase in WAITS else []
