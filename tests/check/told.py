"""Two offices at every node: a register, which changes the members, and one that is told of them.

Every node goes by the list that its own register has saved: its office adopts that before it takes
any event, and in every turn of the register that changes it, so that both are saved together. What
is judged is the office; the register has tests of its own (test_members.py).

Nothing of either is left out but this: a holder renews only when its list changes, so that runs are
short enough; who is named does not change, but for the last member, which names itself; and the end
of a term of the *register* does not come before all else that is due at its node in that instant.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS, Claim, Kind, Row, Witness
from electorate.claims.mandate import holders
from electorate.core import (
    Asked,
    Event,
    Machine,
    Members,
    NodeId,
    Request,
    Result,
    Rules,
    Stable,
    Standing,
    State,
    Status,
    Timing,
    Viewed,
)
from electorate.core.lift import Lift
from electorate.protocols.mandate import Mandate
from electorate.protocols.mandate.message import Adopt, Remove
from electorate.protocols.mandate.state import MandateStable, MandateState, Phase, Promise, Roster
from electorate.trace import Clock, Order, Setting, Start
from tests.check.mandate import BARE, Graph


class LastRules(Rules):
    """Who takes itself for the leader."""

    rivals: int = 0
    """The ids of some nodes, one digit each; and whoever is the last that is left."""


class LastState(State):
    """Whether nobody else is left."""

    is_last: bool = False


class Last(Machine[LastState]):
    """An election that is never settled: rivals name themselves, and so does the last member."""

    state_type = LastState
    rules_type = LastRules
    rules: LastRules
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[LastState]:
        return LastState(me, Stable()), []

    def step(self, s: LastState, event: Event) -> Result[LastState]:
        match event:
            case Viewed(alive):
                return replace(s, is_last=alive == {s.me}), []
        return s, []

    def view(self, s: LastState) -> Standing:
        is_rival = s.is_last or str(s.me) in str(self.rules.rivals)
        return Standing(Status.NORMAL, s.me) if is_rival else Standing(Status.ELECTION)


Ruled = Mandate.over(Last)
RULES: Any = Ruled.form("sound").with_texts(BARE.split())
ERA = 100
"""More claims than there can be under one list; far more than are explored."""


class PairRules(Rules):
    """The rules of the register and those of the office."""

    register: Ruled.rules_type = replace(RULES, per_term=1, settle=RULES.granted)  # type: ignore[name-defined]
    office: Ruled.rules_type = replace(RULES, changes="told", era=ERA)  # type: ignore[name-defined]


class PairStable(Stable):
    """What both have saved; to claims it is what the office has."""

    register: MandateStable[Stable]
    office: MandateStable[Stable]

    @property
    def promise(self) -> Promise:
        return self.office.promise


class PairState(State):
    """Both at one node."""

    stable: PairStable
    register: MandateState[LastState, Stable]
    office: MandateState[LastState, Stable]

    @property
    def claims(self) -> int:
        """How many more claims than one may have been made under the list of who was promised."""
        return max(self.stable.office.promise.epoch - 1, 0) % ERA


class Pair(Machine[PairState]):
    """A node with a register and an office, which are two mandates."""

    state_type = PairState
    stable_type = PairStable
    rules_type = PairRules
    rules: PairRules
    growing = ("register.stable.promise.epoch", "claims", "register.round", "office.round")
    wishes: ClassVar[Mapping[NodeId, tuple[Request, ...]]] = {}
    begins: ClassVar[Mapping[NodeId, Roster]]
    """The list of members that each begins with."""

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.register = Lift(Ruled(members, timing, self.rules.register), "register")
        self.office = Lift(Ruled(members, timing, self.rules.office), "office")
        lifts = (self.register, self.office)
        self.messages = tuple(kind for lift in lifts for kind in lift.messages)
        self.requests = tuple(kind for lift in lifts for kind in lift.requests)
        self.timers = tuple(timer for lift in lifts for timer in lift.timers)

    def boot(self, me: NodeId, stable: Any) -> Result[PairState]:
        if stable is None:
            first = MandateStable(Promise(), Stable(), self.begins[me])
            stable = PairStable(first, first)
        if stable.register.roster.replaces(stable.office.roster):
            told = replace(stable.office, roster=stable.register.roster)
            stable = replace(stable, office=told)
        register, asked = self.register.boot(me, stable)
        office, claimed = self.office.boot(me, stable)
        both = PairStable(register.stable, office.stable)
        return PairState(me, both, register, office), [*asked, *claimed]

    def step(self, s: PairState, event: Event) -> Result[PairState]:
        s, before = self.adopted(s)
        s, asked = self.register.step(s, event)
        s, told = self.adopted(s)
        s, claimed = self.office.step(s, event)
        return s, [*before, *asked, *told, *claimed]

    def adopted(self, s: PairState) -> Result[PairState]:
        """Have the office go by the list that the register has saved."""
        roster = s.stable.register.roster
        if not roster.replaces(s.stable.office.roster):
            return s, []
        return self.office.step(s, Asked(self.office.request(Adopt(roster))))

    def view(self, s: PairState) -> Standing:
        """The office's, and whether the register may be asked for a change at all."""
        is_holding = s.register.phase is Phase.HOLDING
        return replace(self.office.view(s), group=(s.me, int(is_holding)))

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        assert view.group is not None
        me, is_holding = view.group
        wished = self.wishes.get(me, ()) if is_holding else ()
        return tuple(map(self.register.request, wished))


