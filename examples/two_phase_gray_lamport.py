"""Two-phase commit: all resource managers prepare, then one transaction manager decides for all.

Source: J. Gray and L. Lamport, "Consensus on Transaction Commit", 2006, section 3 and the
specification of two-phase commit in its appendix.
Needs: a disk that keeps its word. Everything that a node knows is stable, so crashes, losses and
reordering never make two nodes differ; but whoever is prepared waits for the transaction
manager, however long that is down.

The lowest node is the transaction manager, all others are resource managers. What a node of the
paper does of its own accord is a timer here, armed exactly while the paper allows the action: in
unbounded timing it may go off at any time, or never. The paper's network is a set of messages
that only grows. On such a network, with 2, 3 and 5 resource managers, the search must meet the
56, 288 and 8,832 states that the paper's specification has:

    electorate check examples/two_phase_gray_lamport.py:TwoPhase --nodes 6 --timing unbounded
        --order set --from boot

To the application a committed transaction follows node 1, and an aborted one follows nobody. The
claim A1 then says that no node commits where another one aborts.
"""

from enum import StrEnum

from msgspec.structs import replace

from electorate.core import (
    CancelTimer,
    Effect,
    Event,
    Machine,
    Message,
    NodeId,
    Received,
    Result,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    TimedOut,
    Timer,
)


class Prepared(Message):
    """I have prepared: I will do whatever you decide."""


class Commit(Message):
    """All have prepared: commit."""


class Abort(Message):
    """Abort."""


class Act(StrEnum):
    """What a node may do of its own accord, while the timer of that name is armed."""

    PREPARE = "prepare"  # a resource manager that works
    COMMIT = "commit"  # the transaction manager, once all have prepared
    ABORT = "abort"  # a resource manager that works, or the transaction manager


class Phase(StrEnum):
    """How far a node has come."""

    WORKING = "working"  # the paper calls this "init" at the transaction manager
    PREPARED = "prepared"  # has left the decision to the transaction manager
    COMMITTED = "committed"
    ABORTED = "aborted"


class TwoPhaseStable(Stable):
    """All that a node knows."""

    phase: Phase = Phase.WORKING
    prepared: frozenset[NodeId] = frozenset()
    """The resource managers that the transaction manager knows to have prepared."""


class TwoPhaseState(State):
    """One node's part in the transaction."""

    stable: TwoPhaseStable


class TwoPhase(Machine[TwoPhaseState]):
    """One transaction."""

    state_type = TwoPhaseState
    stable_type = TwoPhaseStable
    messages = (Prepared, Commit, Abort)
    timers = tuple(map(Timer, Act))
    promises = ("A1",)

    def boot(self, me: NodeId, stable: TwoPhaseStable | None) -> Result[TwoPhaseState]:
        s = TwoPhaseState(me, stable or TwoPhaseStable())
        # A message may have got lost with the last life, so what was said is said again.
        return s, [*self._words(s), *self._timers(frozenset(), self._enabled(s))]

    def step(self, s: TwoPhaseState, event: Event) -> Result[TwoPhaseState]:
        if s.stable.phase in (Phase.COMMITTED, Phase.ABORTED):
            return s, []
        match event:
            case Received(j) if j not in self.members.others(s.me):
                return s, []

            case TimedOut(Act.PREPARE):
                return self._enter(s, Phase.PREPARED)
            case TimedOut(Act.COMMIT):
                return self._enter(s, Phase.COMMITTED)
            case TimedOut(Act.ABORT):
                return self._enter(s, Phase.ABORTED)

            case Received(j, Prepared()) if s.me == self._manager:
                return self._note(s, j)
            case Received(self._manager, Commit()):
                return self._enter(s, Phase.COMMITTED)
            case Received(self._manager, Abort()):
                return self._enter(s, Phase.ABORTED)
        return s, []

    def view(self, s: TwoPhaseState) -> Standing:
        match s.stable.phase:
            case Phase.COMMITTED:
                return Standing(Status.NORMAL, self._manager)
            case Phase.ABORTED:
                return Standing(Status.NORMAL, None)
            case _:
                return Standing(Status.ELECTION)

    @property
    def _manager(self) -> NodeId:
        return self.members.ids[0]

    def _enter(self, s: TwoPhaseState, phase: Phase) -> Result[TwoPhaseState]:
        """Come so far, and tell those whom it concerns."""
        after = replace(s, stable=replace(s.stable, phase=phase))
        return after, [*self._words(after), *self._timers(self._enabled(s), self._enabled(after))]

    def _note(self, s: TwoPhaseState, prepared: NodeId) -> Result[TwoPhaseState]:
        """Take down that a resource manager has prepared."""
        known = s.stable.prepared | {prepared}
        after = replace(s, stable=replace(s.stable, prepared=known))
        return after, self._timers(self._enabled(s), self._enabled(after))

    def _words(self, s: TwoPhaseState) -> list[Effect]:
        """What a node that has come so far has to say."""
        match s.stable.phase:
            case Phase.PREPARED:
                return [Send(self._manager, Prepared())]
            case Phase.COMMITTED if s.me == self._manager:
                return [Send(j, Commit()) for j in self.members.others(s.me)]
            case Phase.ABORTED if s.me == self._manager:
                return [Send(j, Abort()) for j in self.members.others(s.me)]
            case _:
                return []

    def _enabled(self, s: TwoPhaseState) -> frozenset[Act]:
        """What the paper lets this node do of its own accord."""
        if s.stable.phase is not Phase.WORKING:
            return frozenset()
        if s.me != self._manager:
            return frozenset({Act.PREPARE, Act.ABORT})
        everybody = s.stable.prepared == {*self.members.others(s.me)}
        return frozenset({Act.COMMIT, Act.ABORT} if everybody else {Act.ABORT})

    def _timers(self, before: frozenset[Act], after: frozenset[Act]) -> list[Effect]:
        """Arm what has become possible, disarm what no longer is."""
        arm = [SetTimer(act, self.timing.T) for act in sorted(after - before)]
        return [*arm, *(CancelTimer(act) for act in sorted(before - after))]
