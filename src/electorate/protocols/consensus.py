"""Consensus by election: everybody decides on the last bit of the id of the elected node.

Source: I. Gupta, "Cloud Computing Concepts", lecture B, "Ring Leader Election", slide "Why is
Election so Hard?".
Needs: an election that names one node to everybody, and no other before all have decided. So nobody
may crash: run consensus/leader_crashes. And every message must come in time, or else it splits
though nothing fails: run consensus/late_answer.
"""

from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from electorate.core import *

Inner = TypeVar("Inner", bound=State)
Kept = TypeVar("Kept", bound=Stable)


def proposal_of(node: NodeId) -> int:
    """The value that a node proposes, and that is decided if it is elected: the last bit of its id.

    So would anybody that wants to get a consensus out of an election have it.
    """
    return node % 2


class ConsensusStable(Stable, Generic[Kept]):
    """What survives a crash."""

    inner: Kept
    decided: int | None = None


class ConsensusState(State, Generic[Inner, Kept]):
    """What a node has decided."""

    stable: ConsensusStable[Kept]
    inner: Inner


class Consensus(Over[Any]):
    """Any election, and a decision for ever. It says nothing of its own."""

    state_type = ConsensusState
    stable_type = ConsensusStable
    tells = frozenset({Topic.CHOICES})
    promises = ("K2",)
    promises_over = ("K1", "K3")
    assumptions_over = (
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.NO_CRASH,
        Assumption.NO_LOSS,
        Assumption.NO_PAUSE,
        Assumption.NO_PARTITION,
        Assumption.ACCURATE_DETECTOR,
    )

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.tells |= self.lift.tells
        self.begins_by = self.lift.requests if self.lift.inner.begins_by else ()

    def boot(self, me: NodeId, stable: Any) -> Result[Any]:
        inner, effects = self.lift.boot(me, stable)
        kept = ConsensusStable(inner.stable, None if stable is None else stable.decided)
        return self._decide(ConsensusState(me, kept, inner)), effects

    def step(self, s: Any, event: Event) -> Result[Any]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
        after, effects = self.lift.step(s, event)
        return self._decide(after), effects

    def view(self, s: Any) -> Choice:
        return Choice.above(self.lift.view(s), proposes=proposal_of(s.me), decided=s.stable.decided)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return self.lift.may_ask(view)

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        return self.lift.must_ask(view)

    def _decide(self, s: Any) -> Any:
        """The first leader that I follow at work decides; later ones change nothing."""
        below = self.lift.view(s)
        if s.stable.decided is not None or below.leader is None:
            return s
        if below.status is not Status.NORMAL:
            return s
        return replace(s, stable=replace(s.stable, decided=proposal_of(below.leader)))
