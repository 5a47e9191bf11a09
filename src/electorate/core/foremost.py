"""Foremost: follow the strongest of the nodes that are not suspect. It never says a word.

All agree as soon as all suspect the same nodes; until then any number may lead. So it is no
election to rely on, but a good one to put a mandate on: it costs nothing, and names a new leader
in the very moment in which the old one is missed.
"""

from msgspec.structs import replace

from electorate.core.event import Event, Viewed
from electorate.core.machine import Machine, Result
from electorate.core.standing import Standing, Status
from electorate.core.value import NodeId, Stable, State


class ForemostState(State):
    """Whom this node follows."""

    leader: NodeId | None = None


class Foremost(Machine[ForemostState]):
    """An election without a message: every node looks for itself."""

    state_type = ForemostState
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[ForemostState]:
        return ForemostState(me, Stable()), []

    def step(self, s: ForemostState, event: Event) -> Result[ForemostState]:
        match event:
            case Viewed(alive):
                return replace(s, leader=self.members.strongest_of(alive)), []
        return s, []

    def view(self, s: ForemostState) -> Standing:
        return Standing(Status.ELECTION if s.leader is None else Status.NORMAL, s.leader)
