"""Machines drawn by lot: a table says what each event does in each mode."""

from collections.abc import Mapping
from itertools import combinations
from random import Random
from typing import Any

import msgspec

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
from electorate.trace import Clock, Connections, Order, Setting, Start, Storage, Ties

MODES = 3
NORMAL_MAX = 2_000
"""Machines of many words have fault-free runs without number: where they end is drawn, too."""
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
    """Does what its table says. In mode 2 it holds an office that the timer `once` ends.

    If `owes`, its application owes a poke in mode 1.
    """

    state_type = DrawnState
    stable_type = Kept
    messages = (Note,)
    requests = (Poke,)
    timers = (Timer("once"), Timer("often", periodic=True))

    def __init__(
        self, members: Members, timing: Timing, table: Table, views: bool, owes: bool = False
    ) -> None:
        super().__init__(members, timing)
        self.table = table
        self.uses_views = views
        self.owes = owes

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

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Poke(),) if self.owes and view.status is Status.ELECTION else ()

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


def drawn_table(lot: Random, bounded: bool, counts: tuple[int, ...]) -> Table:
    """So many orders per rule; a memory never leads to another."""
    table: dict[tuple[str, int], Rule] = {}
    # Without bounds the length of a timer means nothing, unless it makes an office of no length.
    orders = [order for order in ORDERS if bounded or order != "set once 0"]
    for cause in CAUSES:
        allowed = [o for o in orders if cause != "memo" or not o.startswith("remember")]
        for mode in range(MODES):
            given = lot.sample(allowed, lot.choice(counts))
            table[cause, mode] = (lot.choice((0, 0, 1, 2)), lot.random() < 0.3, tuple(given))
    return table


def drawn_setting(lot: Random) -> Setting:
    ids = tuple(range(1, lot.choice((1, 2, 2, 2, 2, 3)) + 1))
    timing = Timing(lot.choice((1, 1, 2)), lot.choice((0, 0, 0, 1)))
    clock = lot.choice((Clock.BOUNDED,) * 4 + (Clock.CLOCKS,) + (Clock.UNBOUNDED,) * 2)
    orders = [order for order in Order if order is not Order.SET or clock is not Clock.BOUNDED]
    order = lot.choice(orders)
    links = tuple(pair for pair in combinations(ids, 2) if lot.random() < 0.7)
    return Setting(
        "drawn",
        ids,
        timing=timing,
        delay_min=lot.randint(0, timing.T + timing.P),
        clock=clock,
        ties=lot.choice(list(Ties)),
        order=order,
        connections=Connections.OUTLIVE if order is Order.SET else lot.choice(list(Connections)),
        start=Start.BOOT,
        graph=lot.choice((None, None, None, links)),
        drift=lot.choice((0, 0, 0, 0.1, 0.5)),
        storage=lot.choice((Storage.KEPT,) * 4 + (Storage.LOST,)),
    )


def drawn_budget(lot: Random, setting: Setting) -> Budget:
    kinds = set(lot.sample(BUDGETS, lot.choice((0, 1, 1, 1, 2))))
    if lot.random() < 0.3:
        kinds |= lot.choice(({"cuts"}, {"cuts", "heals"}, {"cuts", "heals", "recoveries"}))
    if "recoveries" in kinds or lot.random() < 0.3:
        kinds.add("crashes")
    if "heals" in kinds:
        kinds.add("cuts")
    if setting.order in (Order.GLOBAL, Order.SET):
        kinds -= {"cuts", "heals"}
    return Budget(**{kind: lot.choice((1, 1, 1, 2)) for kind in sorted(kinds)})


def drawn_model(lot: Random) -> Model:
    setting = drawn_setting(lot)
    detectors = [Detector.EVENTUALLY_PERFECT, Detector.EVENTUALLY_PERFECT, Detector.UNRELIABLE]
    if setting.timed:
        detectors.append(Detector.INCOMPLETE)
    return Model(
        setting,
        drawn_budget(lot, setting),
        Bounds(capacity=lot.choice((1, 2)), firings=1, normal=NORMAL_MAX),
        lot.choice(detectors),
        lot.choice((None, 0, 1)),
        notices_restarts=lot.random() < 0.5,
        atomic_turns=(torn := lot.random()) < 0.15,
        atomic_sends=0.15 <= torn < 0.3,
    )


def drawn(seed: int, *, jitter: bool = True) -> tuple[Machine[Any], Model]:
    """A machine and a model, the same for the same seed."""
    lot = Random(seed)
    model = drawn_model(lot)
    members, timing = model.setting.members(), model.setting.timing
    table = drawn_table(lot, model.bounded, (0, 0, 1, 1, 2))
    if not jitter:
        table = without_jitter(table)
    views, owes = lot.random() < 0.5, lot.random() < 0.3
    if lot.random() < 0.3:
        model = msgspec.structs.replace(model, mortal=(lot.choice(model.setting.ids),))
    return Drawn(members, timing, table, views, owes), model


def without_jitter(table: Table) -> Table:
    return {
        cause: (mode, save, tuple(" ".join(order.split()[:3]) for order in orders))
        for cause, (mode, save, orders) in table.items()
    }


def same(machine: Machine[Any]) -> type[Machine[Any]]:
    """A drawn machine for a driver that builds it from members, timing and rules."""
    assert isinstance(machine, Drawn)
    table, views, owes = machine.table, machine.uses_views, machine.owes

    class Same(Drawn):
        def __init__(self, members: Members, timing: Timing, rules: object) -> None:
            super().__init__(members, timing, table, views, owes)

    return Same


def drawn_watchers(seed: int) -> tuple[Machine[Any], Model]:
    """A machine of few words that watches who is linked to it, and a model that cuts links."""
    lot = Random(f"watchers {seed}")
    model = drawn_model(lot)
    ids = tuple(range(1, lot.choice((2, 2, 3)) + 1))
    links = tuple(pair for pair in combinations(ids, 2) if lot.random() < 0.7)
    setting = msgspec.structs.replace(
        model.setting,
        ids=ids,
        order=lot.choice((Order.FIFO, Order.BAG)),
        graph=lot.choice((None, links)),
    )
    kinds = {"cuts", *lot.sample(("heals", "crashes", "recoveries", "lies", "pauses"), 2)}
    if "recoveries" in kinds:
        kinds.add("crashes")
    budget = Budget(**dict.fromkeys(kinds, 1))
    table = drawn_table(lot, model.bounded, (0, 0, 0, 0, 1))
    machine = Drawn(setting.members(), setting.timing, table, views=True)
    return machine, msgspec.structs.replace(model, setting=setting, budget=budget)


def drawn_talkers(seed: int) -> tuple[Machine[Any], Model]:
    """A machine of many words, and a model in which everything may happen once or twice."""
    lot = Random(f"talkers {seed}")
    model = drawn_model(lot)
    setting = msgspec.structs.replace(model.setting, ids=(1, 2, 3), graph=None)
    if lot.random() < 0.3:
        setting = msgspec.structs.replace(setting, graph=((1, 2), (2, 3)))
    linked = setting.order in (Order.FIFO, Order.BAG)
    kinds = [kind for kind in BUDGETS if linked or kind not in ("cuts", "heals")]
    budget = Budget(**{kind: lot.randint(1, 2) for kind in kinds})
    machine = Drawn(
        setting.members(),
        setting.timing,
        drawn_table(lot, model.bounded, (1, 1, 2, 3)),
        views=lot.random() < 0.8,
    )
    bounds = Bounds(capacity=3, firings=4, normal=NORMAL_MAX)
    return machine, msgspec.structs.replace(model, setting=setting, budget=budget, bounds=bounds)
