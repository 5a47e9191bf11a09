"""An election that needs one word: of those in view, the strongest says that it leads."""

from msgspec.structs import replace

from electorate.core import (
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
    Viewed,
)


class Leading(Message):
    """I lead."""


class SteadyState(State):
    leader: NodeId | None = None


class Steady(Machine[SteadyState]):
    """Enough for as long as all detectors are right at once."""

    state_type = SteadyState
    messages = (Leading,)
    uses_views = True
    promises = ("A1", "A2")

    def boot(self, me: NodeId, stable: Stable | None) -> Result[SteadyState]:
        return SteadyState(me, Stable()), []

    def step(self, s: SteadyState, event: Event) -> Result[SteadyState]:
        match event:
            case Viewed(alive) if self.members.strongest_of(alive) == s.me:
                return replace(s, leader=s.me), [Send(j, Leading()) for j in sorted(alive - {s.me})]
            case Viewed(alive) if s.leader not in alive:
                return replace(s, leader=None), []
            case Received(j, Leading()):
                return replace(s, leader=j), []
        return s, []

    def view(self, s: SteadyState) -> Standing:
        return Standing(Status.NORMAL if s.leader else Status.ELECTION, s.leader)
