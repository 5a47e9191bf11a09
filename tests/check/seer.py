"""An election without a message: the strongest node in view leads."""

from msgspec.structs import replace

from electorate.core import (
    Event,
    Machine,
    NodeId,
    Result,
    Stable,
    Standing,
    State,
    Status,
    Viewed,
)


class SeerState(State):
    """Whom a node sees."""

    alive: frozenset[NodeId] = frozenset()


class Seer(Machine[SeerState]):
    """As good as its failure detector, and the smallest election there is."""

    state_type = SeerState
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[SeerState]:
        return SeerState(me, Stable()), []

    def step(self, s: SeerState, event: Event) -> Result[SeerState]:
        match event:
            case Viewed(alive):
                return replace(s, alive=alive), []
        return s, []

    def view(self, s: SeerState) -> Standing:
        if not s.alive:
            return Standing(Status.ELECTION)
        return Standing(Status.NORMAL, self.members.strongest_of(s.alive))
