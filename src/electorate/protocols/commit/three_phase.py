"""Three-phase commit: before anybody commits, a majority knows that all have voted yes.

Source: Carnegie Mellon University, lecture notes "Coordinator Election", sections "Three-phase
Commit" and "Recovery in 3PC"; that a majority must be ready before anybody commits or aborts, and
nobody for both, after D. Skeen, "A Quorum-Based Commit Protocol", 1982.
Needs: a disk that keeps its word; to go on without the coordinator, a majority that can reach each
other and has not been divided before: run three_phase/divided_majority.

What all commit protocols share is in transaction.py beside this file.
"""

from collections import Counter
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
    TransactionState,
    Wait,
    Yes,
    word_of,
)
from electorate.protocols.commit.transaction import Transaction, at


class PreCommit(Message):
    """All have voted yes: get ready to commit."""


class PreAbort(Message):
    """It will not come to a commit: get ready to abort."""


class Ack(Message):
    """I am ready for that, and for nothing else."""

    stage: Stage


class Poll(Message):
    """I was elected to find out the decision: how far have you come?"""


class Report(Message):
    """So far have I come."""

    stage: Stage


class ThreePhaseRules(TransactionRules):
    """What may be varied. The defaults are the sound form."""

    commits: Literal["majority", "late"] = "majority"
    """When it is committed: once a majority is ready; or once all are, or it has got too late."""
    switching: Literal["refuse", "obey"] = "refuse"
    """What a node does that is ready for one decision and told to get ready for the other."""
    aborting: Literal["any", "none-committable", "uncertain"] = "any"
    """When an elected node tries to abort: if a majority is uncertain or ready to abort; only if
    besides nobody is ready to commit; or only if a majority is uncertain, and nobody is ready."""
    own_state: Literal["judging", "polling"] = "judging"
    """Whether an elected node judges by how far it has come now, or by how far it had come when it
    polled."""


class ThreePhaseState(TransactionState[Inner, Kept], Generic[Inner, Kept]):
    """One node's part in the transaction."""

    reports: frozenset[tuple[NodeId, Stage]] = frozenset()
    """How far the nodes have come that I polled."""
    attempt: Stage | None = None
    """The decision for which I am getting all others ready."""


