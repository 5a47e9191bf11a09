"""What happens next in a simulation: one queue of all that is due, one order of the same moment.

An application does what it owes before anything else. Of what is due at the same moment, messages
whose bound is over are lost first; then come faults, messages, the words of failure detectors, and
timers. The end of an office comes before any other event of its node, and on a channel that keeps
its order a message takes those before it along. A node that is paused takes nothing.

Everything else is said by a policy. There are two: without faults every message takes as long as
it may (settle.py); by a seed everything is drawn (run.py).
"""

from collections import Counter
from collections.abc import Callable, Collection
from heapq import heappop, heappush
from typing import Any, NamedTuple

from electorate.core import NodeId
from electorate.simulate import law
from electorate.simulate.chance import Chance
from electorate.simulate.detector import SimulatedDetectors
from electorate.simulate.fault import Ask, Crash, Fault, Lie, Recover, Tear
from electorate.simulate.injector import FaultInjector
from electorate.simulate.local import EventOutcome
from electorate.simulate.simulation import (
    ArmedTimer,
    Envelope,
    SimulatedNode,
    Simulation,
    TornTurn,
)
from electorate.simulate.traffic import (
    CORRECTION,
    FAULT,
    MESSAGE,
    TIMER,
    Agenda,
    Entry,
    Traffic,
)
from electorate.trace import Order

NEVER = 1 << 62


class Policy(NamedTuple):
    """What the rules of a simulation leave open."""

    chance: Chance
    """How long messages take, by how much timers are late, and what applications answer."""
    plan: tuple[Fault, ...] = ()
    """What goes wrong, and when."""
    detection: tuple[int, bool] | None = None
    """Within which time failure detectors are right again, and whether they notice every crash;
    None if they say nothing by themselves."""
    in_line: bool = True
    """Whether messages that are due at the same moment come by receiver and sender, and timers by
    node and name; if not, they come in the order in which it was decided when they come."""
    is_watched: bool = False
    """Whether somebody looks at every moment. If not, time does not stop where no node takes
    anything: for what comes to a paused node, and for a message that is lost."""


