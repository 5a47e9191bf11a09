"""Protocols whose handlers raise. Each is otherwise in order, and fails on its first view."""

import sys
from typing import Any

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
)


class RaisesInStep(Machine[State]):
    state_type = State
    promises = ("A1",)
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[State]:
        return State(me, Stable()), []

    def step(self, s: State, event: Event) -> Any:
        raise KeyError("leader")

    def view(self, s: State) -> Standing:
        return Standing(Status.ELECTION)


class RaisesInBoot(RaisesInStep):
    def boot(self, me: NodeId, stable: Stable | None) -> Result[State]:
        raise IndexError("list index\nout of range")


class RaisesInLibrary(RaisesInStep):
    def boot(self, me: NodeId, stable: Stable | None) -> Result[State]:
        return State(me, Stable()), [SetTimer("nap", Status("asleep").value == "")]


class RaisesInView(RaisesInStep):
    def step(self, s: State, event: Event) -> Any:
        return s, []

    def view(self, s: State) -> Standing:
        raise AttributeError("no attribute 'leader'")


class Exits(RaisesInStep):
    def step(self, s: State, event: Event) -> Any:
        sys.exit(0)


class Panic(BaseException):
    pass


class Panics(RaisesInStep):
    def step(self, s: State, event: Event) -> Any:
        raise Panic("out of this world")


class RaisesInConstructor(RaisesInStep):
    def __init__(self, *_: Any) -> None:
        raise LookupError("no such member")
