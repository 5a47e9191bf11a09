"""Bully: of the nodes that answer, the strongest leads.

Source: H. Garcia-Molina, "Elections in a Distributed Computing System", 1982; the message form
of P. F. Souto, "Elections", 2021, slides "The Bully Election Algorithm".
Needs: a message is handled within T of being sent, and before a timer that ends at that very
moment. Otherwise two nodes can lead: run bully/late_answer.
"""

from enum import StrEnum
from typing import Literal

from msgspec.structs import replace

from electorate.core import *


class AreYouThere(Message):
    """You are stronger than I am: are you up?"""


class Yes(Message):
    """I am up and stronger than you: leave it to me."""


class Halt(Message):
    """Stop what you are doing: I am about to lead."""


class NewLeader(Message):
    """I lead."""


class Wait(StrEnum):
    """The timers."""

    PROBE = "probe"  # somebody stronger would have answered by now
    ANSWERED = "answered"  # the node that answered would have halted me by now
    SETTLE = "settle"  # everybody weaker has been halted by now
    HALTED = "halted"  # the node that halted me would have announced itself by now
    GUARD = "guard"  # nothing that was meant for my last life is still on its way
    DOUBT = "doubt"  # a node that I see, stronger than my leader, would have halted me by now


class Phase(StrEnum):
    """Where a node is in an election."""

    NORMAL = "normal"  # knows its leader
    PROBING = "probing"  # asked all stronger nodes; none has answered yet
    ANSWERED = "answered"  # somebody stronger is up and will take over
    HALTING = "halting"  # nobody stronger is up; the weaker ones are being halted
    HALTED = "halted"  # waits for the announcement of the node that halted it


Reaction = Literal["yes", "restart", "silent"]


class BullyRules(Rules):
    """What may be varied. The defaults are the sound form."""

    accept: Literal["halter", "anyone"] = "halter"
    """Whose announcement counts: that of the node that halted me, or anybody's."""
    halt: Literal["strongest", "latest"] = "strongest"
    """Which of two halters is remembered."""
    guard: Span = 2 * T
    """How long after its own recovery a node takes no announcement."""
    newcomers: Literal["trust", "guard"] = "trust"
    """Whether a node that is started for the first time takes announcements at once, which is right
    if all are started together, or does as after a recovery."""
    appearing: Literal["challenge", "ignore"] = "challenge"
    """What a leader or candidate does when a stronger node comes into view."""
    doubt: Span = 2 * T
    """How long a node follows a leader, or leads, with a stronger node in view before it asks that
    one; no time at all means that it never asks."""
    while_probing: Reaction = "yes"
    """What a probing or answered node does when it is probed itself."""
    while_halting: Reaction = "yes"
    while_halted: Reaction = "yes"
    probe: Span = 2 * T
    answered: Span = 4 * T
    settle: Span = T
    halted: Span = 2 * T


class BullyState(State):
    """One node's part in the election."""

    phase: Phase
    leader: NodeId | None = None
    halter: NodeId | None = None
    again: bool = False
    """Whether a stronger node has come into view since I asked: ask again before leading."""
    fresh: bool = False
    """Whether I recovered so lately that announcements to my last life may still arrive."""
    alive: frozenset[NodeId] = frozenset()


