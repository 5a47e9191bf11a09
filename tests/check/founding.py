"""Founding to be judged: nodes that were started with one list of founders, or with two."""

from typing import Any, NamedTuple

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS
from electorate.protocols.leadership import FirstStart
from electorate.protocols.mandate.founding import Founding
from electorate.trace import Setting, Start

TWO = "first=12 other=13 by=3"
"""Node 1 is on both lists."""
OVERLAPPING = "first=123 other=134 by=34"
"""Each of two lists has a majority of its own."""
NAMESAKES = "first=12 other=34 by=34 named=1212"
"""Two clusters with the same names, as of a test and of what it is a test for."""
HALVES = ((1, 2), (3, 4))
BACK = Budget(crashes=1, recoveries=1, asks=1)
ROOTS: dict[str, Any] = {"founding": Founding, "first-start": FirstStart}


class Case(NamedTuple):
    """How many nodes, with which lists, and what may befall them."""

    nodes: int
    lists: str = ""
    """The rules that say with which lists nodes are started; empty: with all of them."""
    budget: Budget = Budget()
    rules: str = ""
    delay_min: int = 1
    claims: str = "D5 D6"
    kind: str = "founding"
    asked: tuple[str, ...] = ()
    graph: tuple[tuple[int, int], ...] | None = None

    def __str__(self) -> str:
        faults = " ".join(self.budget.texts()) or "no faults"
        delay = "T" if self.delay_min else "0..T"
        apart = " in halves" if self.graph else ""
        told = f"{self.kind} N={self.nodes}{apart} {self.lists} {faults} delay {delay} {self.rules}"
        return told.strip()

    @property
    def setting(self) -> Setting:
        """The network that is judged."""
        prefix = "" if self.kind == "founding" else "founding."
        lists = (f"{prefix}{each}" for each in self.lists.split())
        return Setting(
            self.kind,
            tuple(range(1, self.nodes + 1)),
            (*lists, *self.rules.split()),
            delay_min=self.delay_min,
            start=Start.BOOT,
            strongest="lowest" if self.kind == "founding" else "highest",
            graph=self.graph,
        )


def judged(case: Case, states_max: int | None = None) -> Verdict:
    """What the checker says of it."""
    model = Model(case.setting, case.budget, Bounds(counter=8), asked=case.asked)
    claims = [CLAIMS[name] for name in case.claims.split()]
    machine = case.setting.machine(ROOTS[case.kind], "sound")
    return check(machine, model, claims, states_max, engine="numba")