class LatePair(Pair):
    """Voters adopt what their register has saved only after the office has taken an event."""

    def step(self, s: PairState, event: Event) -> Result[PairState]:
        s, asked = self.register.step(s, event)
        before = s.office
        s, claimed = self.office.step(s, event)
        is_late = s.register.office is None and s.office == before
        s, told = (s, []) if is_late else self.adopted(s)
        return s, [*asked, *claimed, *told]


LENGTHS = "register.period=9 office.period=9 register.lease=3 register.granted=3"
"""Nobody renews of itself, so a term of the register must last for longer than it has to settle."""
PATH = ((1, 2), (1, 3))
"""Nodes 2 and 3 do not see each other, and need not: see SHRINKING."""


class Case(NamedTuple):
    """What is judged: all that can follow a first start of everybody."""

    rules: str
    wishes: Mapping[NodeId, tuple[Request, ...]]
    claims: str = "M1 M2 M3 M4"
    members: tuple[NodeId, ...] = (1, 2, 3)
    clock: Clock = Clock.CLOCKS
    order: Order = Order.FIFO
    budget: Budget = Budget(asks=2)
    bounds: Bounds = Bounds(2, 2)
    graph: Graph | None = PATH
    kind: type[Pair] = Pair
    mortal: tuple[NodeId, ...] | None = None
    """Who may crash; None: anybody."""
    nodes: int = 3
    changed: Mapping[NodeId, Roster] = MappingProxyType({})
    """Who begins with another list."""

    def but(self, rules: str) -> "Case":
        """The same under other rules."""
        return self._replace(rules=f"{self.rules} {rules}")


def judged(case: Case, states_max: int | None = None, *more: Claim) -> Verdict:
    ids = tuple(range(1, case.nodes + 1))
    first = Roster(old=case.members, new=case.members)
    begins = {**dict.fromkeys(ids, first), **case.changed}
    kind = type("Pair", (case.kind,), {"wishes": case.wishes, "begins": begins})
    setting = Setting(
        "told",
        ids,
        tuple(f"register.base=1 office.base=1 {LENGTHS} {case.rules}".split()),
        clock=case.clock,
        order=case.order,
        start=Start.BOOT,
        graph=case.graph,
    )
    machine = setting.machine(kind, "sound")
    wanted = [*(CLAIMS[name] for name in case.claims.split()), *more]
    model = Model(setting, case.budget, case.bounds, mortal=case.mortal)
    return check(machine, model, wanted, states_max, engine="numba")


def _third_list(row: Row) -> Witness | None:
    for node, token in holders(row):
        if token > 2 * ERA:
            return Witness((node,), f"{node} is in office under the third list")
    return None


NEVER_THIRD = Claim("L3", Kind.ALWAYS, "nobody is in office under the third list", _third_list)
"""No promise: whatever breaks it comes to where lists are two changes apart."""

SHRINKING = Case("register.inner.rivals=3 office.inner.rivals=2", {3: (Remove(2), Remove(1))})
"""Node 3 removes 2 and later 1, while node 2 wants the office: 1 and 2 are a majority of the first
list, 1 and 3 of the second, 3 alone of the third. The first and the third have nobody in common."""

AGAINST = Case(
    "register.inner.rivals=0 office.inner.rivals=13",
    {},
    budget=Budget(),
    members=(1, 2, 3, 4),
    nodes=5,
    graph=((1, 4), (1, 5), (2, 3), (3, 4)),
    changed={
        1: Roster((1, 1), (1, 2, 3, 4), (1, 2, 3, 4, 5)),
        3: Roster((2, 1), (1, 2, 3, 4), (2, 3, 4)),
    },
)
"""Nodes 1 and 3 have proposed changes that nobody else has heard of, and want the office. Half of
the first list and a newcomer are a majority of one, the other half of the other."""
