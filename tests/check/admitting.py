"""Admission to be judged: nodes that are memories, some of them with one name, and a list."""

from typing import NamedTuple

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS
from electorate.cli.beginning import given_of, played
from electorate.protocols.mandate.admission import Replacement
from electorate.trace import Clock, Setting, Start

ALL = "D1 D2 D3 D4"
MET = "quietly run 10T"
"""Everybody has met everybody that it lets in, and nothing is on its way."""
REPLACED = ("1:directory.request(Await(", "1:directory.request(Propose(", "1:members.request(")
"""What a member is asked for to have another node put in the place of one."""


class Case(NamedTuple):
    """How many founders and nodes, the last of which has the name of the last founder."""

    founders: int
    nodes: int
    budget: Budget = Budget()
    rules: str = ""
    asked: tuple[str, ...] = REPLACED
    claims: str = ALL
    delay_min: int = 1
    clock: Clock = Clock.BOUNDED
    bounds: Bounds = Bounds()
    mortal: tuple[int, ...] | None = None
    moves: str = ""
    """What has led to where runs begin; empty: nothing, they begin with the first start of all."""

    def __str__(self) -> str:
        faults = " ".join(self.budget.texts()) or "no faults"
        delay = "T" if self.delay_min else "0..T"
        after = " later" if self.moves else ""
        return f"{self.founders} of {self.nodes} {faults} delay {delay}{after} {self.rules}".strip()

    @property
    def setting(self) -> Setting:
        """The network that is judged."""
        base = f"members.base={self.founders} directory.base={self.founders}"
        named = f"directory.named={self.founders}"
        return Setting(
            "replacement",
            tuple(range(1, self.nodes + 1)),
            (*base.split(), named, *self.rules.split()),
            delay_min=self.delay_min,
            clock=self.clock,
            start=Start.BOOT,
        )


def judged(case: Case, states_max: int | None = None, engine: str = "numba") -> Verdict:
    """What the checker says of it."""
    setting, given = case.setting, None
    if case.moves:
        moves = "\n".join(each.strip() for each in case.moves.split(";"))
        given = given_of(played(f"{setting.text()}\n\n{moves}\n", "moves"), "moves")
    model = Model(
        setting,
        case.budget,
        case.bounds,
        mortal=case.mortal,
        reduced=True,
        given=given,
        asked=case.asked,
    )
    claims = [CLAIMS[name] for name in case.claims.split()]
    return check(setting.machine(Replacement, "sound"), model, claims, states_max, engine=engine)
