"""Strongest alive: follow the strongest of the nodes that are not suspect. It never says a word.

All agree as soon as all suspect the same nodes; until then any number may lead. So it is no
election to rely on, but a good one to put a mandate on: it costs nothing, and names a new leader
in the very moment in which the old one is missed.
"""

from msgspec.structs import replace

from electorate.core import *


class StrongestAliveState(State):
    """The node that this one follows."""

    leader: NodeId | None = None


class StrongestAlive(Machine[StrongestAliveState]):
    """An election without a message: every node looks for itself."""

    state_type = StrongestAliveState
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[StrongestAliveState]:
        return StrongestAliveState(me, Stable()), []

    def step(self, s: StrongestAliveState, event: Event) -> Result[StrongestAliveState]:
        match event:
            case Viewed(alive):
                return replace(s, leader=self.members.strongest_of(alive)), []
        return s, []

    def view(self, s: StrongestAliveState) -> Standing:
        return Standing(Status.ELECTION if s.leader is None else Status.NORMAL, s.leader)