class Scheduler:
    """Lets one thing after another happen in a simulation that is stepped from here only."""

    def __init__(self, cluster: Simulation, policy: Policy) -> None:
        self.cluster = cluster
        self._nodes = cluster.nodes
        self._chance = policy.chance
        self._is_watched = policy.is_watched
        self._agenda = agenda = Agenda(cluster.place_in_line if policy.in_line else None)
        self._heap = agenda.heap
        self._traffic = Traffic(cluster, policy.chance, agenda)
        self._detectors: SimulatedDetectors | None = None
        if policy.detection and cluster.machine.uses_views:
            self._detectors = SimulatedDetectors(cluster, policy.chance, *policy.detection)
        self.injector = FaultInjector(cluster, agenda, self._traffic, self._detectors)
        self._tears = self.injector.tears
        self._is_global = cluster.setting.order is Order.GLOBAL
        self._is_fifo = cluster.setting.order is Order.FIFO
        self._debtor: SimulatedNode | None = None
        self._last_loss = 0
        """When all messages will be lost that time has not stopped for."""
        self.at_once = 0
        """How much has happened since time last moved on."""
        self.deliveries = 0
        self.took_turns = False
        """Whether anything but a message has brought a node to take a turn."""
        for fault in policy.plan:
            taker = self._nodes[fault.node] if isinstance(fault, Lie | Ask) else None
            agenda.push(fault.at, FAULT, fault, taker)
        cluster.posted = sorted(cluster.in_flight(), key=lambda envelope: envelope.number)
        cluster.armed = [armed for node in self._nodes.values() for armed in node.timers.values()]
        self._take_in()

    @property
    def happened(self) -> Counter[str]:
        """How many faults and accidents of each kind found something to do."""
        return self.injector.happened + self._traffic.happened

    # --- what is due ---

    def next_time(self) -> int | None:
        """When the next thing is due; None if nothing ever will be."""
        cluster, heap = self.cluster, self._heap
        if cluster.owing:
            self._debtor = next(cluster.debtors(), None)
            if self._debtor is not None:
                return cluster.now
        while heap:
            time, rank, _, what, taker = heap[0]
            if rank == MESSAGE:
                is_due = not what.gone
            elif rank == TIMER:
                is_due = taker.timers.get(what.timer) is what
            else:
                is_due = self._is_due(rank, what)
            if is_due and (self._is_watched or self._is_taken(heap[0])):
                return time if time > cluster.now else cluster.now
            heappop(heap)
        return self._last_loss if self._last_loss > cluster.now else None

    def reach(self, time: int) -> None:
        """Let time pass until the next thing is due."""
        cluster, self.at_once = self.cluster, 0
        if not self._is_watched:
            cluster.tick(time - cluster.now)
        elif cluster.recording:
            cluster.pass_time(time - cluster.now)
        else:
            cluster.now = time

    def step(self, until: int = NEVER) -> Collection[SimulatedNode] | None:
        """Let the next thing happen, once time has passed; None if nothing is due by then.

        Returns the nodes whose standing may have changed.
        """
        time = self.next_time()
        if time is None or time > until:
            return None
        if time > self.cluster.now:
            self.reach(time)
        self.at_once += 1
        if self._debtor is not None:
            return self._answer(self._debtor)
        if not self._heap:
            return ()  # The last messages were lost as time passed.
        entry = heappop(self._heap)
        _, rank, _, what, taker = entry
        if taker is not None and taker.local is not None and taker.local.offices:
            ended = self._ended_office(taker)
            if ended is not None:
                heappush(self._heap, entry)
                return self._fire(taker, ended)
        if rank == FAULT:
            return self._strike(what)
        if taker is None:
            self.cluster.expire()
            return ()
        if rank == MESSAGE:
            return self._arrive(entry, taker)
        if rank == CORRECTION:
            return self._see(taker, taker.view ^ {what[1]})
        # The timer of a paused node may end an office, and that is all.
        return (taker,) if taker.paused else self._fire(taker, what)

    def _is_due(self, rank: int, what: Any) -> bool:
        """Whether something may still come of what is next and neither a message nor a timer."""
        if rank == CORRECTION and self._detectors is not None:
            # A node that goes on after a pause looks at everybody again.
            return self._detectors.news(what) is not None and self._nodes[what[0]].reacts
        return rank == FAULT or not (what.gone or self.cluster.obstacle(what) is None)

    def _is_taken(self, entry: Entry) -> bool:
        """Whether time has to stop for what is next: a node takes it, or it is lost by that."""
        time, rank, _, what, taker = entry
        if taker is None:
            self._last_loss = time
            return False
        is_kept = rank == MESSAGE and self.cluster.setting.prompt and self.cluster.obstacle(what)
        return not taker.paused and not is_kept

    def _ended_office(self, node: SimulatedNode) -> ArmedTimer | None:
        """The timer that has ended this node's office, if it is to notice that first."""
        return None if node.paused else self.cluster.ended_office(node)

    # --- what happens ---

    def _arrive(self, entry: Entry, node: SimulatedNode) -> Collection[SimulatedNode]:
        """A message arrives; those that were sent before it go first if the order says so."""
        envelope: Envelope = entry[3]
        cluster, traffic, before, copy_at = self.cluster, self._traffic, node.local, None
        if before is None or node.paused or envelope.channel.cut:
            traffic.stall(envelope)
            return ()
        first = envelope
        if self._is_fifo:
            first = envelope.channel.waiting[0]
        elif self._is_global:
            first = law.overtaken(cluster, envelope) or envelope
        if first is not envelope:
            heappush(self._heap, entry)
        self.deliveries += 1
        if traffic.copies:
            copy_at = traffic.copies.pop(first.number, None)
        received = cluster.locals.received
        torn = self._torn(node, received, first.sender, first.message) if self._tears else None
        cluster.hand_over(first, torn, copy_stays=copy_at is not None)
        if copy_at is not None:
            self._agenda.push(max(copy_at, cluster.now), MESSAGE, first, node)
        if node.local is None:
            self.injector.note_crash(node)
        if cluster.posted or cluster.armed or torn:
            self._take_in()
        return () if node.local is before else (node,)

    def _fire(self, node: SimulatedNode, armed: ArmedTimer) -> Collection[SimulatedNode]:
        outcome_of = self.cluster.locals.timed_out
        torn = self._torn(node, outcome_of, armed.timer) if self._tears else None
        self.cluster.run_out(node.id, armed.timer, torn)
        return self._after(node)

    def _see(self, node: SimulatedNode, alive: frozenset[NodeId]) -> Collection[SimulatedNode]:
        """A failure detector has changed its mind."""
        outcome_of = self.cluster.locals.viewed
        torn = self._torn(node, outcome_of, alive) if self._tears else None
        self.cluster.see(node.id, alive, torn)
        return self._after(node)

    def _answer(self, node: SimulatedNode) -> Collection[SimulatedNode]:
        """An application does what it owes."""
        owes = () if node.local is None else node.local.owes
        request = owes[self._chance.answer(node.id, len(owes))]
        outcome_of = self.cluster.locals.asked
        torn = self._torn(node, outcome_of, request) if self._tears else None
        self.cluster.ask(node.id, request, torn)
        return self._after(node)

    def _strike(self, what: Fault) -> Collection[SimulatedNode]:
        """A fault begins or ends."""
        self.injector.begin(what)
        self._take_in()
        if isinstance(what, Crash | Recover | Tear):
            return (self._nodes[what.node],)
        return self._nodes.values()

    def _torn(
        self, node: SimulatedNode, outcome_of: Callable[..., EventOutcome], *event: Any
    ) -> TornTurn | None:
        """How the node's next turn is torn, if it is to crash in the middle of it."""
        return self.injector.torn(node, outcome_of(node.local, *event))

    def _after(self, node: SimulatedNode) -> Collection[SimulatedNode]:
        """A node has taken an event."""
        self.took_turns = True
        if node.local is None:
            self.injector.note_crash(node)
        self._take_in()
        return (node,)

    def _take_in(self) -> None:
        """Put on the agenda what was sent, set or put off."""
        cluster, agenda = self.cluster, self._agenda
        if cluster.posted:
            self._traffic.take_in()
        if cluster.armed:
            for armed in cluster.armed:
                due = armed.earliest
                if armed.latest > due:
                    due += self._chance.jitter(armed.node, armed.latest - due)
                agenda.push(due, TIMER, armed, self._nodes[armed.node])
            cluster.armed.clear()
        if self._detectors is not None and self._detectors.due:
            for time, correction in self._detectors.due:
                agenda.push(time, CORRECTION, correction, self._nodes[correction[0]])
            self._detectors.due.clear()
