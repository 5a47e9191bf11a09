"""Peterson: of the values on a ring, those that top both neighbours go on, until one is left.

Source: G. L. Peterson, "An O(n log n) Unidirectional Algorithm for the Circular Extrema Problem",
ACM Transactions on Programming Languages and Systems 4(4), 1982, its first algorithm; also found
by D. Dolev, M. Klawe and M. Rodeh, Journal of Algorithms 3(3), 1982: 2N log N + O(N) messages.
Needs: nobody crashes, no message is lost, and none overtakes another on its channel. Otherwise
the ring waits for ever: examples/runs/peterson_crash.txt.

This file is not part of the registry. Any command takes it by its path:

    electorate check examples/peterson.py:Peterson --from boot
"""

from enum import StrEnum

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


class Bid(Message):
    """This node is still in the running."""

    candidate: NodeId


class Elected(Message):
    """This node has won: pass it on."""

    winner: NodeId


class Phase(StrEnum):
    """What a node does with the next bid."""

    FIRST = "first"  # active: it is the bid of the active node before me
    SECOND = "second"  # active: it is the better one of the two before that
    RELAY = "relay"  # passes everything on
    DONE = "done"  # knows who leads


class PetersonState(State):
    """One node's part in the election."""

    phase: Phase
    bid: NodeId
    """Whom I stand for; after the first round it is somebody else."""
    heard: NodeId | None = None
    """Whom the active node before me stands for."""
    leader: NodeId | None = None


class Peterson(Machine[PetersonState]):
    """Bids move on from node to node, so that a node can compare neighbours that it cannot ask."""

    state_type = PetersonState
    messages = (Bid, Elected)
    promises = ("A1", "A2", "S1")
    assumptions = (Assumption.NO_CRASH, Assumption.NO_LOSS, Assumption.FIFO)
    strongest = "highest"

    def boot(self, me: NodeId, stable: Stable | None) -> Result[PetersonState]:
        return self._stand(PetersonState(me, Stable(), Phase.FIRST, me))

    def step(self, s: PetersonState, event: Event) -> Result[PetersonState]:
        match event, s.phase:
            case (Received(j, Bid(i) | Elected(i)), _) if not {i, j} <= {*self.members.ids}:
                return s, []

            case (Received(_, Bid()), Phase.DONE):
                return s, []
            case (Received(_, Bid(i)), _) if i == s.me:
                # Nothing on its way round was better than my own first bid.
                return self._finish(s, s.me)
            case (Received(_, Bid(i)), Phase.FIRST):
                better = self.members.strongest_of((i, s.bid))
                return replace(s, phase=Phase.SECOND, heard=i), [self._next(s, Bid(better))]
            case (Received(_, Bid(i)), Phase.SECOND) if s.heard is not None:
                if s.heard == self.members.strongest_of((i, s.heard, s.bid)):
                    return self._stand(replace(s, bid=s.heard))
                return replace(s, phase=Phase.RELAY, heard=None), []
            case (Received(_, Bid() as bid), Phase.RELAY):
                return s, [self._next(s, bid)]

            case (Received(_, Elected(i)), phase) if phase is not Phase.DONE:
                return self._finish(s, i)
        return s, []

    def hears(self, node: NodeId) -> tuple[NodeId, ...]:
        """Messages come from the node before, on the ring."""
        ids = self.members.ids
        return (ids[ids.index(node) - 1],)

    def view(self, s: PetersonState) -> Standing:
        if s.phase is Phase.DONE:
            return Standing(Status.NORMAL, s.leader)
        return Standing(Status.ELECTION)

    def _stand(self, s: PetersonState) -> Result[PetersonState]:
        """Tell the next active node, through the relays between us, whom I stand for."""
        return replace(s, phase=Phase.FIRST, heard=None), [self._next(s, Bid(s.bid))]

    def _finish(self, s: PetersonState, winner: NodeId) -> Result[PetersonState]:
        """The winner is known; it hears of it last, and passes nothing on."""
        done = replace(s, phase=Phase.DONE, heard=None, leader=winner)
        return done, [self._next(s, Elected(winner))]

    def _next(self, s: PetersonState, message: Message) -> Send:
        return Send(self.members.after(s.me), message)
