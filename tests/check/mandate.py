"""Mandates to be judged, over any election, with terms that last as few ticks as possible."""

from typing import Any, NamedTuple

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS, Claim
from electorate.cli.beginning import given_of, played
from electorate.cli.protocol import find
from electorate.core import Machine, Timing
from electorate.core.member import Strongest
from electorate.trace import Clock, Order, Setting, Start
from tests.check.ordered import ORDERED

SHORT = "constants=any lease=2 granted=2 period=1 answer=1 retry=1 stagger=0 grace=1"
"""As short as terms can be. Where messages take any time, nothing else depends on T."""
BARE = f"{SHORT} poll=skip"
"""Whoever is named claims at once: polls decide nothing, and hold up most claims."""

KNOWN = {**CLAIMS, ORDERED.name: ORDERED}

Graph = tuple[tuple[int, int], ...]


class Case(NamedTuple):
    """What is to be judged: a mandate, its rules, and all that can happen to it."""

    rules: str
    nodes: int
    budget: Budget
    claims: str = "M1 M2 M3 M4"
    inner: str = "told-leader"
    clock: Clock = Clock.CLOCKS
    order: Order = Order.FIFO
    start: Start = Start.BOOT
    T: int = 1
    P: int = 0
    delay_min: int = 0
    drift: float = 0.0
    counter: int = 2
    """How many terms, and how many renewals of each."""
    graph: Graph | None = None
    attributes: tuple[int, ...] = ()
    form: str = "sound"
    strongest: Strongest = "lowest"
    asked: tuple[str, ...] = ()
    """What may be asked for; anything if nothing is named."""
    capacity: int = 8
    firings: int = 2
    mortal: tuple[int, ...] | None = None
    """Who may crash; None: anybody."""
    moves: str = ""
    """What has led to where runs begin, one command after the other; empty: nothing."""

    def but(self, rules: str) -> "Case":
        """The same under other rules."""
        return self._replace(rules=f"{self.rules} {rules}")

    def __str__(self) -> str:
        changed = self.rules.replace(BARE, "bare").replace(SHORT, "short")
        faults = " ".join(self.budget.texts())
        drift = f"drift {self.drift:g} " if self.drift else ""
        return (
            f"N={self.nodes} over {self.inner} {self.clock} {self.order} {drift}{changed} {faults}"
        )


def kind_of(inner: str) -> type[Machine[Any]]:
    """The mandate over the election of that name."""
    return find(f"mandate-over-{inner}").kind


def judged(
    case: Case, states_max: int | None = None, *more: Claim, engine: str = "numba"
) -> Verdict:
    setting = Setting(
        f"mandate-over-{case.inner}",
        tuple(range(1, case.nodes + 1)),
        tuple(case.rules.split()),
        timing=Timing(case.T, case.P),
        delay_min=case.delay_min,
        clock=case.clock,
        order=case.order,
        start=case.start,
        strongest=case.strongest,
        attributes=case.attributes,
        graph=case.graph,
        drift=case.drift,
    )
    given = None
    if case.moves:
        moves = "\n".join(each.strip() for each in case.moves.split(";"))
        given = given_of(played(f"{setting.text()}\n\n{moves}\n", "moves"), "moves")
    bounds = Bounds(case.capacity, case.counter, case.firings)
    model = Model(setting, case.budget, bounds, mortal=case.mortal, given=given, asked=case.asked)
    claims = [*(KNOWN[name] for name in case.claims.split()), *more]
    machine = setting.machine(kind_of(case.inner), case.form)
    return check(machine, model, claims, states_max, engine=engine)


def named(*rivals: int) -> str:
    """The moves by which each of these nodes is told that it leads, for good."""
    return "; ".join(f"ask {node} inner.request(Name({node}))" for node in rivals)


def applied(
    form: str,
    rules: str,
    budget: Budget,
    delay_min: int = 0,
    claims: str = "M1 M2 M3 M4 M5 M6 M7 M8 M9",
    stand: tuple[int, ...] = (1, 1, 1),
) -> Case:
    """What applications run, over `StrongestAlive`; each stands with its priority when it boots."""
    return Case(
        f"rounds=2 {rules}",
        len(stand),
        budget,
        claims,
        "strongest-alive",
        Clock.BOUNDED,
        delay_min=delay_min,
        counter=8,
        attributes=stand,
        form=form,
        strongest="highest",
    )


CHANGES = ("StepDown", "Transfer(", "Ended", "Add(", "Remove(")
"""All that may be asked of a holder."""


def lasting(
    base: int,
    nodes: int,
    budget: Budget,
    strongest: Strongest = "lowest",
    form: str = "sound",
    claims: str = "M5 M6 M7",
) -> Case:
    """What becomes of changes where messages arrive in time and somebody is named."""
    return Case(
        f"rounds=2 base={base}",
        nodes,
        budget,
        claims,
        "strongest-alive",
        Clock.BOUNDED,
        delay_min=1,
        counter=8,
        attributes=() if form == "sound" else (1,) * nodes,
        form=form,
        strongest=strongest,
        asked=CHANGES if budget.asks else (),
    )
