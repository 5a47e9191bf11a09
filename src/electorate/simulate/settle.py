"""Running on without faults: every delay is the longest allowed, no timer is late.

What an application owes it does at once, and the first of several choices. So a cluster settles
after a disturbance, and so it gets from the first boots to its normal state, where most runs begin
(see start.py).
"""

from collections.abc import Iterator
from itertools import islice

from electorate.core import text_of
from electorate.simulate.chance import Fixed
from electorate.simulate.law import IllegalStep
from electorate.simulate.scheduler import Policy, Scheduler
from electorate.simulate.simulation import Simulation

SETTLE_MAX = 1000
"""How many T a cluster may take to come to rest."""

REASONS_MAX = 3
"""So much of what keeps it from that is told."""


def fault_free(cluster: Simulation) -> Iterator[int]:
    """When the next thing is due if nothing fails; it happens when the one after it is asked for.

    That time passes until then is a thing of its own, after which the same time is given again.
    """
    scheduler = Scheduler(cluster, Policy(Fixed({}, cluster.delay_max)))
    while (time := scheduler.next_time()) is not None:
        yield time
        if time > cluster.now:
            scheduler.reach(time)
        else:
            scheduler.step()


def is_quiet(cluster: Simulation) -> bool:
    """Whether nothing is on its way and no timer is armed, except those that never rest.

    Timers that end an office do not count either: they are set again for as long as it lasts.
    """
    return next(_unrest(cluster), None) is None


def _unrest(cluster: Simulation) -> Iterator[str]:
    """What keeps the cluster from being quiet, in words."""
    nodes = cluster.nodes
    for debtor in cluster.debtors():
        if debtor.local is not None:
            yield f"node {debtor.id} owes {text_of(debtor.local.owes[0])}"
    for envelope in cluster.in_flight():
        if not nodes[envelope.to].paused:
            name = type(envelope.message).__name__
            yield f"{name} is on its way from {envelope.sender} to {envelope.to}"
    periodic = {timer.name for timer in cluster.machine.timers if timer.periodic}
    for node in nodes.values():
        if node.local is None or node.paused:
            continue
        for timer in node.timers:
            if timer not in periodic and timer not in node.local.offices:
                yield f"node {node.id} has the timer {timer}, which is not declared as periodic"


def settle(cluster: Simulation) -> None:
    """Run on until nothing is on its way and nobody waits for anything."""
    limit = cluster.now + SETTLE_MAX * cluster.delay_max
    for time in fault_free(cluster):
        if time > cluster.now and is_quiet(cluster):
            return
        if time > limit:
            reasons = "; ".join(islice(_unrest(cluster), REASONS_MAX))
            raise IllegalStep(f"the cluster does not settle within {SETTLE_MAX}T: {reasons}")


def run_until(cluster: Simulation, time: int) -> None:
    """Let everything happen that is due by then."""
    for due in fault_free(cluster):
        if due > time:
            break
    if cluster.now < time:
        cluster.tick(time - cluster.now)
