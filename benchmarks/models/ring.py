"""Chang and Roberts, with nodes that start one after another, in any order.

Source: E. Chang and R. Roberts, "An Improved Algorithm for Decentralized Extrema-Finding in
Circular Configurations of Processes", 1979.
Needs: nobody crashes, no message is lost, and none overtakes another on its channel.

A process of another model checker sends its vote first and listens afterwards, so what reaches it
too early waits in its channel. A node of ours always listens. Here every node therefore puts a
Wake into the channel of its successor at boot: whoever takes it starts, and on a FIFO channel
nothing gets past it. ring.pml and ring.tla beside this file are the same model, state for state.
With the lowest rank as the strongest, every vote travels as far as a vote can.

    electorate check benchmarks/models/ring.py:Ring --claim A1 --nodes 8 --timing unbounded
        --from boot --capacity 8
"""

from msgspec.structs import replace

from electorate.core import (
    Assumption,
    Event,
    Machine,
    Message,
    NodeId,
    Received,
    Result,
    Send,
    Stable,
    Standing,
    State,
    Status,
)


class Wake(Message):
    """Start now: vote for yourself."""


class Vote(Message):
    """I vote for this node."""

    candidate: NodeId


class Elected(Message):
    """This node has won."""

    winner: NodeId


class RingState(State):
    """One node's part in the election; being asleep is a matter of the channel."""

    leader: NodeId | None = None


class Ring(Machine[RingState]):
    """Passes the better votes on; whoever gets its own vote back has won."""

    state_type = RingState
    messages = (Wake, Vote, Elected)
    assumptions = (Assumption.NO_CRASH, Assumption.NO_LOSS, Assumption.FIFO)

    def boot(self, me: NodeId, stable: Stable | None) -> Result[RingState]:
        return RingState(me, Stable()), [Send(self.members.after(me), Wake())]

    def step(self, s: RingState, event: Event) -> Result[RingState]:
        after = self.members.after(s.me)
        match event:
            case Received(_, Vote(i) | Elected(i)) if i not in self.members.ids:
                return s, []

            case Received(_, Wake()):
                return s, [Send(after, Vote(s.me))]
            case Received(_, Vote(i)) if i == s.me:
                return replace(s, leader=i), [Send(after, Elected(i))]
            case Received(_, Vote(i)) if self.members.is_stronger(i, s.me):
                return s, [Send(after, Vote(i))]
            case Received(_, Elected(i)) if i != s.me:
                return replace(s, leader=i), [Send(after, Elected(i))]
        return s, []

    def view(self, s: RingState) -> Standing:
        return Standing(Status.ELECTION if s.leader is None else Status.NORMAL, s.leader)
