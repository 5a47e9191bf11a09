"""Two-phase commit where every crash of a participant loses its log, and its database stays.

Its database is part of the model: the work in it is prepared before the vote is in the log, and
committed before that is acknowledged. By `lost` a node that comes back goes on as electorate does,
which boots by `holding`; or it does what once went wrong.
"""

from enum import StrEnum
from typing import Any, Generic, Literal

from msgspec.structs import replace

from electorate.core import *  # noqa: F403
from electorate.core import Asked, Event, NodeId, Received, Result, Stage
from electorate.protocols.commit.state import (
    Applied,
    Inner,
    Kept,
    Prepare,
    TransactionStable,
    TransactionState,
    Vote,
)
from electorate.protocols.commit.two_phase import TwoPhase, TwoPhaseRules
from electorate.protocols.told_leader import ToldLeader


class Work(StrEnum):
    """What the database has of the transaction."""

    NONE = "none"
    PREPARED = "prepared"
    COMMITTED = "committed"


class LostLogRules(TwoPhaseRules):
    """What may be varied."""

    lost: Literal["hold", "sweep", "report", "vote"] = "hold"
    """What a node does with prepared work that is not in its log: keep it and wait; roll it back;
    keep it and say that it has not voted; or keep it, and vote again if it is asked."""


class DatabaseStable(TransactionStable[Kept], Generic[Kept]):
    """The log, and what the database has."""

    work: Work = Work.NONE


class LostLogState(TransactionState[Inner, Kept], Generic[Inner, Kept]):
    """One node's part."""

    stable: DatabaseStable[Kept]
    is_held: bool = False
    """Whether the database had it prepared and the log did not know it."""


class Bare(TwoPhase):
    """One transaction; logs are lost."""

    rules_type = LostLogRules
    state_type = LostLogState
    stable_type = DatabaseStable
    new = LostLogState
    log = DatabaseStable

    rules: LostLogRules

    def step(self, s: Any, event: Event) -> Result[Any]:
        match event:
            case Received(_, Prepare()) if s.is_held and self.rules.lost == "hold":
                return s, []
            case Asked(Vote(True)) if s.asked and s.stable.work is Work.NONE:
                # First the work is prepared; what comes next is that the vote is in the log.
                return replace(s, stable=replace(s.stable, work=Work.PREPARED)), []
            case Asked(Applied()) if s.me != self.coordinator:
                done = Work.COMMITTED if s.stage is Stage.COMMITTED else Work.NONE
                s = replace(s, stable=replace(s.stable, work=done))
        return super().step(s, event)

    def boot(self, me: NodeId, stable: Any) -> Result[Any]:
        if stable is None or me == self.coordinator:
            return super().boot(me, stable)
        blank, _ = super().boot(me, None)
        work, held = stable.work, replace(blank, is_held=True)
        match work, self.rules.lost:
            case (Work.PREPARED, "hold" | "vote"):
                log = self.holding(me, Stage.UNCERTAIN)
            case (Work.COMMITTED, _):
                log = self.holding(me, Stage.COMMITTED)
            case (Work.PREPARED, "report"):
                return replace(held, stable=replace(held.stable, work=work)), []
            case _:
                return self._forgotten(blank), []
        return self.resume(replace(held, stable=replace(log, work=work)))


LostLog = Bare.over(ToldLeader)
