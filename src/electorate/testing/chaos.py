"""Faults that a seed chooses: what happens to which node, when, and for how long.

They are the faults of `electorate.simulate`, planned before the first of them happens. One that
finds nothing to do, because the test has done it already, does nothing.
"""

import random
from collections import Counter
from collections.abc import Iterable

from electorate.core import NodeId
from electorate.simulate.fault import AnyFault, Crash, CutLink, Pause, Plan, Recover
from electorate.testing.network import UNITS_PER_S

GAP_S = 2.0
"""The longest time between two faults."""
LENGTH_S = 3.0
"""The longest time that a fault lasts."""
ONE_WAY = 0.25
"""The share of cuts that are one-way."""
FAULTS = ("crash", "pause", "cut")


class Hurt:
    """What chaos has done itself and must undo; the rest is up to the test."""

    def __init__(self) -> None:
        self.crashed: set[str] = set()
        self.cuts: Counter[tuple[str, str]] = Counter()
        """The ways on which nothing passes, and how many faults want that."""


def draw_plan(
    chance: random.Random, nodes: tuple[NodeId, ...], seconds: float, faults: tuple[str, ...]
) -> Plan:
    """Hurt random nodes for a while, never more than a minority at once.

    With two nodes or one there is no such minority, and one is hurt at a time.
    """
    unknown = ", ".join(sorted(set(faults) - set(FAULTS)))
    if unknown or not faults:
        raise ValueError(f"no fault {unknown or 'at all'}: choose from {', '.join(FAULTS)}")
    plan: list[AnyFault] = []
    whole_at = dict.fromkeys(nodes, 0.0)
    most, now = max(1, (len(nodes) - 1) // 2), chance.uniform(0, GAP_S)
    while now < seconds:
        well = [node for node in nodes if whole_at[node] <= now]
        if well and len(nodes) - len(well) < most:
            node, kind = chance.choice(well), chance.choice(faults)
            until = whole_at[node] = now + chance.uniform(0, LENGTH_S)
            others = [other for other in nodes if other != node]
            plan += _fault(chance, kind, node, others, *map(units, (now, until)))
        now += chance.uniform(0, GAP_S)
    return tuple(sorted(plan, key=lambda fault: fault.at))


def _fault(
    chance: random.Random, kind: str, node: NodeId, others: list[NodeId], at: int, until: int
) -> Iterable[AnyFault]:
    if kind == "crash":
        return [Crash(at, node), Recover(until, node)]
    if kind == "pause":
        return [Pause(at, until, node)]
    cut = chance.sample(others, chance.randint(1, len(others))) if others else []
    back = [other for other in cut if chance.random() >= ONE_WAY]
    ways = [(node, other) for other in cut] + [(other, node) for other in back]
    return [CutLink(at, until, *way) for way in ways]


def units(seconds: float) -> int:
    """A length of time in what the simulated network counts."""
    return int(seconds * UNITS_PER_S)
