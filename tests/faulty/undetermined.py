"""Protocols that answer the same question now this way, now that."""

import random
from itertools import count
from typing import Any

from msgspec.structs import replace

from electorate.core import (
    Event,
    Machine,
    NodeId,
    Request,
    Result,
    Stable,
    Standing,
    State,
    Status,
)

SERIAL = count()
ASKED = count()


class NumberState(State):
    number: int = 0


class RollsDice(Machine[NumberState]):
    state_type = NumberState
    promises = ("A1",)
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[NumberState]:
        return NumberState(me, Stable()), []

    def step(self, s: NumberState, event: Event) -> Any:
        return replace(s, number=random.getrandbits(60)), []

    def view(self, s: NumberState) -> Standing:
        return Standing(Status.ELECTION)


class Counts(RollsDice):
    def step(self, s: NumberState, event: Event) -> Any:
        return replace(s, number=next(SERIAL)), []


class Lift(Request):
    """Take me up."""


class AsksFickly(RollsDice):
    """Offers the same twice in a row, and then something else."""

    requests = (Lift,)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Lift(),) if next(ASKED) % 4 < 2 else ()


class ViewsDice(RollsDice):
    def step(self, s: NumberState, event: Event) -> Any:
        return s, []

    def view(self, s: NumberState) -> Standing:
        return Standing(Status.ELECTION, group=(next(SERIAL),))
