"""What a node of an application runs, to be judged: its members and one election together."""

from typing import Any, NamedTuple

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS, Claim, Kind, Row, Sight, Witness
from electorate.claims.mandate import holders
from electorate.core import NodeId
from electorate.protocols.leadership import Leadership
from electorate.trace import Clock, Order, Setting, Start

ALL = "M1 M2 M3 M4 M5 M6 M7 M8 M9"
PATH = ((1, 2), (1, 3))
"""Nodes 2 and 3 do not see each other, so both take themselves for the strongest of those they see.
Whoever of them has node 1 with it has a majority."""


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
    kind: type[Leadership] = Leadership

    def __str__(self) -> str:
        faults = " ".join(self.budget.texts()) or "no faults"
        delay = "T" if self.delay_min else "0..T"
        more = " on a path" if self.graph == PATH else ""
        asked = f" {' or '.join(self.asked)}" if self.asked else ""
        stand = f" stand {self.attributes}" if self.attributes else ""
        return f"N={self.nodes}{more} {faults}{asked} delay {delay}{stand} {self.rules}".rstrip()

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


def judged(
    case: Case, states_max: int | None = None, *more: Claim, memory: int | None = None
) -> Verdict:
    """What the checker says of it."""
    machine = case.setting.machine(case.kind, "sound")
    claims = [CLAIMS[name] for name in case.claims.split()]
    return check(
        machine, model_of(case), [*claims, *more], states_max, engine="numba", memory=memory
    )


def model_of(case: Case) -> Model:
    """All that is explored."""
    return Model(case.setting, case.budget, case.bounds, mortal=case.mortal, asked=case.asked)


class Whole(Leadership):
    """Shows claims all that a node has saved, not only what its election has: for those below."""

    def judged(self, stable: Any) -> Any:
        return stable


def _falls_behind(row: Row) -> Witness | None:
    stables: dict[NodeId, Any] = dict(zip(row.members.ids, row.stables, strict=True))
    for node, _ in row.live():
        members, election = stables[node].members.inner.roster, stables[node].election.roster
        if members.replaces(election):
            return Witness(
                (node,), f"the election of {node} goes by an older list than its members"
            )
    return None


SAVED = frozenset({Sight.STABLES})
TOLD_AT_ONCE = Claim(
    "L1", Kind.ALWAYS, "no election goes by an older list", _falls_behind, sights=SAVED
)
"""No promise: what is told before the next event is told a little later."""
TOLD_IN_THE_END = Claim(
    "L2", Kind.GOAL, "in the end no election goes by an older list", _falls_behind, sights=SAVED
)


def _is_undecided(row: Row) -> Witness | None:
    stables: tuple[Any, ...] = row.stables
    for node, stable in zip(row.members.ids, stables, strict=True):
        if stable is not None and stable.members.inner.roster.is_pending:
            return Witness((node,), f"{node} does not know of a decision")
    return None


DECIDED_IN_THE_END = Claim(
    "L3", Kind.GOAL, "in the end all know that the list is decided", _is_undecided, sights=SAVED
)
"""No promise where a majority may be gone."""


def _nobody(row: Row) -> Witness | None:
    return None if any(holders(row)) else Witness((), "nobody is in office")


IN_OFFICE = Claim("L4", Kind.GOAL, "in the end somebody is in office", _nobody)
"""No promise where a majority may be gone."""
