"""Three-phase commit by ballots: the latest attempt decides, so a majority is never divided.

Source: I. Keidar and D. Dolev, "Increasing the Resilience of Atomic Commit, at No Additional
Cost", 1995. Every node remembers for whom it last voted in an election of a coordinator (by
number) and in which such number it last got ready; of different opinions the one with the largest
number counts.
Needs: a disk that keeps its word; to go on without the coordinator, a majority that can reach each
other and agrees on who leads: run three_phase_ballots/two_leaders.

What all commit protocols share is in transaction.py beside this file.
"""

from typing import Any, Generic, Literal

from msgspec.structs import replace

from electorate.core import *
from electorate.protocols.commit.state import (
    Abort,
    Commit,
    Done,
    Forget,
    Help,
    Inner,
    Kept,
    No,
    Prepare,
    Settled,
    TransactionRules,
    TransactionStable,
    TransactionState,
    Wait,
    Yes,
    word_of,
)
from electorate.protocols.commit.transaction import Transaction, at

FIRST = 1
"""The coordinator's own ballot, for which everybody has voted to begin with."""


class PreCommit(Message):
    """All have voted yes: get ready to commit, in this ballot."""

    ballot: int


class PreAbort(Message):
    """It will not come to a commit: get ready to abort, in this ballot."""

    ballot: int


class Ack(Message):
    """I am ready, in this ballot."""

    ballot: int


class Poll(Message):
    """I was elected to find out the decision: leave all ballots before this one."""

    ballot: int


class Report(Message):
    """I have; so far have I come, in an attempt of that number."""

    ballot: int
    stage: Stage
    attempt: int


class Refuse(Message):
    """I have already left your ballot for this one."""

    ballot: int


class BallotRules(TransactionRules):
    """What may be varied. The defaults are the sound form."""

    promises: Literal["logged", "forgotten", "twice", "ignored"] = "logged"
    """What a node remembers of its vote in a ballot: all; nothing after a crash; not for which node
    it was; or nothing at all when it is told to get ready."""
    opinions: Literal["latest", "committable"] = "latest"
    """Which of different opinions counts: that of the latest attempt, or the wish to commit."""
    attempts: Literal["majority", "any"] = "majority"
    """How many must have answered before an elected node tries to decide."""
    own_state: Literal["judging", "polling"] = "judging"
    """Whether an elected node judges by how far it has come now, or by how far it had come when it
    polled."""


class BallotStable(TransactionStable[Kept], Generic[Kept]):
    """The log."""

    elected: int = FIRST
    """The last ballot that I have voted in."""
    chosen: NodeId = 0
    """The node for which I voted in it; 0 means the coordinator."""
    attempt: int = 0
    """The ballot in which I got ready; 0 means never."""


class BallotState(TransactionState[Inner, Kept], Generic[Inner, Kept]):
    """One node's part in the transaction."""

    stable: BallotStable[Kept]
    ballot: int = 0
    """The ballot that I hold; 0 means none."""
    reports: frozenset[tuple[NodeId, Stage, int]] = frozenset()
    """How far those have come that voted in it, and when they got ready."""
    attempt: Stage | None = None
    """The decision for which I am getting all others ready."""
    unlogged_vote: tuple[int, NodeId] | None = None
    """The last ballot that I have voted in, and for which node, if that is not in my log."""

    @property
    def vote(self) -> tuple[int, NodeId]:
        """The last ballot that I have voted in, and for which node."""
        return self.unlogged_vote or (self.stable.elected, self.stable.chosen)

    @property
    def elected(self) -> int:
        """The last ballot that I have voted in."""
        return self.vote[0]


