"""Traffic: when messages arrive, and what becomes of those that no node can take then."""

from collections import Counter
from collections.abc import Callable
from heapq import heappush
from itertools import count
from typing import Any

from electorate.core import NodeId
from electorate.simulate.chance import Chance
from electorate.simulate.simulation import Channel, Envelope, SimulatedNode, Simulation
from electorate.trace import Order

EXPIRY, FAULT, MESSAGE, CORRECTION, TIMER = range(5)
"""The kinds of entries, in the order of the same moment. Messages come before timers: bounds are
closed."""

Entry = tuple[int, int, Any, Any, Any]
"""When something is due, its kind, its place among others of that kind, what it is, and the node
that takes it, if one does."""


class Agenda:
    """What is going to happen, in the order of time."""

    def __init__(self, in_line: Callable[[Envelope], tuple[int, ...]] | None = None) -> None:
        self.heap: list[Entry] = []
        self.numbers = count()
        self.in_line = in_line
        """The place of a message among those of the same moment; None if the first to be put here
        is the first to come."""

    def push(self, time: int, rank: int, what: Any, taker: SimulatedNode | None = None) -> None:
        """Let something happen then."""
        place: Any = next(self.numbers)
        if self.in_line is not None:
            is_timer = rank == TIMER
            place = (*((what.node, what.timer) if is_timer else self.in_line(what)), place)
        heappush(self.heap, (time, rank, place, what, taker))


class Traffic:
    """The network of one run: it decides when each message arrives."""

    def __init__(self, cluster: Simulation, chance: Chance, agenda: Agenda) -> None:
        self._cluster = cluster
        self._chance = chance
        self._agenda = agenda
        order = cluster.setting.order
        self._is_fifo = order is Order.FIFO
        self._keeps_order = order in (Order.FIFO, Order.GLOBAL)
        self._bounded = cluster.setting.prompt
        self._delay_max = cluster.delay_max
        self._is_fault_free = False
        self._floors: dict[Channel | NodeId, int] = {}
        """Per channel or receiver: the last arrival so far."""
        self._stalled: dict[NodeId, list[Envelope]] = {}
        """Messages that have arrived at a node which cannot take them."""
        self.copies: dict[int, int] = {}
        """By number of a message that will be doubled: when the copy arrives."""
        self.happened: Counter[str] = Counter()
        """How many accidents of each kind there were."""

    def take_in(self) -> None:
        """Decide when the messages arrive that were sent since the last call."""
        cluster, chance, now = self._cluster, self._chance, self._cluster.now
        push, nodes, is_fifo, floors = self._agenda.push, cluster.nodes, self._is_fifo, self._floors
        heap, numbers, in_line = self._agenda.heap, self._agenda.numbers, self._agenda.in_line
        for envelope in cluster.posted:
            delay = chance.delay(envelope)
            if self._is_fault_free and delay > self._delay_max:
                delay = self._delay_max
            arrival = envelope.sent_at + delay
            if arrival < now:
                arrival = now
            if is_fifo:
                # `_in_order`, written out.
                floor = floors.get(envelope.channel, 0)
                if arrival < floor:
                    arrival = floor
                else:
                    floors[envelope.channel] = arrival
            else:
                arrival = self._in_order(envelope, arrival)
            if chance.mishaps and not self._is_fault_free:
                if chance.loses(envelope):
                    cluster.drop(envelope)
                    self.happened["loss"] += 1
                    continue
                copy = chance.copy(envelope)
                if copy is not None:
                    self.happened["duplication"] += 1
                    later = max(arrival, envelope.sent_at + copy)
                    self.copies[envelope.number] = self._in_order(envelope, later)
            taker = nodes[envelope.to]
            if in_line is None:
                # `push`, written out: every message of a seeded run comes by here.
                heappush(heap, (arrival, MESSAGE, next(numbers), envelope, taker))
            else:
                push(arrival, MESSAGE, envelope, taker)
            if self._bounded and (taker.local is None or envelope.channel.cut):
                push(envelope.sent_at + self._delay_max + 1, EXPIRY, envelope)
        cluster.posted.clear()

    def _in_order(self, envelope: Envelope, arrival: int) -> int:
        """Nothing arrives before what was sent earlier, as far as the order goes."""
        if not self._keeps_order:
            return arrival
        key = envelope.channel if self._is_fifo else envelope.to
        floor = self._floors.get(key, 0)
        if arrival < floor:
            return floor
        self._floors[key] = arrival
        return arrival

    def stall(self, envelope: Envelope) -> None:
        """A message arrives where no node can take it now."""
        is_paused = self._cluster.nodes[envelope.to].paused
        if self._bounded or (is_paused and self._cluster.obstacle(envelope) is None):
            self._stalled.setdefault(envelope.to, []).append(envelope)
        else:
            self._cluster.drop(envelope)

    def release(self, to: NodeId) -> None:
        """A node may now be able to take what it could not take before."""
        for envelope in self._stalled.pop(to, ()):
            if not envelope.gone:
                self._agenda.push(self._cluster.now, MESSAGE, envelope, self._cluster.nodes[to])

    def threaten(self, sender: NodeId, to: NodeId) -> None:
        """If nobody can take what is on its way there, it is lost when its bound is over."""
        channel = self._cluster.channels.get((sender, to))
        if channel is not None and self._bounded:
            for envelope in channel.waiting:
                due = max(envelope.sent_at + self._delay_max, self._cluster.now)
                self._agenda.push(due + 1, EXPIRY, envelope)

    def end_faults(self) -> None:
        """From now on no message is lost or doubled, and all arrive in time, old ones too."""
        self._is_fault_free = True
        self.copies.clear()
        last = self._cluster.now + self._delay_max
        self._floors = {key: min(floor, last) for key, floor in self._floors.items()}
        if not self._bounded:
            for envelope in sorted(self._cluster.in_flight(), key=lambda sent: sent.number):
                self._agenda.push(last, MESSAGE, envelope, self._cluster.nodes[envelope.to])