class Bully(Machine[BullyState]):
    """The message version; the printed form lacks accept, halt, guard, appearing and doubt."""

    state_type = BullyState
    rules_type = BullyRules
    messages = (AreYouThere, Yes, Halt, NewLeader)
    timers = tuple(Timer(wait) for wait in Wait)
    uses_views = True
    forms = {
        "sound": BullyRules(),
        "printed": BullyRules(
            accept="anyone", halt="latest", guard=0 * T, appearing="ignore", doubt=0 * T
        ),
    }
    promises = ("A1", "A2")
    assumptions = (
        Assumption.UNIQUE_IDS,
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.NO_LOSS,
        Assumption.NO_PAUSE,
        Assumption.NO_PARTITION,
    )
    form_assumptions = {"printed": (Assumption.NO_RECOVERY,)}
    strongest = "lowest"

    rules: BullyRules

    def boot(self, me: NodeId, stable: Stable | None) -> Result[BullyState]:
        booted = BullyState(me, Stable(), Phase.NORMAL, alive=frozenset(self.members.ids))
        trusts = stable is None and self.rules.newcomers == "trust"
        if trusts or not self.rules.guard.of(self.timing):
            return self._start(booted)
        state, effects = self._start(replace(booted, fresh=True))
        return state, [self.set_timer(Wait.GUARD), *effects]

    def step(self, s: BullyState, event: Event) -> Result[BullyState]:
        state, effects = self._react(s, event)
        return state, [*effects, *self._doubt(s, state, event)]

    def _react(self, s: BullyState, event: Event) -> Result[BullyState]:
        match event, s.phase:
            case Received(j, _), _ if j not in self.members.ids:
                return s, []
            case Viewed(alive), _:
                return self._look(s, alive)

            case Received(j, AreYouThere()), Phase.NORMAL:
                return self._answer(s, j, "restart")
            case Received(j, AreYouThere()), Phase.PROBING | Phase.ANSWERED:
                return self._answer(s, j, self.rules.while_probing)
            case Received(j, AreYouThere()), Phase.HALTING:
                return self._answer(s, j, self.rules.while_halting)
            case Received(j, AreYouThere()), Phase.HALTED:
                return self._answer(s, j, self.rules.while_halted)

            case Received(_, Yes()), Phase.PROBING:
                return replace(s, phase=Phase.ANSWERED, again=False), [CancelTimer(Wait.PROBE)]
            case TimedOut(Wait.PROBE), Phase.PROBING:
                return self._halt_weaker(s, [CancelTimer(Wait.ANSWERED)])
            case TimedOut(Wait.ANSWERED), Phase.PROBING:
                # After a pause both are overdue, and the longer one may be the first to fire.
                return self._halt_weaker(s, [CancelTimer(Wait.PROBE)])
            case TimedOut(Wait.ANSWERED), Phase.ANSWERED:
                return self._start(s)

            case Received(j, Halt()), _ if self._yields_to(s, j):
                halted = replace(s, phase=Phase.HALTED, leader=None, halter=j, again=False)
                return halted, [*_ended(s), self.set_timer(Wait.HALTED)]
            case TimedOut(Wait.HALTED), Phase.HALTED:
                return self._start(s)
            case TimedOut(Wait.SETTLE), Phase.HALTING:
                return self._announce(s)

            case Received(j, NewLeader()), _ if self._accepts(s, j):
                return self._follow(s, j)
            case TimedOut(Wait.GUARD), _:
                return replace(s, fresh=False), []
        return s, []

    def view(self, s: BullyState) -> Standing:
        if s.phase is Phase.NORMAL:
            return Standing(Status.NORMAL, s.leader)
        return Standing(Status.ELECTION)

    def _start(self, s: BullyState) -> Result[BullyState]:
        """Look whether anybody stronger is up."""
        stronger = self.members.stronger_than(s.me)
        if not stronger:
            return self._halt_weaker(s, _ended(s))
        probing = replace(s, phase=Phase.PROBING, leader=None, halter=None, again=False)
        probes: list[Effect] = [Send(j, AreYouThere()) for j in stronger]
        # Both timers count from the probe: how soon an answer came says nothing about when the
        # one that answered will be done.
        timers = [
            self.set_timer(Wait.PROBE),
            self.set_timer(Wait.ANSWERED),
        ]
        return probing, [*_ended(s), *probes, *timers]

    def _answer(self, s: BullyState, j: NodeId, reaction: Reaction) -> Result[BullyState]:
        """Tell a weaker node that I am up, and see to it that there will be a leader."""
        if reaction == "silent":
            return s, []
        if reaction == "yes":
            return s, [Send(j, Yes())]
        state, effects = self._start(s)
        return state, [Send(j, Yes()), *effects]

    def _halt_weaker(self, s: BullyState, ended: list[Effect]) -> Result[BullyState]:
        """Nobody stronger is up: make everybody weaker give up what it believes."""
        halting = replace(s, phase=Phase.HALTING, leader=None, halter=None)
        halts = [Send(j, Halt()) for j in self.members.weaker_than(s.me)]
        return halting, [*ended, *halts, self.set_timer(Wait.SETTLE)]

    def _announce(self, s: BullyState) -> Result[BullyState]:
        """Everybody weaker that is up has been halted: lead."""
        if s.again:
            return self._start(s)
        leading = replace(s, phase=Phase.NORMAL, leader=s.me)
        return leading, [Send(j, NewLeader()) for j in self.members.weaker_than(s.me)]

    def _follow(self, s: BullyState, j: NodeId) -> Result[BullyState]:
        """Take j for the leader, unless it is known to be dead already."""
        following = replace(s, phase=Phase.NORMAL, leader=j, halter=None, again=False)
        state, effects = self._watch(following)
        return state, [*_ended(s), *effects]

    def _look(self, s: BullyState, alive: frozenset[NodeId]) -> Result[BullyState]:
        """Compare the leader with the nodes in view now."""
        seen = replace(s, alive=alive)
        stronger = alive.intersection(self.members.stronger_than(s.me)) - s.alive
        # Unlike the paper, a node that leads, or is about to, asks a stronger node that it could
        # not see before: otherwise two sides of a healed partition keep a leader each.
        if stronger and self.rules.appearing == "challenge":
            if s.leader == s.me:
                return self._start(seen)
            if s.phase in (Phase.PROBING, Phase.HALTING):
                return replace(seen, again=True), []
        return self._watch(seen)

    def _watch(self, s: BullyState) -> Result[BullyState]:
        """A leader that is not in view is a leader lost."""
        if s.phase is Phase.NORMAL and s.leader not in s.alive:
            return self._start(s)
        return s, []

    def _doubt(self, s: BullyState, after: BullyState, event: Event) -> list[Effect]:
        """Arm the timer for as long as my view speaks against my leader; ask whenever it fires."""
        # Unlike the paper, no node is at rest in such a state. With views that are right in the
        # end that makes one leader from any state: all at rest follow the strongest they see.
        rival = self._rival(after)
        fired = event == TimedOut(Wait.DOUBT)
        doubted = self._rival(s) is not None and not fired
        if rival is None:
            return [CancelTimer(Wait.DOUBT)] if doubted else []
        asks: list[Effect] = [Send(rival, AreYouThere())] if fired else []
        return asks if doubted else [*asks, self.set_timer(Wait.DOUBT)]

    def _rival(self, s: BullyState) -> NodeId | None:
        """The strongest node in view, if it is stronger than my leader."""
        if s.phase is not Phase.NORMAL or s.leader is None or not self.rules.doubt.of(self.timing):
            return None
        stronger = s.alive.intersection(self.members.stronger_than(s.leader))
        return max(stronger, key=self.members.rank, default=None)

    def _yields_to(self, s: BullyState, j: NodeId) -> bool:
        if s.phase is not Phase.HALTED or s.halter is None or self.rules.halt == "latest":
            return True
        # Unlike the paper, a weaker halter does not displace a stronger one: the weaker one has
        # itself been halted by now, or will be.
        return not self.members.is_stronger(s.halter, j)

    def _accepts(self, s: BullyState, j: NodeId) -> bool:
        # Unlike the paper, an announcement counts only from the node that halted me, and not
        # while it may have been meant for my last life.
        return not s.fresh and (self.rules.accept == "anyone" or s.halter == j)


def _ended(s: BullyState) -> list[Effect]:
    """Whatever a node was waiting for, it waits no longer."""
    match s.phase:
        case Phase.PROBING:
            return [CancelTimer(Wait.PROBE), CancelTimer(Wait.ANSWERED)]
        case Phase.ANSWERED:
            return [CancelTimer(Wait.ANSWERED)]
        case Phase.HALTING:
            return [CancelTimer(Wait.SETTLE)]
        case Phase.HALTED:
            return [CancelTimer(Wait.HALTED)]
        case Phase.NORMAL:
            return []
