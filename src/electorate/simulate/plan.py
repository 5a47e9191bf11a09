"""Plans: the faults of one run, all drawn from its seed before it begins.

Faults come in bursts, for it is the second one during the recovery from the first that breaks
things. Each kind is drawn from its own stream, so that more of one kind do not change another.
"""

import random
from collections.abc import Callable

from electorate.core import NodeId
from electorate.simulate.fault import (
    AnyFault,
    Ask,
    Crash,
    CutLink,
    Lie,
    Partition,
    Pause,
    Plan,
    Recover,
    ResetConnection,
    Tear,
)
from electorate.simulate.scenario import Scenario

BURST = 8
"""How many T a burst lasts."""
BURST_FAULTS = 3
"""There is one burst for this many faults."""
ABSENCE = 6
"""A node is down, paused or cut off for at most this many T; for a few T in half of the cases."""


class _Lots:
    """One stream of lots. Each drawing costs one number, so that the stream stays in step."""

    def __init__(self, scenario: Scenario, seed: int, kind: str, bursts: list[int]) -> None:
        self.share = random.Random(f"{seed} plan {kind}").random
        self.scenario = scenario
        self.bursts = bursts

    def below(self, limit: int) -> int:
        return int(self.share() * limit)

    def time(self) -> int:
        burst = self.bursts[self.below(len(self.bursts))]
        at = burst + self.below(BURST * self.scenario.timing.T + 1)
        return min(at, self.scenario.safety)

    def end(self, at: int) -> int:
        longest = ABSENCE * self.scenario.timing.T
        if self.below(2):
            longest //= 3
        return at + 1 + self.below(longest)

    def node(self) -> NodeId:
        return self.scenario.ids[self.below(len(self.scenario.ids))]

    def two_nodes(self) -> tuple[NodeId, NodeId]:
        one = self.node()
        others = [node for node in self.scenario.ids if node != one]
        return one, others[self.below(len(others))]

    def draw(self) -> int:
        return self.below(1 << 32)


def draw_plan(scenario: Scenario, seed: int) -> Plan:
    """The faults of the run with this seed, in the order of their times."""
    counts = scenario.faults
    total = sum(getattr(counts, kind) for kind in _KINDS)
    share = random.Random(f"{seed} plan").random
    last = max(0, scenario.safety - BURST * scenario.timing.T)
    bursts = [int(share() * (last + 1)) for _ in range(1 + total // BURST_FAULTS)]
    faults: list[AnyFault] = list(scenario.listed)
    for kind, draw in _KINDS.items():
        if getattr(counts, kind):
            faults += draw(_Lots(scenario, seed, kind, bursts))
    return tuple(sorted(faults, key=lambda fault: fault.at))


def _crashes(lots: _Lots) -> list[AnyFault]:
    faults: list[AnyFault] = []
    counts = lots.scenario.faults
    for number in range(counts.crashes):
        at, node, draw = lots.time(), lots.node(), lots.draw()
        torn = lots.share() < counts.torn
        faults.append(Tear(at, node, draw) if torn else Crash(at, node))
        back = lots.end(at)
        if number < counts.recoveries:
            faults.append(Recover(back, node))
    return faults


def _pauses(lots: _Lots) -> list[AnyFault]:
    times = [lots.time() for _ in range(lots.scenario.faults.pauses)]
    return [Pause(at, lots.end(at), lots.node()) for at in times]


def _asks(lots: _Lots) -> list[AnyFault]:
    return [Ask(lots.time(), lots.node(), lots.draw()) for _ in range(lots.scenario.faults.asks)]


def _cuts(lots: _Lots) -> list[AnyFault]:
    faults: list[AnyFault] = []
    for _ in range(lots.scenario.faults.cuts):
        at, (one, other) = lots.time(), lots.two_nodes()
        until, one_way = lots.end(at), lots.below(2)
        faults.append(CutLink(at, until, one, other))
        if not one_way:
            faults.append(CutLink(at, until, other, one))
    return faults


def _resets(lots: _Lots) -> list[AnyFault]:
    return [
        ResetConnection(lots.time(), *lots.two_nodes()) for _ in range(lots.scenario.faults.resets)
    ]


def _partitions(lots: _Lots) -> list[AnyFault]:
    faults: list[AnyFault] = []
    ids = lots.scenario.ids
    for _ in range(lots.scenario.faults.partitions):
        at = lots.time()
        # Each side has a node at least: one way to split them for each number in between.
        split = 1 + lots.below(2 ** len(ids) - 2)
        side = tuple(node for place, node in enumerate(ids) if split >> place & 1)
        faults.append(Partition(at, lots.end(at), side))
    return faults


def _lies(lots: _Lots) -> list[AnyFault]:
    return [Lie(lots.time(), *lots.two_nodes()) for _ in range(lots.scenario.faults.lies)]


_KINDS: dict[str, Callable[[_Lots], list[AnyFault]]] = {
    "crashes": _crashes,
    "pauses": _pauses,
    "cuts": _cuts,
    "resets": _resets,
    "partitions": _partitions,
    "lies": _lies,
    "asks": _asks,
}
