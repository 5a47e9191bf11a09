"""What a node of a commit protocol says, is told by its application, waits for, and keeps.

Messages, requests, timers, rules and state that all commit protocols share; transaction.py has the
machine. What a node shows is a Decision (core/standing.py). The driver looks at its `wants`, has
the application do it, and says so: `Vote` once it has prepared or refused, `Applied` once it has
committed or undone. A vote is asked for only after the work is prepared, so that what was promised
survives a crash: the application prepares first, then the machine's `stable` is saved, then the
others hear of it. After a crash the machine wants again what it cannot know to be done; doing it
twice must be the same as doing it once. What was prepared and has no vote in the machine's `stable`
may have been voted for, if that is lost: the machine boots by `holding` then.
"""

from enum import StrEnum
from typing import Generic, Literal, TypeVar

from electorate.core import Message, NodeId, OverRules, Request, Span, Stable, Stage, State, T

Inner = TypeVar("Inner", bound=State)
Kept = TypeVar("Kept", bound=Stable)


class Prepare(Message):
    """Can you commit?"""


class Yes(Message):
    """I can, and will do as is decided."""


class No(Message):
    """I cannot, and have aborted."""


class Commit(Message):
    """Commit."""


class Abort(Message):
    """Abort."""


class Done(Message):
    """I have done as was decided."""


class Settled(Message):
    """I have done this a while ago, and nobody has said that I may forget it."""

    stage: Stage


class Forget(Message):
    """Everybody has done as was decided: nobody will ask you any more."""


class Help(Message):
    """I am in doubt and hear nothing: find out the decision."""


class Begin(Request):
    """To the coordinator: decide this transaction."""


class Vote(Request):
    """The work is prepared, whatever happens now (yes); or it is not going to be (no)."""

    yes: bool


class Applied(Request):
    """What was decided is done."""


class Again(Request):
    """Nothing was heard for long: say again what was not answered."""


class Wait(StrEnum):
    """The timers."""

    VOTES = "votes"  # all that are up would have voted by now
    PATIENCE = "patience"  # the coordinator would have said something by now
    RETRY = "retry"  # nobody could find out the decision: it is time to try again
    RESEND = "resend"  # all that are up would have acknowledged the decision by now


class TransactionRules(OverRules):
    """What may be varied in every commit protocol. The defaults are sound."""

    unforced: Literal["nothing", "vote", "refusal", "decision"] = "nothing"
    """What a node says before it is in its log: its vote, its refusal in a poll, the decision."""
    polled_early: Literal["refuse", "report"] = "refuse"
    """What a node does that is polled before it has voted: vote no, or merely say so."""
    impatient: Literal["wait", "commit", "abort"] = "wait"
    """What a node does that has voted yes and hears nothing for too long."""
    acknowledge: Literal["applied", "at-once", "never"] = "applied"
    """When a decision is acknowledged: once it is applied, once it is heard of, or never."""
    forget: Literal["told", "never", "applied", "each"] = "told"
    """When a participant forgets: once all have acknowledged, never, once it has applied, or once
    the coordinator has heard that it has."""
    unvoted: Literal["refuse", "commit"] = "refuse"
    """What a node does that is told to commit and has no vote in its log: it may have forgotten."""
    coordinator: int = 0
    """The id of the coordinator; 0 means the last member."""
    votes: Span = 2 * T
    patience: Span = 3 * T
    retry: Span = 2 * T
    resend: Span = 2 * T


class TransactionStable(Stable, Generic[Kept]):
    """The log."""

    inner: Kept
    stage: Stage = Stage.WORKING
    forgotten: bool = False
    """Whether it was over before. Of a participant nothing else is left: what it hears from then
    on, it hears as if for the first time. A coordinator has begun in writing before anybody hears
    of it: so one that is asked, and has nothing of it in its log, has forgotten it."""


class TransactionState(State, Generic[Inner, Kept]):
    """One node's part in the transaction."""

    stable: TransactionStable[Kept]
    inner: Inner
    unlogged: Stage | None = None
    """How far I have come beyond what is in my log."""
    asked: bool = False
    """Whether the coordinator has asked for my vote."""
    told: bool = False
    """Whether the coordinator has told me the decision, and awaits an acknowledgement."""
    applied: bool = False
    waiting: bool = False
    """Whether I have waited long enough for the coordinator."""
    finding: bool = False
    """Whether I was elected, and am finding out the decision."""
    heard: frozenset[NodeId] = frozenset()
    """The nodes from which I have heard what I am waiting for: votes, answers or
    acknowledgements."""

    @property
    def stage(self) -> Stage:
        """How far I have come."""
        return self.unlogged or self.stable.stage


def word_of(stage: Stage) -> Message:
    """How a decision is told."""
    return Commit() if stage is Stage.COMMITTED else Abort()
