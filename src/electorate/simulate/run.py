"""A seeded run: faults for a while, then none, and the claims judged all along.

In the safety phase everything in the plan happens, and claims of the kind `always` must hold at
every moment. Then the stable phase begins: links are healed, paused nodes go on, messages arrive in
time, nothing fails any more (a node that is down stays down), and the goals must come true and stay
true.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from electorate.claims import Kind, Sight, Witness
from electorate.simulate.chance import Chance
from electorate.simulate.fault import Plan
from electorate.simulate.injector import EndOfFaults
from electorate.simulate.judge import RunJudge
from electorate.simulate.scenario import Scenario
from electorate.simulate.scheduler import Policy, Scheduler
from electorate.simulate.seen import TURNS, Seen
from electorate.simulate.simulation import SimulatedNode, Simulation
from electorate.trace import Trace

AT_ONCE_MAX = 50_000
"""If so much has happened in one moment, time is taken to stand still."""
NOT_LOOKED_AT = -1


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
        self._judge = judge
        self._stop_at = stop_at
        faults = [fault for fault in plan if fault.at <= scenario.safety]
        policy = Policy(
            chance,
            (*faults, EndOfFaults(scenario.safety)),
            (scenario.detection, scenario.complete),
            in_line=False,
            is_watched=True,
        )
        self._scheduler = Scheduler(cluster, policy)
        self._codes = dict.fromkeys(cluster.nodes, NOT_LOOKED_AT)
        self._absent = cluster.absent
        self._followed = judge.followed()
        self._broken: dict[str, Witness] = {}
        self._unmet = set(judge.premises)
        # What is on its way or armed may change while every state stays as it is.
        self._looks_closely = not judge.sights.isdisjoint({Sight.TIMERS, Sight.MESSAGES})
        self._goals = Goals((claim.name for claim in judge.goals), scenario)
        self._deadline = self._goals.deadline()
        self._violations: dict[str, RunViolation] = {}
        self._is_over = False

    def result(self) -> RunResult:
        """Run to the end."""
        scheduler = self._scheduler
        self._look(self._cluster.nodes.values())
        while not self._is_over and scheduler.at_once <= AT_ONCE_MAX:
            touched = scheduler.step(self._deadline)
            if touched is None:
                break
            if touched or self._looks_closely:
                self._look(touched)
        return self._concluded()

    # --- judging ---

    def _look(self, nodes: Collection[SimulatedNode]) -> None:
        """Judge anew if the standing of one of these nodes has changed, or a link."""
        cluster, codes, is_new = self._cluster, self._codes, bool(self._followed)
        for node in nodes:
            local, code = node.local, 0
            if local is not None and local.standing.until is None:
                code = local.code
            elif local is not None:
                code = cluster.locals.code(cluster.standing(node))
            if code != codes[node.id]:
                codes[node.id], is_new = code, True
        if cluster.absent is not self._absent:
            self._absent, is_new = cluster.absent, True
        if is_new:
            self._hold_against_claims()

    def _hold_against_claims(self) -> None:
        judgement = self._judge.of((*self._codes.values(), self._absent), self._cluster.row)
        broken = judgement.broken
        if self._unmet:
            self._unmet -= judgement.met
        if self._followed:
            broken = broken | self._follow()
        if broken or self._broken:
            self._broken = broken
            self._goals.note(broken, self._cluster.now)
            self._deadline = self._goals.deadline()
            for claim in self._judge.claims:
                is_blamed = claim.kind is Kind.GOAL or claim.name in self._violations
                if claim.name in broken and not is_blamed:
                    self._blame(claim.name, broken[claim.name])

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
        cluster, scheduler = self._cluster, self._scheduler
        happened = scheduler.happened
        still = scheduler.at_once > AT_ONCE_MAX
        if self._stop_at not in self._violations and not still:
            for claim in self._goals.missed:
                self._blame(claim, self._broken[claim])
        is_cut_short = not (self._is_over or still) and scheduler.next_time() is not None
        fleeting = self._goals.fleeting() if is_cut_short else frozenset[str]()
        since = None if fleeting else self._goals.settled_since()
        elected = None if since is None else max(0, since - scheduler.injector.last)
        met = self._judge.premises.keys() - self._unmet
        turns = scheduler.took_turns or scheduler.deliveries > 0 or bool(happened & TURNS)
        seen = Seen(frozenset(met), turns, dict(happened), fleeting, still)
        return RunResult(
            self._violations, scheduler.deliveries, elected, cluster.now, cluster.trace(), seen
        )
