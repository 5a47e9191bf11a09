"""How long the parts of a transaction may take."""

import msgspec

from electorate.core import NodeId, Span
from electorate.protocols.two_phase import TwoPhaseRules


class Pace(msgspec.Struct, frozen=True):
    """How long things may take, in milliseconds; no promise of safety depends on it."""

    work_ms: int = 10_000
    """One piece of work; whoever waits longer for an answer gives the transaction up."""
    votes_ms: int = 10_000
    """All votes, from when they are asked for; later the transaction is aborted."""
    patience_ms: int = 3_000
    """The decision, from one's vote; later the elected node is to find out."""
    again_ms: int = 1_000
    """Between two tries to find out the decision, or to have it acknowledged."""
    idle_ms: int = 20_000
    """Between two pieces of work; later a participant undoes them."""
    settle_ms: int = 2_000
    """How long a commit waits until all have applied it, once it is decided."""
    sweep_ms: int = 500
    """Between two rounds of saying again what may have been lost, and of looking for orphans."""

    def rules(self, coordinator: NodeId) -> TwoPhaseRules:
        """The same as the timers of the machine."""
        return TwoPhaseRules(
            coordinator=coordinator,
            votes=Span(ticks=self.votes_ms),
            patience=Span(ticks=self.patience_ms),
            retry=Span(ticks=self.again_ms),
            resend=Span(ticks=self.again_ms),
        )
