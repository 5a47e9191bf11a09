"""Protocols that return what the contract does not know. Each fails on its first view."""

from typing import Any

from electorate.core import (
    CancelTimer,
    Decision,
    Event,
    Machine,
    Message,
    NodeId,
    Request,
    Result,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    T,
    Timer,
    Topic,
)


class Note(Message):
    """I have something for you."""

    content: frozenset[int] = frozenset()


class Whisper(Message):
    """You will not find me among the declarations."""


class Resign(Request):
    """Step down."""


class SpecialState(State):
    pass


class SpecialStable(Stable):
    pass


class Orderly(Machine[State]):
    """In order; the others change one answer each."""

    state_type = State
    promises = ("A1",)
    messages = (Note,)
    requests = (Resign,)
    timers = (Timer("nap"),)
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[State]:
        return State(me, Stable()), []

    def step(self, s: State, event: Event) -> Any:
        return self.answer(s)

    def view(self, s: State) -> Any:
        return Standing(Status.ELECTION)

    def answer(self, s: State) -> Any:
        return s, []


class ReturnsNone(Orderly):
    def answer(self, s: State) -> Any:
        return None


class ReturnsThree(Orderly):
    def answer(self, s: State) -> Any:
        return s, [], True


class ReturnsGenerator(Orderly):
    def answer(self, s: State) -> Any:
        return s, (CancelTimer(name) for name in ("nap",))


class ReturnsText(Orderly):
    def answer(self, s: State) -> Any:
        return "normal", []


class ReturnsSpecialState(Orderly):
    def answer(self, s: State) -> Any:
        return SpecialState(s.me, s.stable), []


class ReturnsSpecialStable(Orderly):
    def answer(self, s: State) -> Any:
        return State(s.me, SpecialStable()), []


class ReturnsNoStable(Orderly):
    def answer(self, s: State) -> Any:
        return State(s.me, None), []  # type: ignore[arg-type]


class ReturnsAnotherNode(Orderly):
    def answer(self, s: State) -> Any:
        return State(s.me + 1, s.stable), []


class StatusState(State):
    status: Status = Status.ELECTION


class ReturnsTextStatus(Orderly):
    """The text equals the status, and `is` tells them apart all the same."""

    state_type = StatusState

    def boot(self, me: NodeId, stable: Stable | None) -> Result[State]:
        return StatusState(me, Stable()), []

    def answer(self, s: State) -> Any:
        return StatusState(s.me, s.stable, "normal"), []  # type: ignore[arg-type]


class UnknownEffect(Orderly):
    def answer(self, s: State) -> Any:
        return s, ["halt everybody"]


class UndeclaredMessage(Orderly):
    def answer(self, s: State) -> Any:
        return s, [Send(s.me, Whisper())]


class UnhashableMessage(Orderly):
    def answer(self, s: State) -> Any:
        return s, [Send(s.me, Note([1, 2]))]  # type: ignore[arg-type]


class MistypedMessage(Orderly):
    def answer(self, s: State) -> Any:
        return s, [Send(s.me, Note("one"))]  # type: ignore[arg-type]


class UndeclaredTimer(Orderly):
    def answer(self, s: State) -> Any:
        return s, [SetTimer("alarm", 1)]


class UnhashableTimer(Orderly):
    def answer(self, s: State) -> Any:
        return s, [CancelTimer(["nap"])]  # type: ignore[arg-type]


class NegativeDuration(Orderly):
    def answer(self, s: State) -> Any:
        return s, [SetTimer("nap", -1)]


class NegativeJitter(Orderly):
    def answer(self, s: State) -> Any:
        return s, [SetTimer("nap", 2, -1)]


class TrueDuration(Orderly):
    def answer(self, s: State) -> Any:
        return s, [SetTimer("nap", True)]


class FractionDuration(Orderly):
    def answer(self, s: State) -> Any:
        return s, [SetTimer("nap", 1.5)]  # type: ignore[arg-type]


class SpanDuration(Orderly):
    def answer(self, s: State) -> Any:
        return s, [SetTimer("nap", 2 * T)]  # type: ignore[arg-type]


class ViewsText(Orderly):
    def view(self, s: State) -> Any:
        return "normal"


class ViewsTextStatus(Orderly):
    """A claim about normal nodes would never see this one."""

    def view(self, s: State) -> Any:
        return Standing("normal", s.me)  # type: ignore[arg-type]


class ViewsStranger(Orderly):
    def view(self, s: State) -> Any:
        return Standing(Status.NORMAL, 99)


class ViewsListGroup(Orderly):
    def view(self, s: State) -> Any:
        return Standing(Status.NORMAL, s.me, [1])  # type: ignore[arg-type]


class ViewsUndeclaredTimer(Orderly):
    """Its office would count as ended in every state."""

    def view(self, s: State) -> Any:
        return Standing(Status.NORMAL, s.me, until="lease")


class ViewsNoChoice(Orderly):
    tells = frozenset({Topic.CHOICES})


class ViewsUntoldDecision(Orderly):
    def view(self, s: State) -> Any:
        return Decision(Status.ELECTION)


class AsksList(Orderly):
    def may_ask(self, view: Standing) -> Any:
        return [Resign()]


class AsksText(Orderly):
    def may_ask(self, view: Standing) -> Any:
        return ("resign",)
