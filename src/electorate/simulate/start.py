"""Where a run begins: at the first boots, or in the normal state that follows them.

The normal state is where the fault-free run ends up. For a machine that comes to rest that is where
it rests; for one with periodic timers it is where it begins to repeat itself. One whose numbers
grow without end never does, and is taken to be normal after a long while.
"""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

from msgspec import structs

from electorate.claims import Claim, Following, Kind
from electorate.core import Machine, NodeId, Standing
from electorate.simulate.law import IllegalStep
from electorate.simulate.local import LocalStates
from electorate.simulate.named import claims_of
from electorate.simulate.settle import SETTLE_MAX, fault_free, is_quiet, settle
from electorate.simulate.simulation import Simulation
from electorate.trace import Clock, Placed, Setting, Start, Step, Trace

Find = Callable[[str], tuple[type[Machine[Any]], str]]
"""Finds the machine that a protocol's name means, and the form."""


class SimulationStartError(Exception):
    """The fault-free run does not reach a state where a run would begin."""


def started(
    setting: Setting, machine: Machine[Any], locals_: LocalStates | None = None
) -> tuple[Simulation, tuple[Step, ...]]:
    """A simulation where its setting says that runs begin, and the boots if that is where."""
    is_normal = setting.start is Start.NORMAL
    # The way to normal is gone with bounds, whatever comes after.
    first = structs.replace(setting, clock=Clock.BOUNDED) if is_normal else setting
    cluster = Simulation(first, machine, locals_)
    boots: tuple[Step, ...] = ()
    if setting.start in (Start.NORMAL, Start.BOOT):
        cluster.boot()
        boots = tuple(cluster.steps)
        cluster.steps.clear()
    if is_normal:
        boots = ()
        cluster.recording = False
        _run_to_normal(cluster)
        cluster = cluster.copy(setting)
        _set_back(cluster)
    cluster.past = [cluster.row()]
    return cluster, boots


def first_standings(trace: Trace, machine: Machine[Any]) -> tuple[dict[NodeId, Standing], int]:
    """The first standings of a run, and how many of its steps only lead there."""
    cluster, _ = started(trace.setting, machine)
    placed = list(takewhile(lambda step: isinstance(step.happening, Placed), trace.steps))
    for step in placed:
        if isinstance(step.happening, Placed):
            cluster.place(step.happening)
    return dict(cluster.row().live()), len(placed)


def _run_to_normal(cluster: Simulation) -> None:
    """Follow the fault-free run until it is at rest or repeats itself."""
    promised = claims_of(cluster.machine) if cluster.setting.is_complete else ()
    goals = [claim for claim in promised if claim.kind is Kind.GOAL]
    try:
        if any(timer.periodic for timer in cluster.machine.timers):
            _run_to_loop(cluster, goals)
        else:
            settle(cluster)
    except IllegalStep as error:
        raise SimulationStartError(
            f"without any fault {cluster.setting.protocol} fails: {error}"
        ) from None
    _expect(cluster, goals)


def _run_to_loop(cluster: Simulation, goals: list[Claim]) -> None:
    limit = SETTLE_MAX * cluster.delay_max
    for _ in _until_it_repeats(cluster):
        if cluster.now > limit and is_quiet(cluster):
            return
    # Once round the loop: the goal has to hold all along.
    for _ in _until_it_repeats(cluster):
        _expect(cluster, goals)


def _until_it_repeats(cluster: Simulation) -> Iterator[object]:
    """Every place that the fault-free run comes by, up to the first that it was at before."""
    seen: set[object] = set()
    for _ in fault_free(cluster):
        here = _signature(cluster)
        if here in seen:
            return
        seen.add(here)
        yield here


def _expect(cluster: Simulation, goals: list[Claim]) -> None:
    row = cluster.row()
    for claim in goals:
        witness = Following(claim).judge(row)
        if witness is not None:
            name, end = cluster.setting.protocol, cluster.now / cluster.setting.timing.T
            problem = f"without any fault {name} misses {claim.name} after {end:g}T"
            raise SimulationStartError(f"{problem}: {witness.text}")


def _signature(cluster: Simulation) -> object:
    """Everything but the time: states, timers and messages with the time that each has left.

    Which of two messages was sent first matters only if they wait in one queue.
    """
    now = cluster.now
    nodes = tuple(
        (
            node.local.state if node.local else None,
            tuple(
                (timer, armed.earliest - now, armed.latest - now)
                for timer, armed in sorted(node.timers.items())
            ),
        )
        for node in cluster.nodes.values()
    )
    flying = sorted(cluster.in_flight(), key=cluster.place_in_line)
    return nodes, tuple((e.sender, e.to, e.message, e.sent_at - now) for e in flying)


def _set_back(cluster: Simulation) -> None:
    """Call this moment zero, and begin to count messages."""
    elapsed, cluster.now, cluster.numbered = cluster.now, 0, 0
    for node in cluster.nodes.values():
        for armed in node.timers.values():
            armed.earliest -= elapsed
            armed.latest -= elapsed
    for channel in cluster.channels.values():
        channel.posted = 0
    for envelope in sorted(cluster.in_flight(), key=lambda envelope: envelope.number):
        cluster.numbered += 1
        envelope.number = cluster.numbered
        envelope.sent_at -= elapsed
        envelope.ordinal = envelope.channel.posted
        envelope.channel.posted += 1
