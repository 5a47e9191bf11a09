"""Shrinking: from a failing seed to a short run that breaks the same claim.

Faults are left out, nodes are left out, then what chance decided is written down and rounded, and
at last the clock is made as coarse as possible. After every try the run is made again; a change
after which the claim holds is taken back.
"""

import random
from collections.abc import Callable, Iterator
from itertools import combinations
from math import gcd
from typing import NamedTuple

from msgspec.structs import replace

from electorate.core import NodeId, Timing
from electorate.simulate.chance import COPY, FLAGS, LAG, LOSS, MESSAGE, Drawn, Fixed, Key
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.fault import AnyFault, Crash, Partition, Plan, Tear
from electorate.simulate.plan import draw_plan
from electorate.simulate.run import RunResult
from electorate.simulate.start import Find
from electorate.trace import Clock, Setting

HARDER_MAX = 6
"""If at most this many faults are left, each pair of them is left out with other luck:"""
VARIATIONS = 400
"""this many kinds of luck are tried then,"""
GAP = 6
"""with at most this many T between one fault and the next."""
SINGLES_MAX = 60
"""So many numbers are tried one by one; a run with more of them is long anyway."""


class FailingRun(NamedTuple):
    """A run and everything that it depends on."""

    subject: Subject
    setting: Setting
    plan: Plan
    seed: int
    numbers: dict[Key, int] | None = None
    """What chance decided; None as long as it follows from the seed."""


