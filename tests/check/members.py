"""Mandates that two rivals want for good, most of them with members that change.

Some are judged from places that two holders have brought about: from boot such a run is too long to
be searched for among all others of five nodes. So a script, run by the simulator, leads to a place;
there everybody crashes and recovers with what it has saved, and all that can follow is explored.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS, Claim
from electorate.core import (
    Event,
    Machine,
    NodeId,
    Request,
    Result,
    Rules,
    Stable,
    Standing,
    State,
    Status,
)
from electorate.core.member import Strongest
from electorate.protocols.mandate import Mandate
from electorate.protocols.mandate.message import Add, Ended, Remove, Stand, StepDown
from electorate.protocols.mandate.state import MandateStable, Promise, Roster
from electorate.protocols.strongest_alive import StrongestAlive
from electorate.simulate.cluster import Cluster
from electorate.simulate.script import run_script
from electorate.trace import Clock, Order, Setting, Start
from tests.check.mandate import BARE


class RivalRules(Rules):
    """Who takes itself for the leader."""

    rivals: int = 0
    """The ids of some nodes, one digit each."""


class Rivals(Machine[State]):
    """An election that is never settled: each of the rivals names itself."""

    state_type = State
    rules_type = RivalRules
    rules: RivalRules

    def boot(self, me: NodeId, stable: Stable | None) -> Result[State]:
        return State(me, Stable()), []

    def step(self, s: State, event: Event) -> Result[State]:
        return s, []

    def view(self, s: State) -> Standing:
        is_rival = str(s.me) in str(self.rules.rivals)
        return Standing(Status.NORMAL, s.me) if is_rival else Standing(Status.ELECTION)


class Placed(Mandate.over(Rivals)):  # type: ignore[misc]
    """Begins with what each node has saved in a life before, and is asked for little."""

    saved: ClassVar[dict[NodeId, Stable]] = {}
    wishes: ClassVar[Mapping[NodeId, tuple[Request, ...]]] = {}

    def boot(self, me: NodeId, stable: Any) -> Any:
        return super().boot(me, self.saved.get(me) if stable is None else stable)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        asked: tuple[Request, ...] = super().may_ask(view)
        wished = self.wishes.get(view.leader or 0, ())
        return tuple(request for request in asked if request in wished)


def kind_at(
    saved: dict[NodeId, Stable], wishes: Mapping[NodeId, tuple[Request, ...]]
) -> type[Placed]:
    return type("Placed", (Placed,), {"saved": saved, "wishes": wishes})


def saved_after(rules: str, nodes: int, moves: str) -> dict[NodeId, Stable]:
    """What each node has saved once the script has been played."""
    saved: dict[NodeId, Stable] = {}

    def keep(cluster: Cluster) -> None:
        saved.update({n: node.stable for n, node in cluster.nodes.items() if node.stable})

    ids = " ".join(map(str, range(1, nodes + 1)))
    head = " ".join(f"rule:{rule}" for rule in f"{BARE} {rules}".split())
    lines = "\n".join(f"quietly {move.strip()}" for move in moves.strip().split(";"))
    script = f"cluster members {ids} clock=unbounded start=boot {head}\n\n{lines}\n"
    run_script(script, lambda name: (Mandate.over(Rivals), "sound"), watch=keep)
    return saved


class Case(NamedTuple):
    """What is judged: all that can follow the moves of a script and a restart of everybody."""

    rules: str
    nodes: int
    claims: str
    moves: str = ""
    wishes: Mapping[NodeId, tuple[Request, ...]] = MappingProxyType({})
    clock: Clock = Clock.UNBOUNDED
    order: Order = Order.BAG
    budget: Budget = Budget()
    bounds: Bounds = Bounds(counter=3)


OLDER_LIST = Case(
    "base=3 inner.rivals=12",
    4,
    "M1",
    wishes={1: (Add(4), Remove(2))},
    order=Order.FIFO,
    budget=Budget(asks=2),
    bounds=Bounds(2, 2, 0),
)
"""Who is in office changes the list, though another may have come into office since."""

OVERTAKEN = Case(
    "inner.rivals=12",
    3,
    "M3",
    wishes={1: (StepDown(), Ended())},
    clock=Clock.CLOCKS,
    order=Order.SET,
    budget=Budget(asks=2),
)
"""Who steps down and claims again is overtaken by its own words of the term before."""


def judged(case: Case, states_max: int | None = None) -> Verdict:
    saved = saved_after(case.rules, case.nodes, case.moves) if case.moves else {}
    setting = Setting(
        "members",
        tuple(range(1, case.nodes + 1)),
        tuple(f"{BARE} {case.rules}".split()),
        clock=case.clock,
        order=case.order,
        start=Start.BOOT,
    )
    machine = setting.machine(kind_at(saved, case.wishes), "sound")
    wanted = [CLAIMS[name] for name in case.claims.split()]
    model = Model(setting, case.budget, case.bounds)
    return check(machine, model, wanted, states_max, engine="numba")


class Lasting(NamedTuple):
    """What becomes of changes where messages arrive in time and somebody is named."""

    base: int
    nodes: int
    budget: Budget
    strongest: Strongest = "lowest"
    form: str = "sound"
    claims: str = "M5 M6 M7"
    begun: Roster | None = None
    """The list that everybody begins with, instead of the first ids."""
    mortal: tuple[NodeId, ...] | None = None
    """Who may crash; None: anybody."""
    wishes: tuple[type[Request], ...] | None = None
    """What may be asked for; None: anything but to stand with another priority."""
    stand: tuple[int, ...] = ()
    """With which priority each stands in the forms of applications; none: all, with 1."""

    def __str__(self) -> str:
        faults = " ".join(self.budget.texts())
        return f"{self.base} of {self.nodes} {self.strongest} {self.form} {faults}"


class Begun(Mandate.over(StrongestAlive)):  # type: ignore[misc]
    """Begins with a list that may be undecided, and is asked for some things only."""

    case: ClassVar[Lasting]

    def boot(self, me: NodeId, stable: Any) -> Any:
        if stable is None and self.case.begun is not None:
            stable = MandateStable(Promise(), Stable(), self.case.begun)
        return super().boot(me, stable)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        asked: tuple[Request, ...] = super().may_ask(view)
        wished = self.case.wishes
        if wished is None:
            return tuple(r for r in asked if not isinstance(r, Stand))
        return tuple(r for r in asked if isinstance(r, wished))


def lasting(case: Lasting, *more: Claim) -> Verdict:
    setting = Setting(
        "members",
        tuple(range(1, case.nodes + 1)),
        ("rounds=2", f"base={case.base}"),
        start=Start.BOOT,
        delay_min=1,
        strongest=case.strongest,
        attributes=() if case.form == "sound" else case.stand or (1,) * case.nodes,
    )
    machine = setting.machine(type("Begun", (Begun,), {"case": case}), case.form)
    model = Model(setting, case.budget, Bounds(counter=8), mortal=case.mortal)
    goals = [*(CLAIMS[name] for name in case.claims.split()), *more]
    return check(machine, model, goals, engine="numba")


THREE_AT_ONCE = """
    deliver 1->3; deliver 3->1;
    ask 1 Add(4); deliver 1->4; deliver 4->1; ask 1 Remove(3); ask 1 Remove(2)
"""
"""Node 1 is in office, and asked for one change after the other; nobody has heard of any."""

THREE_ADDED = """
    deliver 1->3; deliver 3->1; ask 1 Add(4); deliver 1->4; deliver 4->1;
    ask 1 Add(5); deliver 1->5; deliver 5->1; ask 1 Add(6); deliver 1->6; deliver 6->1
"""
"""The same with three newcomers."""

TWO_AGAINST_EACH_OTHER = """
    deliver 1->2; deliver 2->1; deliver 1->4; deliver 4->1;
    ask 1 Add(5); deliver 1->5; deliver 5->1; fire 1 even; fire 1 answer;
    fire 3 answer; fire 2 granted; fire 4 granted; fire 3 retry;
    deliver 3->2; deliver 3->2; deliver 3->2; deliver 2->3;
    deliver 3->4; deliver 3->4; deliver 3->4; deliver 4->3; ask 3 Remove(1)
"""
"""Node 1 has proposed to add a member, and lost its office; node 3 is in office, knows nothing of
that, and has proposed to go on without node 1."""
