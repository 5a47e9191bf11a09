"""Machines drawn by lot: a table says what each event does in each mode."""

from collections.abc import Mapping
from random import Random
from typing import Any

from electorate.check import Bounds, Budget, Detector, Model
from electorate.check.model import BUDGETS
from electorate.core import (
    Asked,
    CancelTimer,
    Effect,
    Event,
    Machine,
    Members,
    Message,
    NodeId,
    Received,
    Request,
    Result,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    TimedOut,
    Timer,
    Timing,
    Viewed,
)
from electorate.trace import Clock, Connections, Order, Setting, Start, Ties

MODES = 3
CAUSES = ("boot", "again", "all", "some", "note", "other", "memo", "once", "often", "ask")
"""What a rule is for: two kinds of boots, views and messages, a memory, two timers, a request."""

Rule = tuple[int, bool, tuple[str, ...]]
"""The next mode, whether to save it, and the orders."""
Table = Mapping[tuple[str, int], Rule]


class Note(Message):
    kind: str


class Poke(Request):
    pass


class Kept(Stable):
    mode: int


class DrawnState(State):
    stable: Kept
    mode: int


class Drawn(Machine[DrawnState]):
    """Does what its table says. In mode 2 it holds an office that the timer `once` ends."""

    state_type = DrawnState
    stable_type = Kept
    messages = (Note,)
    requests = (Poke,)
    timers = (Timer("once"), Timer("often", periodic=True))

    def __init__(self, members: Members, timing: Timing, table: Table, views: bool) -> None:
        super().__init__(members, timing)
        self.table = table
        self.uses_views = views

    def boot(self, me: NodeId, stable: Kept | None) -> Result[DrawnState]:
        state = DrawnState(me, stable or Kept(0), 0 if stable is None else stable.mode)
        return self._obey(state, "boot" if stable is None else "again")

    def step(self, state: DrawnState, event: Event) -> Result[DrawnState]:
        match event:
            case Received(_, Note(kind)):
                return self._obey(state, kind)
            case TimedOut(timer):
                return self._obey(state, timer)
            case Viewed(alive):
                return self._obey(state, "all" if len(alive) == len(self.members.ids) else "some")
            case Asked():
                return self._obey(state, "ask")
        return state, []

    def view(self, state: DrawnState) -> Standing:
        if state.mode == 1:
            return Standing(Status.ELECTION)
        until = "once" if state.mode == 2 else None
        return Standing(Status.NORMAL, self.members.ids[0], until=until)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Poke(),) if view.status is Status.NORMAL else ()

    def _obey(self, s: DrawnState, cause: str) -> Result[DrawnState]:
        mode, save, orders = self.table[cause, s.mode]
        stable = Kept(mode) if save else s.stable
        return DrawnState(s.me, stable, mode), [self._order(s.me, order) for order in orders]

    def _order(self, me: NodeId, order: str) -> Effect:
        verb, what, *numbers = order.split()
        match verb:
            case "send":
                return Send(self.members.after(me), Note(what))
            case "remember":
                return Send(me, Note("memo"))
            case "cancel":
                return CancelTimer(what)
        return SetTimer(what, *map(int, numbers))


ORDERS = (
    "send note",
    "send other",
    "remember it",
    "cancel once",
    "set once 0",
    "set once 1",
    "set once 2",
    "set once 1 1",
    "set often 2",
    "set often 1 1",
)


def drawn_table(lot: Random, bounded: bool) -> Table:
    """Few orders per rule; a memory never leads to another."""
    table: dict[tuple[str, int], Rule] = {}
    # Without bounds the length of a timer means nothing, unless it makes an office of no length.
    orders = [order for order in ORDERS if bounded or order != "set once 0"]
    for cause in CAUSES:
        allowed = [o for o in orders if cause != "memo" or not o.startswith("remember")]
        for mode in range(MODES):
            given = lot.sample(allowed, lot.choice((0, 0, 1, 1, 2)))
            table[cause, mode] = (lot.choice((0, 0, 1, 2)), lot.random() < 0.3, tuple(given))
    return table


def drawn_model(lot: Random) -> Model:
    longest = lot.choice((1, 1, 2))
    setting = Setting(
        "drawn",
        tuple(range(1, lot.choice((1, 2, 2, 2, 2, 3)) + 1)),
        timing=Timing(longest),
        delay_min=lot.randint(0, longest),
        clock=lot.choice((Clock.BOUNDED, Clock.BOUNDED, Clock.UNBOUNDED)),
        ties=lot.choice(list(Ties)),
        order=lot.choice(list(Order)),
        connections=lot.choice(list(Connections)),
        start=Start.BOOT,
    )
    kinds = set(lot.sample(BUDGETS, lot.choice((0, 1, 1, 1, 2))))
    if "recoveries" in kinds or lot.random() < 0.3:
        kinds.add("crashes")
    return Model(
        setting,
        Budget(**{kind: lot.choice((1, 1, 1, 2)) for kind in sorted(kinds)}),
        Bounds(capacity=lot.choice((1, 2)), firings=1),
        lot.choice((Detector.EVENTUALLY_PERFECT, Detector.EVENTUALLY_PERFECT, Detector.UNRELIABLE)),
        lot.choice((None, 0, 1)),
        notices_restarts=lot.random() < 0.5,
        atomic_turns=lot.random() < 0.3,
    )


def drawn(seed: int, *, jitter: bool = True) -> tuple[Machine[Any], Model]:
    """A machine and a model, the same for the same seed."""
    lot = Random(seed)
    model = drawn_model(lot)
    members, timing = model.setting.members(), model.setting.timing
    table = drawn_table(lot, model.bounded)
    if not jitter:
        table = {
            cause: (mode, save, tuple(" ".join(order.split()[:3]) for order in orders))
            for cause, (mode, save, orders) in table.items()
        }
    return Drawn(members, timing, table, views=lot.random() < 0.5), model
