"""An outer machine over any inner one, and an inner one that has everything to lift."""

from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from electorate.core import (
    Asked,
    Event,
    Lift,
    Machine,
    Members,
    Message,
    NodeId,
    Received,
    Request,
    Result,
    Rules,
    Send,
    SetTimer,
    Span,
    Stable,
    Standing,
    State,
    Status,
    T,
    TimedOut,
    Timer,
    Timing,
    Viewed,
)
from electorate.protocols.bully import Bully, BullyRules

Inner = TypeVar("Inner", bound=State)
Kept = TypeVar("Kept", bound=Stable)


class Claim(Message):
    """I hold office number so-and-so."""

    number: int


class Resign(Request):
    """Step down."""


class TenureStable(Stable):
    number: int = 0


class TenureState(State):
    stable: TenureStable
    holds: bool = False


class TenureRules(Rules):
    lease: Span = 3 * T


class Tenure(Machine[TenureState]):
    """Whoever boots takes office for a while, under a number that is kept."""

    state_type = TenureState
    stable_type = TenureStable
    rules_type = TenureRules
    messages = (Claim,)
    requests = (Resign,)
    timers = (Timer("lease"), Timer("beat", periodic=True))
    growing = ("stable.number",)

    def boot(self, me: NodeId, stable: TenureStable | None) -> Result[TenureState]:
        kept = TenureStable((stable or TenureStable()).number + 1)
        claims = [Send(j, Claim(kept.number)) for j in self.members.others(me)]
        lease = SetTimer("lease", self.rules.lease.of(self.timing))
        return TenureState(me, kept, holds=True), [*claims, lease]

    def step(self, s: TenureState, event: Event) -> Result[TenureState]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Viewed():
                raise AssertionError("a machine that uses no views is shown none")
            case TimedOut("lease") | Asked(Resign()):
                return replace(s, holds=False), []
            case Received(_, Claim(number)) if number > s.stable.number:
                return TenureState(s.me, TenureStable(number)), []
        return s, []

    def view(self, s: TenureState) -> Standing:
        if s.holds:
            return Standing(Status.NORMAL, s.me, until="lease")
        return Standing(Status.ELECTION)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Resign(),) if view.until == "lease" else ()


class Nudge(Message):
    """Count me."""


class Rest(Request):
    """Stop the inner machine."""


class OuterStable(Stable, Generic[Kept]):
    inner: Kept
    lives: int = 1


class OuterState(State, Generic[Inner, Kept]):
    stable: OuterStable[Kept]
    inner: Inner
    nudges: int = 0
    alive: frozenset[NodeId] = frozenset()


class OuterRules(Rules):
    inner: Rules
    patience: Span = 5 * T


class OverBullyRules(OuterRules):
    inner: BullyRules = BullyRules()


class OverTenureRules(OuterRules):
    inner: TenureRules = TenureRules()


class Outer(Machine[OuterState[Any, Any]]):
    """Counts nudges and lives; all else it leaves to the machine inside."""

    inner_type: type[Machine[Any]]
    state_type = OuterState
    stable_type = OuterStable
    messages = (Nudge,)
    requests = (Rest,)
    timers = (Timer("patience"),)

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.lift = Lift(self.inner_type(members, timing, self.rules.inner))
        self.lift.declare(self)

    def boot(self, me: NodeId, stable: OuterStable[Any] | None) -> Result[OuterState[Any, Any]]:
        inner, effects = self.lift.boot(me, stable)
        lives = 1 if stable is None else stable.lives + 1
        patience = SetTimer("patience", self.rules.patience.of(self.timing))
        return OuterState(me, OuterStable(inner.stable, lives), inner), [*effects, patience]

    def step(self, s: OuterState[Any, Any], event: Event) -> Result[OuterState[Any, Any]]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Received(_, Nudge()):
                return replace(s, nudges=s.nudges + 1), []
            case Asked(Rest()):
                return s, self.lift.silenced()
            case Viewed(alive):
                return self.lift.step(replace(s, alive=alive), event)
        return self.lift.step(s, event)

    def view(self, s: OuterState[Any, Any]) -> Standing:
        return self.lift.view(s)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Rest(), *self.lift.may_ask(view))


class OverBully(Outer):
    inner_type = Bully
    rules_type = OverBullyRules


class OverTenure(Outer):
    inner_type = Tenure
    rules_type = OverTenureRules
