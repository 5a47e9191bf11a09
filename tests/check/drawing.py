"""What is drawn for the plain explorer and the checker to agree on, by the number of the lot."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from electorate.check import Bounds, Budget, Detector, Model
from electorate.core import Machine
from electorate.trace import Clock, Order
from tests.check.drawn import (
    MODES,
    Drawn,
    Rule,
    Table,
    drawn,
    drawn_model,
    drawn_table,
    drawn_watchers,
)
from tests.check.tally import drawn_tally

Lot = tuple[Machine[Any], Model]


class Case(NamedTuple):
    """A machine and a model, and what kind they are of."""

    kind: str
    machine: Machine[Any]
    model: Model

    @property
    def counts(self) -> bool:
        """Whether there are numbers in it that grow for ever."""
        return self.kind == "tally"


def patched(lot: Random, table: Table, *causes: str, orders: tuple[str, ...]) -> Table:
    """The table with these orders for some causes, whatever the mode."""
    new: dict[tuple[str, int], Rule] = dict(table)
    for cause in causes:
        for mode in range(MODES):
            kept = lot.choice((mode, mode, *range(MODES)))
            new[cause, mode] = (kept, lot.random() < 0.3, orders)
    return new


def drawn_flood(seed: int) -> Lot:
    """A machine that sends for ever, faster than channels carry; some of them block it."""
    lot = Random(f"flood {seed}")
    model = drawn_model(lot)
    words = tuple(lot.choices(("send note", "send other"), k=lot.choice((1, 1, 2))))
    table = drawn_table(lot, model.bounded, (0, 0, 1))
    if lot.random() < 0.5:
        table = patched(lot, table, "once", orders=(*words, "set once 1"))
        table = patched(lot, table, "boot", "again", orders=("set once 1",))
    else:
        table = patched(lot, table, "boot", lot.choice(("note", "other")), orders=words)
    # A node that is blocked cannot keep its time.
    blocks = not model.bounded and lot.random() < 0.6
    bounds = Bounds(capacity=lot.choice((1, 2, 2)), firings=1, blocks=blocks)
    machine = Drawn(model.setting.members(), model.setting.timing, table, lot.random() < 0.2)
    return machine, replace(model, bounds=bounds)


def drawn_probe(seed: int) -> Lot:
    """A machine that goes on asking a node which may be down for good."""
    lot = Random(f"probe {seed}")
    model = drawn_model(lot)
    clock = lot.choice((model.setting.clock, Clock.UNBOUNDED))
    order = model.setting.order
    if clock is Clock.BOUNDED and order is Order.SET:
        order = Order.FIFO
    model = replace(
        model,
        setting=replace(model.setting, ids=(1, 2), clock=clock, order=order, graph=None),
        budget=Budget(crashes=lot.choice((1, 1, 2)), cuts=lot.choice((0, 0, order is Order.FIFO))),
    )
    if not model.bounded and model.detector is Detector.INCOMPLETE:
        model = replace(model, detector=Detector.EVENTUALLY_PERFECT)
    table = drawn_table(lot, model.bounded, (0, 0, 1))
    table = patched(lot, table, "once", orders=("send note", "set once 1"))
    table = patched(lot, table, "boot", orders=("set once 1",))
    machine = Drawn(model.setting.members(), model.setting.timing, table, lot.random() < 0.4)
    return machine, model


def drawn_standstill(seed: int) -> Lot:
    """A machine some of whose timers take no time and set themselves again."""
    lot = Random(f"standstill {seed}")
    model = drawn_model(lot)
    setting = model.setting
    if setting.clock is Clock.UNBOUNDED:
        setting = replace(setting, clock=Clock.CLOCKS)
    model = replace(model, setting=setting)
    table = dict(drawn_table(lot, True, (0, 0, 1, 1)))
    for mode in range(MODES):
        if lot.random() < 0.6:
            orders = lot.choice((("set once 0",), ("send note", "set once 0"), ("set once 0 1",)))
            table["once", mode] = (lot.randrange(MODES), False, orders)
    views, owes = lot.random() < 0.2, lot.random() < 0.3
    return Drawn(setting.members(), setting.timing, table, views, owes), model


def drawn_asking(seed: int) -> Lot:
    """A machine whose application asks, and owes answers."""
    lot = Random(f"asking {seed}")
    model = drawn_model(lot)
    kinds = dict.fromkeys(lot.sample(("crashes", "losses", "pauses"), lot.choice((0, 1))), 1)
    model = replace(model, budget=Budget(asks=lot.choice((1, 2)), **kinds))
    table = drawn_table(lot, model.bounded, (0, 0, 1, 1))
    members, timing = model.setting.members(), model.setting.timing
    return Drawn(members, timing, table, lot.random() < 0.3, owes=lot.random() < 0.7), model


KINDS: Mapping[str, Callable[[int], Lot]] = {
    "drawn": drawn,
    "tally": drawn_tally,
    "flood": drawn_flood,
    "probe": drawn_probe,
    "standstill": drawn_standstill,
    "asking": drawn_asking,
    "watchers": drawn_watchers,
}
ROUND = ("drawn", "tally", "flood", "tally", "probe", "standstill", "tally", "asking", "watchers")
"""The kinds in turn: every third lot is a machine that counts."""


def case_of(seed: int) -> Case:
    """The same for the same seed."""
    number, place = divmod(seed, len(ROUND))
    kind = ROUND[place]
    return Case(kind, *KINDS[kind](number * ROUND.count(kind) + ROUND[:place].count(kind)))
