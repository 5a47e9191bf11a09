"""An experiment: one protocol under one scenario, set up once and run for any number of seeds."""

from msgspec.structs import replace

from electorate.core import NodeId, Strongest, Value
from electorate.core.turn import TURNS_MAX, Sample, SampledTurns
from electorate.simulate.chance import Chance, Drawn
from electorate.simulate.fault import Plan
from electorate.simulate.judge import RunJudge
from electorate.simulate.local import LocalStates
from electorate.simulate.named import claims_of
from electorate.simulate.plan import draw_plan
from electorate.simulate.run import RunResult, SimulatedRun
from electorate.simulate.scenario import Scenario
from electorate.simulate.seen import achievement_of
from electorate.simulate.start import Find, started
from electorate.trace import Setting, Storage

VERIFIED = 10_000
"""This many turns of a protocol are verified in any case."""
UNVERIFIED = 19
"""Later one turn in this many is verified: that takes ten times as long as the turn."""


class Subject(Value):
    """What is simulated: a protocol by its name, with changes to its rules, under a scenario."""

    protocol: str
    scenario: Scenario = Scenario()
    rules: tuple[str, ...] = ()
    strongest: Strongest | None = None
    """Which rank wins; None means what the protocol says."""
    attributes: tuple[int, ...] = ()
    """The attribute of each node; nothing means that nodes are ranked by their ids alone."""
    equal: tuple[NodeId, ...] = ()
    """Nodes that a comparison cannot tell apart."""
    storage: Storage = Storage.KEPT


class Experiment:
    """A protocol that is ready to be run; turns are worked out once for all runs."""

    def __init__(self, subject: Subject, find: Find, setting: Setting | None = None) -> None:
        kind, form = find(subject.protocol)
        scenario = subject.scenario
        if setting is None:
            setting = replace(
                scenario.setting(subject.protocol, subject.rules, subject.strongest),
                attributes=subject.attributes,
                equal=subject.equal,
                storage=subject.storage,
            )
        self.scenario = scenario
        self.setting = setting
        self.machine = setting.machine(kind, form)
        claims = claims_of(self.machine, scenario.claims)
        self.judge = RunJudge(self.machine.members, claims, achievement_of(self.machine))
        turns = SampledTurns(self.machine, TURNS_MAX, Sample(VERIFIED, 1 + UNVERIFIED))
        self._start, _ = started(self.setting, self.machine, LocalStates(self.machine, turns))

    def run(self, seed: int, *, record: bool = False) -> RunResult:
        """The run with this seed."""
        plan = draw_plan(self.scenario, seed)
        return self.rerun(plan, self.chance(seed), record=record)

    def chance(self, seed: int) -> Drawn:
        """The random numbers of a seed."""
        scenario = self.scenario
        return Drawn(seed, scenario.delay, scenario.loss, scenario.duplication)

    def rerun(
        self, plan: Plan, chance: Chance, *, record: bool = False, stop_at: str | None = None
    ) -> RunResult:
        """A run with these faults and numbers."""
        cluster = self._start.copy()
        run = SimulatedRun(
            self.scenario, cluster, self.judge, plan, chance, record=record, stop_at=stop_at
        )
        return run.result()
