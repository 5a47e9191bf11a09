"""Mandates whose members change, judged from places that two holders have brought about.

From boot such a run is too long to be searched for among all others of five nodes. So a script, run
by the simulator, leads to a place; there everybody crashes and recovers with what it has saved, and
all that can follow is explored.
"""

from typing import Any, ClassVar

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS
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
    Timing,
)
from electorate.protocols.mandate import Mandate
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
    wishes: ClassVar[dict[NodeId, tuple[Request, ...]]] = {}

    def boot(self, me: NodeId, stable: Any) -> Any:
        return super().boot(me, self.saved.get(me) if stable is None else stable)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        asked: tuple[Request, ...] = super().may_ask(view)
        wished = self.wishes.get(view.leader or 0, ())
        return tuple(request for request in asked if request in wished)


def kind_at(saved: dict[NodeId, Stable], wishes: dict[NodeId, tuple[Request, ...]]) -> type[Placed]:
    return type("Placed", (Placed,), {"saved": saved, "wishes": wishes})


def saved_after(rules: str, nodes: int, moves: str) -> dict[NodeId, Stable]:
    """What each node has saved once the script has been played."""
    saved: dict[NodeId, Stable] = {}

    def keep(cluster: Cluster) -> None:
        saved.update({n: node.stable for n, node in cluster.nodes.items() if node.stable})

    ids = " ".join(map(str, range(1, nodes + 1)))
    head = " ".join(f"rule:{rule}" for rule in f"{BARE} {rules}".split())
    lines = "\n".join(f"quietly {move.strip()}" for move in moves.split(";"))
    script = f"cluster members {ids} clock=unbounded start=boot {head}\n\n{lines}\n"
    run_script(script, lambda name: (Mandate.over(Rivals), "sound"), watch=keep)
    return saved


def judged(
    rules: str,
    nodes: int,
    claims: str,
    moves: str = "",
    clock: Clock = Clock.UNBOUNDED,
    order: Order = Order.BAG,
    budget: Budget = Budget(),
    wishes: dict[NodeId, tuple[Request, ...]] | None = None,
    counter: int = 3,
    states_max: int | None = None,
) -> Verdict:
    """All that can follow the moves of a script and a restart of everybody."""
    saved = saved_after(rules, nodes, moves) if moves else {}
    setting = Setting(
        "members",
        tuple(range(1, nodes + 1)),
        tuple(f"{BARE} {rules}".split()),
        timing=Timing(),
        clock=clock,
        order=order,
        start=Start.BOOT,
    )
    machine = setting.machine(kind_at(saved, wishes or {}), "sound")
    model = Model(setting, budget, Bounds(counter=counter))
    wanted = [CLAIMS[name] for name in claims.split()]
    return check(machine, model, wanted, states_max, engine="numba")
