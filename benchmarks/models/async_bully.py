"""Bully on a network without time: any alarm may go off at any moment.

Source: H. Garcia-Molina, "Elections in a Distributed Computing System", 1982, cut down to what
another model checker can be told in a page: async_bully.pml and async_bully.tla beside this file
are the same model, state for state.
Needs: nothing, for it promises nothing: without bounds on time a suspicion is a guess, and two
nodes may lead. It is here to be counted, not to be used.

No turn sends two messages to the same node. A crash in the middle of a turn thus leaves some of
its receivers without their message, which is easily said in any tool.

    electorate check benchmarks/models/async_bully.py:AsyncBully --claim S2 --timing unbounded
        --from boot --crashes 3 --recoveries 1 --capacity 2
"""

from enum import StrEnum

from msgspec.structs import replace

from electorate.core import (
    CancelTimer,
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

ALARM = "alarm"


class Election(Message):
    """You are stronger than I am: take over, if you are up."""


class Answer(Message):
    """I am up and stronger than you: leave it to me."""


class Coordinator(Message):
    """I lead."""


class Phase(StrEnum):
    """Where a node is, and what its alarm means there."""

    IDLE = "idle"  # has just booted: somebody should have told it of a leader by now
    ASKING = "asking"  # asked all stronger nodes: one of them should have answered by now
    WAITING = "waiting"  # one of them has answered: it should have announced itself by now
    FOLLOWING = "following"  # has a leader: it may no longer be up
    LEADING = "leading"  # leads, without an alarm


class AsyncBullyState(State):
    """One node's part in the election."""

    phase: Phase = Phase.IDLE
    leader: NodeId | None = None
    """Whom it took for the leader last."""


class AsyncBully(Machine[AsyncBullyState]):
    """Asks the stronger nodes, and leads if its alarm is faster than their answer."""

    state_type = AsyncBullyState
    messages = (Election, Answer, Coordinator)
    timers = (Timer(ALARM),)
    strongest = "highest"

    def boot(self, me: NodeId, stable: Stable | None) -> Result[AsyncBullyState]:
        return AsyncBullyState(me, Stable()), [SetTimer(ALARM, 1)]

    def step(self, s: AsyncBullyState, event: Event) -> Result[AsyncBullyState]:
        match event:
            case Received(j) if j not in self.members.others(s.me):
                return s, []

            case TimedOut() if s.phase is Phase.ASKING:
                return self._lead(s)
            case TimedOut():
                return self._ask(s)

            case Received(j, Election()) if s.phase is Phase.LEADING:
                return s, [Send(j, Coordinator())]
            case Received(j, Election()) if self.members.is_stronger(s.me, j):
                return self._ask(s, asked_by=j)

            case Received(_, Answer()) if s.phase is Phase.ASKING:
                return replace(s, phase=Phase.WAITING), []

            case Received(j, Coordinator()) if self.members.is_stronger(j, s.me):
                return replace(s, phase=Phase.FOLLOWING, leader=j), [SetTimer(ALARM, 1)]
            case Received(_, Coordinator()):
                return self._ask(s)
        return s, []

    def view(self, s: AsyncBullyState) -> Standing:
        if s.phase in (Phase.FOLLOWING, Phase.LEADING):
            return Standing(Status.NORMAL, s.leader)
        return Standing(Status.ELECTION)

    def _ask(self, s: AsyncBullyState, asked_by: NodeId | None = None) -> Result[AsyncBullyState]:
        """Answer whoever asked, and ask everybody stronger; the strongest of all leads at once."""
        stronger = self.members.stronger_than(s.me)
        if not stronger:
            return self._lead(s)
        answers = [] if asked_by is None else [Send(asked_by, Answer())]
        questions = [Send(j, Election()) for j in stronger]
        return replace(s, phase=Phase.ASKING), [*answers, *questions, SetTimer(ALARM, 1)]

    def _lead(self, s: AsyncBullyState) -> Result[AsyncBullyState]:
        """Lead, and tell everybody, which also answers whoever asked."""
        news = [Send(j, Coordinator()) for j in self.members.others(s.me)]
        return replace(s, phase=Phase.LEADING, leader=s.me), [CancelTimer(ALARM), *news]
