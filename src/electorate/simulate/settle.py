"""Running on without faults: every delay is the longest allowed, messages come before timers.

What an application owes it does at once, and the first of several choices. So a cluster settles
after a disturbance, and so it gets from the first boots to its normal state, where most runs begin
(see start.py).
"""

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any

from electorate.core import text_of
from electorate.simulate.law import IllegalStep
from electorate.simulate.simulation import ArmedTimer, Envelope, SimulatedNode, Simulation

SETTLE_MAX = 1000
"""How many T a cluster may take to come to rest."""

REASONS_MAX = 3
"""So much of what keeps it from that is told."""

MESSAGE, TIMER = range(2)


class FaultFree:
    """What is due next if nothing fails, in a simulation that is stepped from here only."""

    def __init__(self, cluster: Simulation) -> None:
        self.cluster = cluster
        self._periodic = {timer.name for timer in cluster.machine.timers if timer.periodic}
        self._due: list[tuple[int, int, tuple[Any, ...], Envelope | ArmedTimer]] = []
        self._stuck: list[Envelope] = []
        """Messages that no node can take; they are lost as time passes."""
        self._armed = 0
        cluster.posted = list(cluster.in_flight())
        cluster.armed = [armed for node in cluster.nodes.values() for armed in node.timers.values()]

    def is_quiet(self) -> bool:
        """Whether nothing is on its way and no timer is armed, except those that never rest.

        Timers that end an office do not count either: they are set again for as long as it lasts.
        """
        return next(self.unrest(), None) is None

    def unrest(self) -> Iterator[str]:
        """What keeps the cluster from being quiet, in words."""
        nodes, debtor = self.cluster.nodes, self._debtor()
        if debtor is not None and debtor.local is not None:
            yield f"node {debtor.id} owes {text_of(debtor.local.owes[0])}"
        for envelope in self.cluster.in_flight():
            if not nodes[envelope.to].paused:
                name = type(envelope.message).__name__
                yield f"{name} is on its way from {envelope.sender} to {envelope.to}"
        for node in nodes.values():
            if node.local is None or node.paused:
                continue
            for timer in node.timers:
                if timer not in self._periodic and timer not in node.local.offices:
                    yield f"node {node.id} has the timer {timer}, which is not declared as periodic"

    def _debtor(self) -> SimulatedNode | None:
        """The first node whose application can do what it owes."""
        return next(self.cluster.debtors(), None)

    def next_time(self) -> int | None:
        """When the next thing is due; None if nothing ever will be."""
        self._take_in()
        if self._debtor() is not None:
            return self.cluster.now
        while self._due and self._is_void(self._due[0][3]):
            heapq.heappop(self._due)
        if self._due:
            return max(self._due[0][0], self.cluster.now)
        lost = [e.sent_at + self.cluster.delay_max + 1 for e in self._stuck if not e.gone]
        return max(lost, default=None)

    def step(self) -> None:
        """Let the next thing happen, and time pass until then."""
        cluster, time = self.cluster, self.next_time()
        assert time is not None
        if time > cluster.now:
            cluster.tick(time - cluster.now)
            return
        debtor = self._debtor()
        if debtor is not None and debtor.local is not None:
            cluster.ask(debtor.id, debtor.local.owes[0])
            return
        what = self._due[0][3]
        here = cluster.nodes[what.node if isinstance(what, ArmedTimer) else what.to]
        ended = cluster.ended_office(here)
        if ended is not None:
            cluster.fire(ended.node, ended.timer)
            return
        heapq.heappop(self._due)
        if isinstance(what, ArmedTimer):
            cluster.fire(what.node, what.timer)
        elif cluster.obstacle(what):
            cluster.drop(what)
        else:
            place = what.channel.waiting.index(what)
            cluster.deliver(what.sender, what.to, place)

    def _take_in(self) -> None:
        cluster = self.cluster
        for envelope in cluster.posted:
            due = envelope.sent_at + cluster.delay_max
            in_line = cluster.place_in_line(envelope)
            heapq.heappush(self._due, (due, MESSAGE, in_line, envelope))
        for armed in cluster.armed:
            self._armed += 1
            by_node = (armed.node, armed.timer, self._armed)
            heapq.heappush(self._due, (armed.earliest, TIMER, by_node, armed))
        cluster.posted.clear()
        cluster.armed.clear()

    def _is_void(self, what: Envelope | ArmedTimer) -> bool:
        if isinstance(what, Envelope):
            if what.gone or self.cluster.nodes[what.to].paused:
                return True
            if self.cluster.obstacle(what) and self.cluster.setting.prompt:
                self._stuck.append(what)
                return True
            return False
        node = self.cluster.nodes[what.node]
        return node.timers.get(what.timer) is not what or node.paused


def settle(cluster: Simulation) -> None:
    """Run on until nothing is on its way and nobody waits for anything."""
    fault_free = FaultFree(cluster)
    limit = cluster.now + SETTLE_MAX * cluster.delay_max
    while (time := fault_free.next_time()) is not None:
        if time > cluster.now and fault_free.is_quiet():
            return
        if time > limit:
            reasons = "; ".join(islice(fault_free.unrest(), REASONS_MAX))
            raise IllegalStep(f"the cluster does not settle within {SETTLE_MAX}T: {reasons}")
        fault_free.step()


def run_until(cluster: Simulation, time: int) -> None:
    """Let everything happen that is due by then."""
    fault_free = FaultFree(cluster)
    while (due := fault_free.next_time()) is not None and due <= time:
        fault_free.step()
    if cluster.now < time:
        cluster.tick(time - cluster.now)