class ThreePhase(Transaction):
    """One transaction: PREPARE, YES or NO, PRECOMMIT, ACK, COMMIT or ABORT."""

    state_type = ThreePhaseState
    new = ThreePhaseState
    rules_type = ThreePhaseRules
    messages = (
        *(Prepare, Yes, No, Commit, Abort, Done, Forget, Settled, Help),
        *(PreCommit, PreAbort, Ack, Poll, Report),
    )
    forms = {
        "sound": ThreePhaseRules(),
        "printed": ThreePhaseRules(
            commits="late", switching="obey", aborting="uncertain", polled_early="report"
        ),
    }
    form_assumptions = {
        "printed": (
            Assumption.BOUNDED_DELAY,
            Assumption.CLOSED_BOUNDS,
            Assumption.NO_LOSS,
            Assumption.NO_PAUSE,
            Assumption.NO_RECOVERY,
            Assumption.NO_PARTITION,
        )
    }

    rules: ThreePhaseRules

    def step(self, s: Any, event: Event) -> Result[Any]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Received(j, PreCommit()) if s.me != self.coordinator:
                return self._get_ready(s, j, Stage.COMMITTABLE)
            case Received(j, PreAbort()) if s.me != self.coordinator:
                return self._get_ready(s, j, Stage.ABORTABLE)
            case Received(j, Ack(stage)) if stage is s.attempt:
                return self._count_ready(s, j)
            case TimedOut(Wait.RETRY) if s.attempt is Stage.COMMITTABLE and self._is_late:
                return self.found(s, Stage.COMMITTED)

            case Received(j, Poll()) if s.me != self.coordinator:
                return self._report(s, j)
            case Received(j, Report(stage)) if s.finding and s.attempt is None:
                return self._note(s, j, stage)
            case TimedOut(Wait.RETRY) if s.finding and s.attempt is None:
                return self._judge(s)
        return super().step(s, event)

    @property
    def _is_late(self) -> bool:
        return self.rules.commits == "late"

    def agree(self, s: Any) -> Result[Any]:
        """All have voted yes: get a majority ready before anybody commits."""
        return self._attempt(s, Stage.COMMITTABLE)

    def learn(self, s: Any, stage: Stage) -> Result[Any]:
        return super().learn(replace(s, attempt=None, reports=frozenset()), stage)

    def _attempt(self, s: Any, stage: Stage) -> Result[Any]:
        """Get everybody ready, myself first."""
        word = PreCommit() if stage is Stage.COMMITTABLE else PreAbort()
        words: list[Effect] = [Send(j, word) for j in self.participants if j != s.me]
        trying = replace(s, attempt=stage, reports=frozenset(), heard=frozenset())
        if s.me == self.coordinator:
            # After a crash it is in doubt either way, so this need not be in its log.
            trying = at(trying, stage, forced=False)
        elif self._may_turn(s, stage):
            trying = at(trying, stage, heard=frozenset({s.me}))
        after, effects = self._decided(trying)
        return after, effects or [*words, self.set_timer(Wait.RETRY)]

    def _may_turn(self, s: Any, stage: Stage) -> bool:
        """A node that is ready for one decision must not get ready for the other."""
        mine = next((known for j, known in s.reports if j == s.me), s.stage)
        return mine in (Stage.UNCERTAIN, stage) or self.rules.switching == "obey"

    def _get_ready(self, s: Any, j: NodeId, stage: Stage) -> Result[Any]:
        """Get ready, unless I am ready for the opposite."""
        if s.stage.is_final:
            return s, [Send(j, word_of(s.stage))]
        if s.stage is Stage.WORKING and stage is Stage.COMMITTABLE:
            return s, []
        if s.stage is Stage.WORKING and self.rules.polled_early == "refuse":
            refused = self.refused(s)
            return refused, [Send(j, word_of(refused.stage))]
        if s.stage not in (Stage.WORKING, Stage.UNCERTAIN, stage) and not self._obeys:
            return s, []
        ready = at(s, stage, asked=False)
        return ready, [Send(j, Ack(stage)), *self.heed(ready)]

    @property
    def _obeys(self) -> bool:
        return self.rules.switching == "obey"

    def _count_ready(self, s: Any, j: NodeId) -> Result[Any]:
        return self._decided(replace(s, heard=s.heard | {j}))

    def _decided(self, s: Any) -> Result[Any]:
        """Decide once enough are ready."""
        late = self._is_late and s.attempt is Stage.COMMITTABLE
        if len(s.heard) < (len(self.participants) if late else self.majority):
            return s, []
        return self.found(s, _final(s.attempt))

    # --- recovery ---

    def find_out(self, s: Any) -> Result[Any]:
        """Ask everybody else how far they have come."""
        polls: list[Effect] = [Send(j, Poll()) for j in self.participants if j != s.me]
        mine = {(s.me, s.stage)} if self.rules.own_state == "polling" else set()
        return replace(s, attempt=None, reports=frozenset(mine)), polls

    def _report(self, s: Any, j: NodeId) -> Result[Any]:
        """Say how far I have come. A node that has not voted yet must not vote any more."""
        if s.stage is Stage.WORKING and self.rules.polled_early == "refuse":
            s = self.refused(s)
        return s, [Send(j, Report(s.stage)), *self.heed(s)]

    def _note(self, s: Any, j: NodeId, stage: Stage) -> Result[Any]:
        if stage.is_final:
            return self.found(s, stage)
        others = {(i, known) for i, known in s.reports if i != j}
        noted = replace(s, reports=frozenset({*others, (j, stage)}))
        heard = {i for i, _ in noted.reports} | {s.me}
        return self._judge(noted) if heard.issuperset(self.participants) else (noted, [])

    def _judge(self, s: Any) -> Result[Any]:
        """Do what a majority allows; otherwise wait until more of them can be reached."""
        known = dict(s.reports)
        if s.me != self.coordinator:
            known.setdefault(s.me, s.stage)
        attempt = self._plan(Counter(known.values()))
        if attempt is None:
            blocked = replace(s, finding=False, reports=frozenset())
            return blocked, [self.set_timer(Wait.RETRY)]
        return self._attempt(s, attempt)

    def _plan(self, count: Counter[Stage]) -> Stage | None:
        ready = count[Stage.COMMITTABLE]
        if ready and ready + count[Stage.UNCERTAIN] >= self.majority:
            return Stage.COMMITTABLE
        if ready and self.rules.aborting != "any":
            return None
        # Unlike the notes, who is ready to abort counts, too: otherwise an attempt to abort that
        # is broken off leaves nobody able to go on.
        doomed = count[Stage.ABORTABLE] if self.rules.aborting != "uncertain" else 0
        if doomed + count[Stage.UNCERTAIN] >= self.majority:
            return Stage.ABORTABLE
        return None


def _final(stage: Stage) -> Stage:
    return Stage.COMMITTED if stage is Stage.COMMITTABLE else Stage.ABORTED
