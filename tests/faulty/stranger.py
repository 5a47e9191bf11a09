"""A protocol that writes to a node that is not a member."""

from electorate.core import (
    Event,
    Machine,
    Message,
    NodeId,
    Result,
    Send,
    Stable,
    Standing,
    State,
    Status,
)


class Hello(Message):
    """Is anybody there?"""


class WritesToStranger(Machine[State]):
    state_type = State
    promises = ("A1",)
    messages = (Hello,)
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[State]:
        return State(me, Stable()), []

    def step(self, s: State, event: Event) -> Result[State]:
        return s, [Send(99, Hello())]

    def view(self, s: State) -> Standing:
        return Standing(Status.ELECTION)


class WritesToTrue(WritesToStranger):
    """True equals 1, and is no node all the same."""

    def step(self, s: State, event: Event) -> Result[State]:
        return s, [Send(True, Hello())]
