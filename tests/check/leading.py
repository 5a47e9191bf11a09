"""What a node of an application runs, to be judged: its members and one election together."""

from typing import NamedTuple

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS
from electorate.protocols.leadership import Leadership
from electorate.trace import Clock, Order, Setting, Start

ALL = "M1 M2 M3 M4 M5 M6 M7 M8 M9"


class Case(NamedTuple):
    """How many nodes, what may befall them, and what is changed in the rules."""

    nodes: int
    budget: Budget
    rules: str = ""
    delay_min: int = 1
    claims: str = ALL
    attributes: tuple[int, ...] = ()
    clock: Clock = Clock.BOUNDED
    order: Order = Order.FIFO
    bounds: Bounds = Bounds(counter=8)
    graph: tuple[tuple[int, int], ...] | None = None
    mortal: tuple[int, ...] | None = None
    asked: tuple[str, ...] = ()

    def __str__(self) -> str:
        faults = " ".join(self.budget.texts()) or "no faults"
        delay = "T" if self.delay_min else "0..T"
        return f"N={self.nodes} {faults} delay {delay} {self.rules}".rstrip()

    def but(self, rules: str) -> "Case":
        """The same under other rules."""
        return self._replace(rules=f"{self.rules} {rules}".strip())

    @property
    def setting(self) -> Setting:
        """The network that is judged."""
        return Setting(
            "leadership",
            tuple(range(1, self.nodes + 1)),
            tuple(self.rules.split()),
            delay_min=self.delay_min,
            clock=self.clock,
            order=self.order,
            start=Start.BOOT,
            strongest="highest",
            attributes=self.attributes,
            graph=self.graph,
        )


def judged(case: Case, states_max: int | None = None, engine: str = "numba") -> Verdict:
    """What the checker says of it."""
    machine = case.setting.machine(Leadership, "sound")
    model = Model(case.setting, case.budget, case.bounds, mortal=case.mortal, asked=case.asked)
    claims = [CLAIMS[name] for name in case.claims.split()]
    return check(machine, model, claims, states_max, engine=engine)