class ThreePhaseBallots(Transaction):
    """One transaction: PREPARE, YES or NO, PRECOMMIT, ACK, COMMIT or ABORT."""

    state_type = BallotState
    stable_type = BallotStable
    new = BallotState
    log = BallotStable
    rules_type = BallotRules
    messages = (
        *(Prepare, Yes, No, Commit, Abort, Done, Forget, Settled, Help),
        *(PreCommit, PreAbort, Ack, Poll, Report, Refuse),
    )
    promises: tuple[str, ...] = ("C1", "C2", "C3", "C5", "C7")
    assumptions = (Assumption.CLOSED_BOUNDS,)  # For C5; whatever is decided is so without.
    growing = ("elected",)

    rules: BallotRules

    def step(self, s: Any, event: Event) -> Result[Any]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Received(j, PreCommit(ballot)) if s.me != self.coordinator:
                return self._get_ready(s, j, ballot, Stage.COMMITTABLE)
            case Received(j, PreAbort(ballot)) if s.me != self.coordinator:
                return self._get_ready(s, j, ballot, Stage.ABORTABLE)
            case Received(j, Ack(ballot)) if s.attempt and ballot == s.ballot:
                return self._decided(replace(s, heard=s.heard | {j}))

            case Received(j, Poll(ballot)) if s.me != self.coordinator:
                return self._report(s, j, ballot)
            case Received(j, Report(ballot, stage, attempt)) if s.finding and ballot == s.ballot:
                return self._note(s, j, stage, attempt)
            case Received(j, Refuse(ballot)) if s.finding and ballot >= s.ballot:
                return self._give_up(s, j, ballot), []
            case TimedOut(Wait.RETRY) if s.finding and s.attempt is None:
                return self._judge(s)
        return super().step(s, event)

    def agree(self, s: Any) -> Result[Any]:
        """All have voted yes: get a majority ready before anybody commits."""
        return self._attempt(replace(s, ballot=FIRST), Stage.COMMITTABLE)

    def learn(self, s: Any, stage: Stage) -> Result[Any]:
        return super().learn(replace(s, attempt=None, ballot=0, reports=frozenset()), stage)

    def _attempt(self, s: Any, stage: Stage) -> Result[Any]:
        """Get everybody ready in my ballot, myself first."""
        kind = PreCommit if stage is Stage.COMMITTABLE else PreAbort
        words: list[Effect] = [Send(j, kind(s.ballot)) for j in self.participants if j != s.me]
        trying = replace(s, attempt=stage, reports=frozenset(), heard=frozenset())
        if s.me == self.coordinator:
            # After a crash it is in doubt either way, so this need not be in its log.
            trying = at(trying, stage, forced=False)
        elif s.vote == (s.ballot, s.me) or self.rules.own_state == "polling":
            trying = replace(self._ready(trying, s.ballot, s.me, stage), heard=frozenset({s.me}))
        after, effects = self._decided(trying)
        return after, effects or [*words, self.set_timer(Wait.RETRY)]

    def _get_ready(self, s: Any, j: NodeId, ballot: int, stage: Stage) -> Result[Any]:
        """Get ready, unless I have left that ballot."""
        if s.stage is Stage.WORKING:
            s = self.refused(s)
        if s.stage.is_final:
            return s, [Send(j, word_of(s.stage))]
        if not self._may_vote(s, ballot, j) and self.rules.promises != "ignored":
            return s, [Send(j, Refuse(s.elected))]
        ready = self._ready(s, ballot, j, stage)
        return ready, [Send(j, Ack(ballot)), *self.heed(ready)]

    def _decided(self, s: Any) -> Result[Any]:
        """Decide once a majority is ready."""
        if len(s.heard) < self.majority:
            return s, []
        commits = s.attempt is Stage.COMMITTABLE
        return self.found(s, Stage.COMMITTED if commits else Stage.ABORTED)

    # --- recovery ---

    def find_out(self, s: Any) -> Result[Any]:
        """Ask everybody else to leave all earlier ballots, and how far they have come."""
        unused = s.vote == (s.ballot, s.me) and s.attempt is None
        ballot = s.ballot if unused else s.elected + 1
        polls: list[Effect] = [Send(j, Poll(ballot)) for j in self.participants if j != s.me]
        mine = {(s.me, s.stage, s.stable.attempt)} if self.rules.own_state == "polling" else set()
        polling = self._voted(replace(s, attempt=None, reports=frozenset(mine)), ballot, s.me)
        return replace(polling, ballot=ballot), polls

    def _may_vote(self, s: Any, ballot: int, j: NodeId) -> bool:
        """Nobody goes back to an earlier ballot, or votes for two in the same."""
        elected, chosen = s.vote
        for_it = j == (chosen or self.coordinator) or self.rules.promises == "twice"
        return ballot > elected or (ballot == elected and for_it)

    def _voted(self, s: Any, ballot: int, j: NodeId) -> Any:
        """The node once it has voted for j in this ballot, and so left all before it."""
        if self.rules.promises != "forgotten":
            return replace(s, stable=replace(s.stable, elected=ballot, chosen=j))
        return replace(s, unlogged_vote=(ballot, j))

    def _ready(self, s: Any, ballot: int, j: NodeId, stage: Stage) -> Any:
        """The node once it is ready in that ballot."""
        ready = at(self._voted(s, ballot, j), stage, asked=False)
        return replace(ready, stable=replace(ready.stable, attempt=ballot))

    def _report(self, s: Any, j: NodeId, ballot: int) -> Result[Any]:
        """Leave all earlier ballots. A node that has not voted yet must not vote any more."""
        if s.stage is Stage.WORKING and self.rules.polled_early == "refuse":
            s = self.refused(s)
        if s.stage.is_final:
            return s, [Send(j, word_of(s.stage))]
        if not self._may_vote(s, ballot, j):
            return s, [Send(j, Refuse(s.elected))]
        voted = self._voted(s, ballot, j)
        return voted, [Send(j, Report(ballot, s.stage, s.stable.attempt)), *self.heed(s)]

    def _give_up(self, s: Any, j: NodeId, ballot: int) -> Any:
        """The next ballot goes beyond that one; if it began at once, two leaders would never stop.

        In a ballot that it has voted in before, a node must not vote for any other.
        """
        left = self._voted(s, ballot, j) if ballot > s.elected else s
        unused = left.attempt is None
        return replace(left, finding=False, ballot=0 if unused else left.ballot)

    def _note(self, s: Any, j: NodeId, stage: Stage, attempt: int) -> Result[Any]:
        noted = replace(s, reports=s.reports | {(j, stage, attempt)})
        heard = {i for i, _, _ in noted.reports} | {s.me}
        return self._judge(noted) if heard.issuperset(self.participants) else (noted, [])

    def _judge(self, s: Any) -> Result[Any]:
        """Try what the latest attempt of a majority tried; otherwise wait for more of them."""
        known = {i: (attempt, stage) for i, stage, attempt in s.reports}
        if s.me != self.coordinator:
            known.setdefault(s.me, (s.stable.attempt, s.stage))
        if len(known) < self.majority and self.rules.attempts == "majority":
            return replace(s, finding=False, reports=frozenset()), [self.set_timer(Wait.RETRY)]
        opinions = set(known.values())
        if self.rules.opinions == "latest":
            opinions = {max(opinions, key=lambda each: each[0], default=(0, Stage.UNCERTAIN))}
        commits = any(stage is Stage.COMMITTABLE for _, stage in opinions)
        # Where nobody was ever ready, nobody knows whether all have voted yes.
        return self._attempt(s, Stage.COMMITTABLE if commits else Stage.ABORTABLE)
