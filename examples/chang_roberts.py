"""Chang and Roberts: votes travel round a ring, and only the strongest one comes home.

Source: M. Albano, "Leader Election", lecture 7.2 of Distributed Systems, Aalborg University,
2022; slides "Chang Roberts", with the swallowing of votes that its code adds.
Needs: nobody crashes, no message is lost, and none overtakes another on its channel. Otherwise
a vote never comes home, and the ring waits for ever.

This file is not part of the registry. Any command takes it by its path:

    electorate check examples/chang_roberts.py:ChangRoberts --from boot

What breaks without each of its needs, and what an election costs, is in chang_roberts.toml.
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


class Election(Message):
    """I vote for this node: pass the vote on, unless you have a better one."""

    candidate: NodeId


class Elected(Message):
    """This node has won: pass it on."""

    winner: NodeId


class ChangRobertsState(State):
    """One node's part in the election."""

    participating: bool
    leader: NodeId | None = None


class ChangRoberts(Machine[ChangRobertsState]):
    """Everybody votes at boot; a participant swallows the votes for weaker nodes."""

    state_type = ChangRobertsState
    messages = (Election, Elected)
    promises = ("A1", "A2", "S1")
    assumptions = (Assumption.NO_CRASH, Assumption.NO_LOSS, Assumption.FIFO)
    strongest = "highest"

    def boot(self, me: NodeId, stable: Stable | None) -> Result[ChangRobertsState]:
        return self._vote(ChangRobertsState(me, Stable(), participating=False), me)

    def step(self, s: ChangRobertsState, event: Event) -> Result[ChangRobertsState]:
        match event:
            case Received(j, Election(i) | Elected(i)) if not {i, j} <= {*self.members.ids}:
                return s, []

            case Received(_, Election(i)) if i == s.me and s.participating:
                return self._announce(replace(s, participating=False, leader=i), i)
            case Received(_, Election(i)) if i == s.me:
                return s, []
            case Received(_, Election(i)) if self.members.is_stronger(i, s.me):
                return self._vote(s, i)
            case Received(_, Election()) if not s.participating:
                return self._vote(s, s.me)

            case Received(_, Elected(i)) if i != s.me:
                return self._announce(replace(s, participating=False, leader=i), i)
        return s, []

    def hears(self, node: NodeId) -> tuple[NodeId, ...]:
        """Messages come from the node before, on the ring."""
        ids = self.members.ids
        return (ids[ids.index(node) - 1],)

    def view(self, s: ChangRobertsState) -> Standing:
        if s.participating or s.leader is None:
            return Standing(Status.ELECTION)
        return Standing(Status.NORMAL, s.leader)

    def _vote(self, s: ChangRobertsState, candidate: NodeId) -> Result[ChangRobertsState]:
        """Pass a vote on to the next node of the ring, my own among them."""
        vote = Send(self.members.after(s.me), Election(candidate))
        return replace(s, participating=True), [vote]

    def _announce(self, s: ChangRobertsState, winner: NodeId) -> Result[ChangRobertsState]:
        """Tell the next node of the ring who leads."""
        return s, [Send(self.members.after(s.me), Elected(winner))]
