"""A seeded run: faults for a while, then none, and the claims judged all along.

In the safety phase everything in the plan happens, and claims of the kind `always` must hold at
every moment. Then the stable phase begins: links are healed, paused nodes go on, messages arrive in
time, nothing fails any more (a node that is down stays down), and the goals must come true and stay
true.
"""

from collections.abc import Collection, Iterable
from heapq import heappop
from typing import NamedTuple

from electorate.claims import Kind, Sight, Witness
from electorate.simulate import law
from electorate.simulate.chance import Chance
from electorate.simulate.detector import Correction, SimulatedDetectors
from electorate.simulate.fault import Ask, Crash, Fault, Lie, Plan, Recover, Tear
from electorate.simulate.injector import FaultEnd, FaultInjector
from electorate.simulate.judge import RunJudge
from electorate.simulate.local import LocalState
from electorate.simulate.scenario import Scenario
from electorate.simulate.seen import TURNS, Seen
from electorate.simulate.simulation import ArmedTimer, Envelope, SimulatedNode, Simulation
from electorate.simulate.traffic import (
    CORRECTION,
    EXPIRY,
    FAULT,
    MESSAGE,
    TIMER,
    Agenda,
    Traffic,
)
from electorate.trace import Order, Trace

NEVER = 1 << 62
AT_ONCE_MAX = 50_000
"""If so much has happened in one moment, time is taken to stand still."""


class RunViolation(NamedTuple):
    """A claim that a run broke."""

    at: int
    witness: Witness
    steps: int
    """How many steps of the record lead to it."""


class RunResult(NamedTuple):
    """The result of a run."""

    violations: dict[str, RunViolation]
    deliveries: int
    elected: int | None
    """From the last fault until the goals had come true for good; None if they had not."""
    ended_at: int
    trace: Trace
    seen: Seen = Seen()
    """What it has shown, broken or not."""


class Goals:
    """The goals of one run, which come true and may be lost again."""

    def __init__(self, names: Iterable[str], scenario: Scenario) -> None:
        self._scenario = scenario
        self._true_since: dict[str, int | None] = dict.fromkeys(names, 0)

    def note(self, broken: Collection[str], now: int) -> None:
        """Note which of them are not true now."""
        for name, since in self._true_since.items():
            if name in broken:
                self._true_since[name] = None
            elif since is None:
                self._true_since[name] = now

    @property
    def missed(self) -> list[str]:
        """Those that are not true."""
        return [name for name, since in self._true_since.items() if since is None]

    def settled_since(self) -> int | None:
        """Since when all of them have been true; None if one is not."""
        if self.missed:
            return None
        return max((since for since in self._true_since.values() if since is not None), default=0)

    def deadline(self) -> int:
        """When the stable phase ends: they have been true for long enough, or its time is over."""
        scenario, since = self._scenario, self.settled_since()
        last = scenario.safety + scenario.stable
        return last if since is None else min(last, max(since, scenario.safety) + scenario.stay)

    def fleeting(self) -> frozenset[str]:
        """The goals that were not true for as long as they are watched, at the deadline."""
        latest = self.deadline() - self._scenario.watched
        since = self._true_since.items()
        return frozenset(name for name, time in since if time is not None and time > latest)


class _StablePhase(Fault):
    """The beginning of the stable phase."""


