"""Two-phase commit: all vote, one decides for all; if it is gone, an elected node finds out.

Source: Carnegie Mellon University, lecture notes "Coordinator Election", section "Two Phase Commit
(2PC)"; that an elected node goes on is from its section "Recovery in 3PC".
Needs: a disk that keeps its word. A node that has voted yes waits for as long as none that the
elected node can reach knows the decision: run two_phase/coordinator_crashes.

What the coordinator and the participants have in common with other commit protocols, and what
the application has to do, is in transaction.py and state.py beside this file.
"""

from typing import Any, Literal

from msgspec.structs import replace

from electorate.core import *
from electorate.protocols.commit.state import (
    Abort,
    Commit,
    Done,
    Forget,
    Help,
    No,
    Prepare,
    Settled,
    TransactionRules,
    Yes,
)
from electorate.protocols.commit.transaction import Transaction


class Poll(Message):
    """I was elected to find out the decision: how far have you come?"""


class Report(Message):
    """So far have I come."""

    stage: Stage


class TwoPhaseRules(TransactionRules):
    """What may be varied. The defaults are the sound form."""

    all_prepared: Literal["block", "commit", "abort"] = "block"
    """What the elected node does if a majority has voted yes and nobody knows more."""
    retry: Span = 3 * T


class TwoPhase(Transaction):
    """One transaction: PREPARE, YES or NO, COMMIT or ABORT."""

    rules_type = TwoPhaseRules
    messages = (Prepare, Yes, No, Commit, Abort, Done, Forget, Settled, Help, Poll, Report)

    rules: TwoPhaseRules

    def step(self, s: Any, event: Event) -> Result[Any]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Received(j, Poll()) if s.me != self.coordinator:
                return self._report(s, j)
            case Received(j, Report(stage)) if s.finding:
                return self._judge(s, j, stage)
        return super().step(s, event)

    def agree(self, s: Any) -> Result[Any]:
        return self.decide(s, Stage.COMMITTED)

    def resume(self, s: Any) -> Result[Any]:
        if s.me == self.coordinator and s.stage is Stage.UNCERTAIN:
            # It has asked for votes and decided nothing, so nobody can have committed.
            return self.decide(s, Stage.ABORTED)
        return super().resume(s)

    def find_out(self, s: Any) -> Result[Any]:
        """Ask everybody else how far they have come."""
        polls: list[Effect] = [Send(j, Poll()) for j in self.participants if j != s.me]
        return s, polls

    def _report(self, s: Any, j: NodeId) -> Result[Any]:
        """Say how far I have come. A node that has not voted yet must not vote any more."""
        if s.stage is Stage.WORKING and self.rules.polled_early == "refuse":
            s = self.refused(s)
        return s, [Send(j, Report(s.stage)), *self.heed(s)]

    def _judge(self, s: Any, j: NodeId, stage: Stage) -> Result[Any]:
        """One who knows is enough; of those who do not, not even a majority is."""
        heard = s.heard | {j}
        match stage:
            case Stage.COMMITTED:
                return self.found(s, Stage.COMMITTED)
            case Stage.ABORTED | Stage.WORKING:
                return self.found(s, Stage.ABORTED)
            case _ if self.rules.all_prepared == "block" or len(heard) + 1 < self.majority:
                return replace(s, heard=heard), []
        rash = self.rules.all_prepared == "commit"
        return self.found(s, Stage.COMMITTED if rash else Stage.ABORTED)
