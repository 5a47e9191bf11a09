"""Protocols whose declarations are not in order; they never get to take a turn."""

from typing import Any

from electorate.core import (
    Event,
    Machine,
    Message,
    NodeId,
    Result,
    Rules,
    Stable,
    Standing,
    State,
    Status,
    Timer,
    Topic,
)


class Ping(Message):
    """Are you up?"""


class Quiet(Machine[Any]):
    state_type = State
    promises = ("A1",)

    def boot(self, me: NodeId, stable: Stable | None) -> Result[Any]:
        return State(me, Stable()), []

    def step(self, s: State, event: Event) -> Result[Any]:
        return s, []

    def view(self, s: State) -> Standing:
        return Standing(Status.ELECTION)


class GrowsUnseen(Quiet):
    growing = ("round",)


class GrowsInText(Quiet):
    growing = ("stable",)


class TellsInText(Quiet):
    tells = ("groups",)  # type: ignore[assignment]


class KeepsNoStage(Quiet):
    tells = frozenset({Topic.DECISIONS})


class ForgetsComma(Quiet):
    messages = (Ping)  # type: ignore[assignment]  # fmt: skip


class NamesTimers(Quiet):
    timers = ("probe",)  # type: ignore[assignment]


class RepeatsTimer(Quiet):
    timers = (Timer("probe"), Timer("probe", periodic=True))


class RepeatsMessage(Quiet):
    messages = (Ping, type("Ping", (Message,), {}))


class HasDictState(Quiet):
    state_type = dict  # type: ignore[assignment]


class SpecialRules(Rules):
    fast: bool = True


class HasOtherRules(Quiet):
    rules_type = SpecialRules

    def __init__(self, members: Any, timing: Any, rules: Any = None) -> None:
        super().__init__(members, timing, Rules())


class ForgetsConstructor(Quiet):
    def __init__(self, members: Any, timing: Any, rules: Any = None) -> None:
        self.everybody = members
