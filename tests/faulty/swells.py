"""A machine whose state never stops growing: it counts, and declares nothing of it."""

from electorate.core import (
    Event,
    Machine,
    NodeId,
    Result,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    TimedOut,
    Timer,
)


class Count(State):
    """How often the timer has fired."""

    times: int


class Swells(Machine[Count]):
    """Counts for ever."""

    state_type = Count
    timers = (Timer("more"),)
    promises = ("A1",)

    def boot(self, me: NodeId, stable: Stable | None) -> Result[Count]:
        return Count(me, Stable(), 0), [SetTimer("more", 1)]

    def step(self, state: Count, event: Event) -> Result[Count]:
        if isinstance(event, TimedOut):
            return Count(state.me, state.stable, state.times + 1), [SetTimer("more", 1)]
        return state, []

    def view(self, state: Count) -> Standing:
        return Standing(Status.NORMAL, min(self.members.ids))
