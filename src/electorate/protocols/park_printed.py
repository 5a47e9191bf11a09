"""Park's figure: the strongest node of a view proposes itself, and leads once all have accepted.

Source: S. Park, "A Safe Election Protocol based on an Unreliable Failure Detector in Distributed
Systems", Figure 1. The form `literal` does what is printed there and never commits; in the form
`printed` the names and the guard are put right, and nothing else.
Needs: nobody crashes, nothing is lost, and no detector is ever wrong. Otherwise two nodes lead, or
nobody, for ever: run park_printed/wrong_suspicion. What one would run is in park.py.
"""

from typing import Annotated, Literal

from msgspec.structs import replace

from electorate.core import *

Round = Annotated[int, Ordinal()]


class Propose(Message):
    """I propose this leader."""

    leader: NodeId
    round: Round


class Accept(Message):
    """I agree to what you proposed in this round."""

    round: Round


class Reject(Message):
    """I do not agree to what you proposed in this round."""

    round: Round


class Commit(Message):
    """All have agreed: take this node for your leader."""

    leader: NodeId
    round: Round


class Abort(Message):
    """Somebody has not agreed."""

    round: Round


class ParkPrintedRules(Rules):
    """Where the figure cannot run, or the text says something else. The defaults are `printed`."""

    answer: Literal["PropIn", "RoundIn"] = "RoundIn"
    """The variable that answers carry. Nothing is ever assigned to PropIn."""
    refresh: Literal["before", "after", "never"] = "after"
    """When a proposal makes the view out of date: before the guard that asks for it, or after."""
    otherwise: Literal["outer", "inner"] = "inner"
    """The condition whose `else` rejects: that of the guard, as printed, or that of the test."""
    reply: Literal["propose", "view"] = "propose"
    """When the guard is looked at: as a proposal arrives, or also as a view does."""
    start: Literal["view", "leaderless"] = "view"
    """When the strongest node proposes: on every view (figure), or without a leader (text)."""
    compare: Literal["at-least", "greater"] = "at-least"
    """How the proposed round is compared with my own: as in the figure, or as in the text."""
    commit: Literal["leader", "round"] = "leader"
    """What a commit sets: the leader (figure), or the leader and the round (text)."""


class ParkPrintedState(State):
    """The variables of the figure. `Next`, which is never read, is left out."""

    view: frozenset[NodeId]
    current: bool = False
    """CurView: the view is newer than the last proposal."""
    leader: NodeId | None = None
    led: bool = False
    """LeaderStatus."""
    round: Round = 0
    ack: frozenset[NodeId] = frozenset()
    prop: bool = False
    """A proposal has not been answered yet."""
    new_leader: NodeId | None = None
    round_in: Round = 0
    proposer: NodeId | None = None
    """The q of the procedure that answers, which is not bound there."""


class ParkPrinted(Machine[ParkPrintedState]):
    """Figure 1, with as little put right as its form says."""

    state_type = ParkPrintedState
    rules_type = ParkPrintedRules
    messages = (Propose, Accept, Reject, Commit, Abort)
    uses_views = True
    forms = {
        "printed": ParkPrintedRules(),
        "literal": ParkPrintedRules(answer="PropIn", refresh="before", otherwise="outer"),
    }
    promises = ("P1", "P2")
    # To the letter, P1 is kept whatever happens, for nobody ever leads.
    form_promises = {"literal": ("P1",)}
    form_assumptions = dict.fromkeys(
        ("sound", "printed"),
        (Assumption.ACCURATE_DETECTOR, Assumption.NO_CRASH, Assumption.NO_LOSS),
    )
    tells = frozenset({Topic.VIEWS})
    strongest = "lowest"

    rules: ParkPrintedRules

    def boot(self, me: NodeId, stable: Stable | None) -> Result[ParkPrintedState]:
        return ParkPrintedState(me, Stable(), frozenset({me})), []

    def step(self, s: ParkPrintedState, event: Event) -> Result[ParkPrintedState]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Received(_, Propose(l) | Commit(l)) if l not in self.members.ids:
                return s, []
            case Viewed(alive):
                return self._look(s, alive)

            case Received(q, Propose(l, k)):
                proposed = replace(s, prop=True, new_leader=l, round_in=k, proposer=q)
                if self.rules.refresh == "before":
                    proposed = replace(proposed, current=False)
                answered, effects = self._reply(proposed)
                if self.rules.refresh == "after":
                    answered = replace(answered, current=False)
                return answered, effects

            case Received(_, Reject(k)) if k == s.round:
                return replace(s, ack=frozenset()), self._all(s, Abort(k))

            case Received(j, Accept(k)) if k == s.round:
                ack = s.ack | {j}
                if not s.view <= ack:
                    return replace(s, ack=ack), []
                return replace(s, ack=frozenset()), self._all(s, Commit(s.me, k))

            case Received(_, Commit(l, k)) if k == s.round_in:
                led = replace(s, leader=l, led=True)
                return (replace(led, round=k) if self.rules.commit == "round" else led), []
        return s, []

    def view(self, s: ParkPrintedState) -> Standing:
        group = tuple(sorted(s.view))
        if not s.led:
            return Standing(Status.ELECTION, None, group)
        return Standing(Status.NORMAL, s.leader, group)

    def _look(self, s: ParkPrintedState, alive: frozenset[NodeId]) -> Result[ParkPrintedState]:
        """Upon received v_p from FD."""
        led = s.led and s.leader in alive
        seen = replace(s, view=alive, current=True, led=led)
        effects: list[Effect] = []
        if self.rules.reply == "view" and s.prop:
            seen, effects = self._reply(seen)
        if s.me == self.members.strongest_of(alive) and not (led and self.rules.start != "view"):
            seen = replace(seen, round=s.round + 1, ack=frozenset())
            effects = [*effects, *self._all(seen, Propose(s.me, seen.round))]
        return seen, effects

    def _reply(self, s: ParkPrintedState) -> Result[ParkPrintedState]:
        """Procedure Reply_election."""
        assert s.proposer is not None
        assert s.new_leader is not None
        k = s.round_in if self.rules.answer == "RoundIn" else 0
        reject: list[Effect] = [Send(s.proposer, Reject(k))]
        if not (s.current and s.prop):
            return s, reject if self.rules.otherwise == "outer" else []
        answered = replace(s, prop=False)
        is_weak = self.members.is_stronger(self.members.strongest_of(s.view), s.new_leader)
        least = s.round if self.rules.compare == "at-least" else s.round + 1
        if not is_weak and s.round_in >= least:
            return answered, [Send(s.proposer, Accept(k))]
        return answered, reject if self.rules.otherwise == "inner" else []

    def _all(self, s: ParkPrintedState, message: Message) -> list[Effect]:
        """The message to everybody in view, myself included."""
        return [Send(j, message) for j in sorted(s.view)]