class SimulatedRun:
    """One run of a simulation through a plan. The simulation is used up by it."""

    def __init__(
        self,
        scenario: Scenario,
        cluster: Simulation,
        judge: RunJudge,
        plan: Plan,
        chance: Chance,
        *,
        record: bool = False,
        stop_at: str | None = None,
    ) -> None:
        cluster.recording = record
        self._scenario = scenario
        self._cluster = cluster
        self._nodes = cluster.nodes
        self._judge = judge
        self._chance = chance
        self._stop_at = stop_at
        self._agenda = agenda = Agenda()
        self._traffic = Traffic(cluster, chance, agenda)
        uses_views = cluster.machine.uses_views
        detection = scenario.detection, scenario.complete
        self._detectors = SimulatedDetectors(cluster, chance, *detection) if uses_views else None
        self._injector = FaultInjector(cluster, agenda, self._traffic, self._detectors)
        self._is_global = cluster.setting.order is Order.GLOBAL
        self._is_fifo = cluster.setting.order is Order.FIFO
        self._index = {node: place for place, node in enumerate(cluster.nodes)}
        self._codes: list[int] = []
        self._absent = cluster.absent
        self._followed = judge.followed()
        self._broken: dict[str, Witness] = {}
        self._unmet = set(judge.premises)
        # What is on its way or armed may change while every state stays as it is.
        self._looks_closely = not judge.sights.isdisjoint({Sight.TIMERS, Sight.MESSAGES})
        self._took_turns = False
        self._goals = Goals((claim.name for claim in judge.goals), scenario)
        self._violations: dict[str, RunViolation] = {}
        self._deadline = NEVER
        self._is_over = False
        self._is_cut_short = False
        self._at_once = 0
        self._deliveries = 0
        cluster.posted = sorted(cluster.in_flight(), key=lambda envelope: envelope.number)
        cluster.armed = [armed for node in cluster.nodes.values() for armed in node.timers.values()]
        for fault in plan:
            if fault.at <= scenario.safety:
                agenda.push(fault.at, FAULT, fault)
        agenda.push(scenario.safety, FAULT, _StablePhase(scenario.safety))

    def result(self) -> RunResult:
        """Run to the end."""
        self._take_in()
        self._look()
        heap, nodes, cluster = self._agenda.heap, self._nodes, self._cluster
        while heap:
            time, rank, _, what = heappop(heap)
            if self._is_over or self._stands_still(time):
                break
            if time > self._deadline:
                self._is_cut_short = True
                break
            if rank == MESSAGE:
                if what.gone:
                    continue
                if time > cluster.now:
                    self._reach(time)
                self._arrive(what)
            elif rank == TIMER:
                armed: ArmedTimer = what
                if nodes[armed.node].timers.get(armed.timer) is armed:
                    self._reach(time)
                    self._ring(armed)
            elif rank == FAULT:
                self._reach(time)
                self._strike(what)
            elif rank == CORRECTION:
                self._correct(time, what)
            elif rank == EXPIRY and not what.gone and cluster.obstacle(what):
                self._reach(time)
                cluster.expire()
                if self._looks_closely:
                    self._look()
            self._answer()
        return self._concluded()

    def _stands_still(self, time: int) -> bool:
        """Whether far too much has happened since time last moved on."""
        if time > self._cluster.now and self._at_once <= AT_ONCE_MAX:
            self._at_once = 0
        else:
            self._at_once += 1
        return self._at_once > AT_ONCE_MAX

    def _reach(self, time: int) -> None:
        cluster = self._cluster
        if time > cluster.now:
            if cluster.recording:
                cluster.pass_time(time - cluster.now)
            else:
                cluster.now = time

    # --- what happens ---

    def _arrive(self, envelope: Envelope) -> None:
        """A message arrives; those that were sent before it go first if the order says so."""
        channel, node = envelope.channel, self._nodes[envelope.to]
        while not envelope.gone:
            local = node.local
            if local is None or node.paused or channel.cut:
                self._traffic.stall(envelope)
                return
            first = envelope
            if self._is_fifo:
                first = channel.waiting[0]
            elif self._is_global:
                first = law.overtaken(self._cluster, envelope) or envelope
            if not local.offices or not self._ends_office(node):
                copy_at = self._hand_over(node, local, first)
                if first is envelope and copy_at is not None:
                    return

    def _hand_over(self, node: SimulatedNode, before: LocalState, envelope: Envelope) -> int | None:
        """Let a node take a message; returns when a copy of it comes, if one does."""
        cluster, traffic, torn, copy_at = self._cluster, self._traffic, None, None
        self._deliveries += 1
        if traffic.copies:
            copy_at = traffic.copies.pop(envelope.number, None)
        if self._injector.tears:
            outcome = cluster.locals.received(before, envelope.sender, envelope.message)
            torn = self._injector.torn(node, outcome)
        cluster.hand_over(envelope, torn, copy_stays=copy_at is not None)
        if copy_at is not None:
            self._agenda.push(max(copy_at, cluster.now), MESSAGE, envelope)
        if node.local is None:
            self._injector.note_crash(node)
        if cluster.posted or cluster.armed or torn:
            self._take_in()
        if node.local is not before or self._looks_closely:
            self._see(node)
        return copy_at

    def _ends_office(self, node: SimulatedNode) -> bool:
        """If the node's office has run out, let it notice that first."""
        if not node.reacts:
            return False
        ended = self._cluster.ended_office(node)
        if ended is not None:
            self._fire(node, ended)
        return ended is not None

    def _ring(self, armed: ArmedTimer) -> None:
        """A timer's time has come."""
        node = self._nodes[armed.node]
        if node.paused:
            self._see(node)
        elif not self._ends_office(node) or node.timers.get(armed.timer) is armed:
            self._fire(node, armed)

    def _fire(self, node: SimulatedNode, armed: ArmedTimer) -> None:
        torn = None
        if self._injector.tears and node.local is not None:
            outcome = self._cluster.locals.timed_out(node.local, armed.timer)
            torn = self._injector.torn(node, outcome)
        self._cluster.run_out(node.id, armed.timer, torn)
        self._after(node)

    def _answer(self) -> None:
        """Let applications do what they owe, at once."""
        while (node := next(self._cluster.debtors(), None)) is not None:
            assert node.local is not None
            owes = node.local.owes
            request, torn = owes[self._chance.answer(node.id, len(owes))], None
            if self._injector.tears:
                torn = self._injector.torn(node, self._cluster.locals.asked(node.local, request))
            self._cluster.ask(node.id, request, torn)
            self._after(node)
            if self._stands_still(self._cluster.now):
                return

    def _strike(self, what: Fault) -> None:
        """A fault begins or ends."""
        if isinstance(what, _StablePhase):
            self._injector.end_faults()
            self._traffic.end_faults()
            self._deadline = self._goals.deadline()
        elif isinstance(what, FaultEnd):
            self._injector.end(what.of)
        else:
            if isinstance(what, Lie | Ask):
                self._ends_office(self._nodes[what.node])
            self._injector.begin(what)
            if isinstance(what, Crash | Recover | Tear):
                self._take_in()
                self._see(self._nodes[what.node])
                return
        self._take_in()
        self._look()

    def _correct(self, time: int, correction: Correction) -> None:
        """A failure detector looks again."""
        assert self._detectors is not None
        alive = self._detectors.news(correction)
        node = self._nodes[correction[0]]
        if alive is None or not node.reacts:
            return  # A node that goes on after a pause looks at everybody again.
        self._reach(time)
        self._ends_office(node)
        if node.local is not None:
            torn = None
            if self._injector.tears:
                outcome = self._cluster.locals.viewed(node.local, alive)
                torn = self._injector.torn(node, outcome)
            self._cluster.see(node.id, alive, torn)
            self._after(node)

    def _after(self, node: SimulatedNode) -> None:
        """A node has taken an event."""
        self._took_turns = True
        if node.local is None:
            self._injector.note_crash(node)
        self._take_in()
        self._see(node)

    def _take_in(self) -> None:
        """Put on the agenda what was sent, set or put off."""
        cluster, agenda = self._cluster, self._agenda
        if cluster.posted:
            self._traffic.take_in()
        if cluster.armed:
            for armed in cluster.armed:
                due = armed.earliest
                if armed.latest > due:
                    due += self._chance.jitter(armed.node, armed.latest - due)
                agenda.push(due, TIMER, armed)
            cluster.armed.clear()
        if self._detectors is not None and self._detectors.due:
            for time, correction in self._detectors.due:
                agenda.push(time, CORRECTION, correction)
            self._detectors.due.clear()

    # --- judging ---

    def _see(self, node: SimulatedNode) -> None:
        """Judge anew if this node's standing has changed."""
        local, place = node.local, self._index[node.id]
        simple = local is not None and local.standing.until is None
        code = local.code if local is not None and simple else self._code(node)
        if code != self._codes[place] or self._followed:
            self._codes[place] = code
            self._hold_against_claims()

    def _look(self) -> None:
        """Judge anew: some node's standing has changed."""
        codes = [self._code(node) for node in self._nodes.values()]
        linked_anew = self._cluster.absent is not self._absent
        if codes != self._codes or linked_anew or self._followed:
            self._codes, self._absent = codes, self._cluster.absent
            self._hold_against_claims()

    def _code(self, node: SimulatedNode) -> int:
        local = node.local
        if local is None:
            return 0
        if local.standing.until is None:
            return local.code
        return self._cluster.locals.code(self._cluster.standing(node))

    def _hold_against_claims(self) -> None:
        judgement = self._judge.of((*self._codes, self._absent), self._cluster.row)
        broken = judgement.broken
        if self._unmet:
            self._unmet -= judgement.met
        if self._followed:
            broken = broken | self._follow()
        if broken or self._broken:
            self._broken = broken
            self._goals.note(broken, self._cluster.now)
            for claim in self._judge.claims:
                is_blamed = claim.kind is Kind.GOAL or claim.name in self._violations
                if claim.name in broken and not is_blamed:
                    self._blame(claim.name, broken[claim.name])
        if self._deadline != NEVER:
            self._deadline = self._goals.deadline()

    def _follow(self) -> dict[str, Witness]:
        """The claims about more than one row that this row breaks."""
        row = self._cluster.row(self._judge.sights)
        if self._unmet:
            followed = (following.claim.name for following in self._followed)
            self._unmet -= self._judge.met(row, self._unmet.intersection(followed))
        judged = ((following.claim.name, following.judge(row)) for following in self._followed)
        return {name: witness for name, witness in judged if witness is not None}

    def _blame(self, claim: str, witness: Witness) -> None:
        cluster = self._cluster
        self._violations[claim] = RunViolation(cluster.now, witness, len(cluster.steps))
        if claim == self._stop_at:
            self._is_over = True

    def _concluded(self) -> RunResult:
        cluster = self._cluster
        still = self._at_once > AT_ONCE_MAX
        if self._stop_at not in self._violations and not still:
            for claim in self._goals.missed:
                self._blame(claim, self._broken[claim])
        fleeting = self._goals.fleeting() if self._is_cut_short else frozenset[str]()
        since = None if fleeting else self._goals.settled_since()
        elected = None if since is None else max(0, since - self._injector.last)
        met = self._judge.premises.keys() - self._unmet
        happened = self._injector.happened + self._traffic.happened
        turns = self._took_turns or self._deliveries > 0 or bool(happened & TURNS)
        seen = Seen(frozenset(met), turns, dict(happened), fleeting, still)
        return RunResult(
            self._violations, self._deliveries, elected, cluster.now, cluster.trace(), seen
        )