class Shrinker:
    """Makes one failing run smaller, step by step."""

    def __init__(self, subject: Subject, find: Find, seed: int, claim: str) -> None:
        self._find = find
        self._claim = claim
        self._experiments: dict[Setting, Experiment] = {}
        scenario = replace(subject.scenario, claims=(claim,))
        subject = replace(subject, scenario=scenario)
        self.tries = 0
        experiment = Experiment(subject, find)
        self._experiments[experiment.setting] = experiment
        self.case = FailingRun(subject, experiment.setting, draw_plan(scenario, seed), seed)
        self.faults_before = len(self.case.plan)
        found = self._run(self.case)
        if found is None:
            raise ValueError(f"seed {seed} does not break {claim}")
        self.result, self._noted = found

    def shrink(self) -> RunResult:
        """Shrink as far as it goes; the run that is left, recorded."""
        self._drop_faults()
        self._drop_nodes()
        self._drop_faults()
        self._drop_harder()
        self._drop_nodes()
        self._write_down()
        self._drop_mishaps()
        self._simplify_tears()
        for _ in range(2):
            self._move_faults()
            self._make_round()
        self._drop_faults()
        self._coarsen()
        return self.result

    # --- trying ---

    def _experiment(self, case: FailingRun) -> Experiment:
        known = self._experiments.get(case.setting)
        if known is None or known.scenario != case.subject.scenario:
            known = self._experiments[case.setting] = Experiment(
                case.subject, self._find, case.setting
            )
        return known

    def _run(self, case: FailingRun) -> tuple[RunResult, dict[Key, int]] | None:
        """The run and what chance decided in it; None if the claim holds."""
        self.tries += 1
        experiment = self._experiment(case)
        source: Drawn | None = experiment.chance(case.seed) if case.numbers is None else None
        chance = Fixed(dict(case.numbers or {}), case.setting.delay_max, source)
        result = experiment.rerun(case.plan, chance, record=True, stop_at=self._claim)
        return (result, chance.numbers) if self._claim in result.violations else None

    def _offer(self, case: FailingRun) -> bool:
        """Take this run instead if it breaks the claim, too, with less of something."""
        found = self._run(case)
        if found is None or self._size(case, found[0]) > self._size(self.case, self.result):
            return False
        self.case = case
        self.result, self._noted = found
        return True

    def _size(self, case: FailingRun, result: RunResult) -> tuple[int, int, int]:
        """What makes a run long to read, the worst first."""
        return len(case.plan), len(case.setting.ids), result.violations[self._claim].steps

    def _with_plan(self, plan: Iterator[AnyFault] | Plan) -> FailingRun:
        return self.case._replace(plan=tuple(sorted(plan, key=lambda fault: fault.at)))

    # --- leaving out ---

    def _drop_faults(self) -> None:
        """Leave out as many faults as possible: halves first, then ever smaller parts."""
        part = len(self.case.plan)
        while part:
            at = 0
            while at < len(self.case.plan):
                plan = self.case.plan
                if not self._offer(self._with_plan(plan[:at] + plan[at + part :])):
                    at += part
            part //= 2

    def _drop_harder(self) -> None:
        """Leave out one or two faults more where that works with other luck, times or nodes."""
        T = self.case.setting.timing.T
        while any(self._offer(case) for case in self._variations(T)):
            pass

    def _variations(self, T: int) -> Iterator[FailingRun]:
        plan = self.case.plan
        if not 1 < len(plan) <= HARDER_MAX:
            return
        lots = random.Random(f"{self.case.seed} shrink")
        for left_out in (2, 1):
            for keep in combinations(plan, len(plan) - left_out):
                for _ in range(VARIATIONS):
                    at, faults = 0, list[AnyFault]()
                    anew = lots.random() < 0.5
                    for fault in keep:
                        at += lots.randint(0, GAP * T)
                        faults.append(_shifted(fault, at - fault.at))
                        if anew and hasattr(fault, "node"):
                            about = getattr(fault, "about", None)
                            node = lots.choice([n for n in self.case.setting.ids if n != about])
                            faults[-1] = replace(faults[-1], node=node)
                    yield self._with_plan(tuple(faults))._replace(seed=lots.getrandbits(32))

    def _drop_nodes(self) -> None:
        for node in reversed(self.case.setting.ids):
            ids = tuple(other for other in self.case.setting.ids if other != node)
            if len(ids) > 1:
                scenario = replace(self.case.subject.scenario, ids=ids, listed=())
                self._offer(
                    self.case._replace(
                        subject=replace(self.case.subject, scenario=scenario),
                        setting=self.case.setting.without(node),
                        plan=tuple(_without(self.case.plan, node)),
                    )
                )

    def _write_down(self) -> None:
        """Write down what chance decided; if all delays kept the bounds, the setting says so."""
        self.case = self.case._replace(numbers=self._noted)
        late = self.case.setting.delay_max
        delays = (number for key, number in self._noted.items() if key[0] in (MESSAGE, COPY))
        if self.case.setting.clock is Clock.UNBOUNDED and all(delay <= late for delay in delays):
            self._offer(self.case._replace(setting=replace(self.case.setting, clock=Clock.BOUNDED)))

    def _drop_mishaps(self) -> None:
        for key in [key for key in self._numbers() if key[0] in (LOSS, COPY)]:
            self._offer_numbers({k: n for k, n in self._numbers().items() if k != key})

    def _simplify_tears(self) -> None:
        for fault in self.case.plan:
            if isinstance(fault, Tear):
                simple = Crash(fault.at, fault.node)
                self._offer(self._with_plan(simple if f is fault else f for f in self.case.plan))

    # --- making round ---

    def _numbers(self) -> dict[Key, int]:
        return self.case.numbers or {}

    def _offer_numbers(self, numbers: dict[Key, int]) -> bool:
        return numbers != self.case.numbers and self._offer(self.case._replace(numbers=numbers))

    def _move_faults(self) -> None:
        """Let the faults come as early, and as close to one another, as possible."""
        T = self.case.setting.timing.T
        for place in range(len(self.case.plan)):
            plan = self.case.plan
            before = plan[place - 1].at if place else 0
            gap = plan[place].at - before
            for wanted in (0, T // 2, *range(T, gap, T)):
                if wanted < gap:
                    moved = (_shifted(fault, wanted - gap) for fault in plan[place:])
                    if self._offer(self._with_plan((*plan[:place], *moved))):
                        break
        for grain in (T, T // 2, T // 4, T // 8):
            if grain:
                self._offer(self._with_plan(_rounded(fault, grain) for fault in self.case.plan))

    def _make_round(self) -> None:
        """Let messages take T, or nothing, or half of it; let detectors notice at once."""
        T = self.case.setting.delay_max
        lags = {key: 0 for key in self._numbers() if key[0] == LAG}
        self._offer_numbers(self._numbers() | lags)
        for choose in (
            lambda number: T,
            lambda number: 0,
            lambda number: _nearest(number, T),
            lambda number: _nearest(number, max(1, T // 2)),
            lambda number: _nearest(number, max(1, T // 4)),
        ):
            self._offer_all(MESSAGE, choose)
            self._offer_all(LAG, choose)
        for key in list(self._numbers())[:SINGLES_MAX]:
            for wanted in (T, 0, T // 2) if key[0] == MESSAGE else (0, T):
                if self._numbers().get(key) in (wanted, T):
                    break
                if self._offer_numbers(self._numbers() | {key: wanted}):
                    break

    def _offer_all(self, kind: int, choose: Callable[[int], int]) -> None:
        numbers = self._numbers()
        chosen = {key: choose(number) for key, number in numbers.items() if key[0] == kind}
        self._offer_numbers(numbers | chosen)

    def _coarsen(self) -> None:
        """Make one unit of time as long as possible."""
        case, scenario = self.case, self.case.subject.scenario
        times = [time for fault in case.plan for time in (fault.at, getattr(fault, "until", 0))]
        numbers = [number for key, number in self._noted.items() if key[0] not in FLAGS]
        timing = case.setting.timing
        unit = gcd(timing.T, timing.P, case.setting.delay_min, *times, *numbers)
        if unit > 1:
            setting = replace(
                case.setting,
                timing=Timing(timing.T // unit, timing.P // unit),
                delay_min=case.setting.delay_min // unit,
            )
            lengths = {
                name: getattr(scenario, name) // unit
                for name in ("detection", "safety", "stable", "stay")
            }
            coarse = replace(scenario, timing=setting.timing, **lengths)
            self._offer(
                FailingRun(
                    replace(case.subject, scenario=coarse),
                    setting,
                    tuple(_divided(fault, unit) for fault in case.plan),
                    case.seed,
                    {k: n if k[0] in FLAGS else n // unit for k, n in self._noted.items()},
                )
            )


def _without(plan: Plan, node: NodeId) -> Iterator[AnyFault]:
    for fault in plan:
        if isinstance(fault, Partition):
            side = tuple(other for other in fault.side if other != node)
            if side:
                yield replace(fault, side=side)
        elif node not in fault.nodes():
            yield fault


def _shifted(fault: AnyFault, by: int) -> AnyFault:
    return _timed(fault, lambda time: max(0, time + by))


def _rounded(fault: AnyFault, grain: int) -> AnyFault:
    return _timed(fault, lambda time: _nearest(time, grain))


def _divided(fault: AnyFault, unit: int) -> AnyFault:
    return _timed(fault, lambda time: time // unit)


def _timed(fault: AnyFault, change: Callable[[int], int]) -> AnyFault:
    times = {name: change(getattr(fault, name)) for name in ("at", "until") if hasattr(fault, name)}
    return replace(fault, **times)


def _nearest(number: int, grain: int) -> int:
    return (number + grain // 2) // grain * grain
