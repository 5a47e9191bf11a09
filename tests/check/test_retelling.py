"""Every run that the checker shows is one that the simulator can retell, word for word.

What the checker says about a run is held against that: a loop leads back to where it began, and
the slowest run takes τ ticks after the last fault.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from electorate.check import Model, check
from electorate.check.start import StartError
from electorate.core import Machine, Members, ProtocolError, Timing, text_of
from electorate.simulate.cluster import Cluster
from electorate.simulate.script import run_script
from electorate.trace import Clock, Start, Ticked, Trace, is_consequence, script_of
from tests.check.drawn import Drawn, drawn
from tests.check.test_drawn import ALWAYS, GOAL

SEEDS = 320
PARTS = 4
STATES_MAX = 600


class Shown(NamedTuple):
    """A run of the checker, and what it says about it."""

    trace: Trace
    loop_after: int | None = None
    calm_after: int | None = None
    tau: int | None = None


@pytest.mark.parametrize("part", range(PARTS))
def test_the_simulator_retells_the_runs_of_drawn_machines(part: int) -> None:
    told = loops = 0
    for seed in range(part, SEEDS, PARTS):
        machine, model = drawn(seed)
        for shown in runs(machine, model):
            text = script_of(shown.trace)
            retold, snapshots = played(machine, text)
            assert retold == text, seed
            told += 1
            if shown.loop_after is not None:
                loops += 1
                assert snapshots[shown.loop_after] == snapshots[-1], seed
                assert len(snapshots) > shown.loop_after + 1, seed
            if shown.tau is not None:
                assert ticks_after(shown) == shown.tau, seed
    assert told > SEEDS / PARTS
    assert loops > SEEDS / PARTS / 8


@pytest.mark.parametrize("part", range(PARTS))
def test_the_simulator_retells_runs_from_wherever_drawn_machines_go_round(part: int) -> None:
    told = 0
    for seed in range(part, SEEDS, PARTS):
        machine, model = drawn(seed, jitter=False)
        setting = msgspec.structs.replace(model.setting, start=Start.NORMAL)
        for shown in runs(machine, msgspec.structs.replace(model, setting=setting)):
            text = script_of(shown.trace)
            assert played(machine, text)[0] == text, seed
            told += 1
    assert told > SEEDS / PARTS / 2


def runs(machine: Machine[Any], model: Model) -> Iterator[Shown]:
    for claim in (ALWAYS, GOAL):
        try:
            verdict = check(machine, model, [claim], STATES_MAX)
        except (ProtocolError, StartError):
            continue
        for violation in verdict.violations:
            yield Shown(violation.trace, violation.loop_after)
        if verdict.slowest is not None:
            yield Shown(verdict.slowest, calm_after=verdict.slowest_from, tau=verdict.tau)


def ticks_after(shown: Shown) -> int:
    moves = [step for step in shown.trace.steps if not is_consequence(step)]
    return sum(isinstance(step.happening, Ticked) for step in moves[shown.calm_after :])


def played(machine: Machine[Any], text: str) -> tuple[str, list[object]]:
    """The script as the simulator tells it, and what its world was like after each move."""

    class Same(Drawn):
        def __init__(self, members: Members, timing: Timing, rules: object) -> None:
            assert isinstance(machine, Drawn)
            super().__init__(members, timing, machine.table, machine.uses_views)

    snapshots: list[object] = []

    def watch(cluster: Cluster) -> None:
        if cluster.steps and is_consequence(cluster.steps[-1]):
            snapshots.pop()
        snapshots.append(snapshot(cluster))

    replayed = run_script(text, lambda name: (Same, "sound"), watch=watch)
    return replayed.text, snapshots


def snapshot(cluster: Cluster) -> object:
    """Everything by which two moments differ; without bounds that is no matter of time."""
    bounded = cluster.setting.clock is Clock.BOUNDED
    now, oldest = cluster.now, cluster.setting.delay_max

    def left(time: int) -> int:
        return max(0, time - now) if bounded else 0

    nodes = tuple(
        (
            node.local and node.local.state,
            node.stable,
            frozenset((t, left(a.earliest), left(a.latest)) for t, a in node.timers.items()),
            node.view if node.local else None,
        )
        for node in cluster.nodes.values()
    )
    mail = [
        (e.sender, e.to, text_of(e.message), left(e.sent_at + oldest)) for e in cluster.in_flight()
    ]
    return nodes, tuple(sorted(mail))
