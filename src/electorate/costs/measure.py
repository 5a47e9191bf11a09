"""Measuring: every case at every size, played by the simulator, beside what its formulas say."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import sqrt
from statistics import NormalDist, stdev
from typing import Any, NamedTuple

from electorate.core import Machine, Turns, Value
from electorate.core.turn import TrustedTurns
from electorate.costs.case import MEASURES, MEMORIES, WRITES, Case
from electorate.costs.formula import Expectation, ExpectedRange, Numbers, mean_of
from electorate.costs.play import Play, Tally
from electorate.costs.variant import Batch, Variant, batches_of, is_sampled, numbers_of, whole
from electorate.simulate import IllegalStep, Simulation, SimulationStartError, started
from electorate.simulate.local import LocalStates
from electorate.trace import Setting, Step

CONFIDENCE = 0.95
"""How often the means of all samples of a table are as near to the true ones as it says."""
SAMPLES = 200
SAMPLES_MIN = 4
MESSAGES_MAX = 30_000
"""How many messages the runs of a sample may take before it is cut short."""
STARTS_MAX = 64
"""How many starts are kept to begin other runs with."""
VERIFIED, VERIFIED_NODES = 100, 8
"""In this many arrangements of few nodes every turn is verified; later ones are trusted."""


class MeasuredRuns(NamedTuple):
    """Runs that the same formulas are about, and what they took."""

    numbers: Numbers
    tallies: Sequence[Tally]


class Figure(NamedTuple):
    """One measure of a row."""

    measured: ExpectedRange
    mean: Fraction | None
    """Only if the formula is about the mean."""
    margin: float
    """How far the mean of all runs may be from this one; 0 if these are all runs."""
    formula: ExpectedRange | None
    equal: bool | None
    """None if there is no formula."""


class CostRow(NamedTuple):
    """What a case took at one size."""

    case: Case
    nodes: int
    runs: int
    complete: bool
    """Whether these are all runs that the case is about, or a sample."""
    figures: dict[str, Figure]
    problem: str = ""
    """Why the case could not be played to its end, or ended badly."""

    @property
    def equal(self) -> bool | None:
        """Whether everything is as the formulas say; None if there are none."""
        if not self.case.formulas:
            return None
        return not self.problem and all(f.equal is not False for f in self.figures.values())


def row_of(
    case: Case,
    nodes: int,
    played: Sequence[MeasuredRuns],
    complete: bool,
    z: float,
    problem: str = "",
) -> CostRow:
    """Compare all runs of a case at one size with its formulas.

    `z` says how many standard errors the mean of a sample may be off.
    """
    runs = sum(len(batch.tallies) for batch in played)
    figures = {
        measure: _figure(case, measure, played, 0.0 if complete else z)
        for measure in _measures(case, played)
    }
    return CostRow(case, nodes, runs, complete, figures, problem)


def formula_at(case: Case, measure: str, nodes: int) -> ExpectedRange | None:
    """The least and the most that a formula gives at one size."""
    expected = case.expected(measure)
    if expected is None:
        return None
    bounds = [expected.of(numbers) for numbers in numbers_of(case, nodes)]
    return ExpectedRange(min(b.least for b in bounds), max(b.most for b in bounds))


def _measures(case: Case, played: Sequence[MeasuredRuns]) -> list[str]:
    """The kinds of messages, those that are counted together, and the rest."""
    tallies = [tally for batch in played for tally in batch.tallies]
    kinds = dict.fromkeys([*case.formulas, *(kind for tally in tallies for kind in tally.kinds)])
    rest = [*case.tallies, *MEASURES]
    if WRITES not in case.formulas:
        rest.remove(WRITES)
    if MEMORIES not in case.formulas and not any(tally.memories for tally in tallies):
        rest.remove(MEMORIES)
    return [*(kind for kind in kinds if kind not in rest), *rest]


def _figure(case: Case, measure: str, played: Sequence[MeasuredRuns], z: float) -> Figure:
    batches = [(batch.numbers, _values(case, measure, batch.tallies)) for batch in played]
    values = [value for _, each in batches for value in each]
    measured = ExpectedRange(Fraction(min(values)), Fraction(max(values)))
    expected = case.expected(measure)
    if expected is None:
        return Figure(measured, None, 0.0, None, None)
    wanted = [expected.of(numbers) for numbers, _ in batches]
    formula = ExpectedRange(min(b.least for b in wanted), max(b.most for b in wanted))
    margin = z * stdev(values) / sqrt(len(values)) if expected.is_mean and z else 0.0
    equal = all(expected.is_met(each, numbers, margin) for numbers, each in batches)
    return Figure(measured, mean_of(values) if expected.is_mean else None, margin, formula, equal)


def _values(case: Case, measure: str, tallies: Sequence[Tally]) -> list[int]:
    if measure in MEASURES:
        return [tally.figures()[measure] for tally in tallies]
    kinds = case.tallies.get(measure, (measure,))
    return [sum(_signed(tally, kind) for kind in kinds) for tally in tallies]


def _signed(tally: Tally, kind: str) -> int:
    return -tally.kinds[kind[1:]] if kind.startswith("-") else tally.kinds[kind]


class MeasuredProtocol(Value):
    """The protocol that is measured."""

    name: str
    kind: type[Machine[Any]]
    form: str = "sound"
    rules: tuple[str, ...] = ()
    """Changes to the rules; they apply after those that a case itself asks for."""


class Measure:
    """Measures one protocol."""

    def __init__(self, subject: MeasuredProtocol, samples: int = SAMPLES, seed: int = 0) -> None:
        self.subject = subject
        self._samples = samples
        self._seed = seed
        self._starts: dict[Setting, tuple[Simulation, tuple[Step, ...]]] = {}
        self._started = 0

    def rows(self, cases: Iterable[Case], sizes: Sequence[int]) -> Iterator[CostRow]:
        """A row for each case and each size that it is about."""
        fitting = [(c, n) for c in cases for n in sizes if c.fits(self.subject.form, n)]
        means = sum(
            Expectation(text).is_mean
            for case, nodes in fitting
            for text in case.formulas.values()
            if is_sampled(case, nodes)
        )
        # All intervals of a table are to hold together, so each has to be the surer the more
        # there are.
        z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(means, 1))
        return (self.row(case, nodes, z) for case, nodes in fitting)

    def row(self, case: Case, nodes: int, z: float) -> CostRow:
        """One case at one size."""
        batches = batches_of(case, nodes, self._samples, self._seed)
        played: list[MeasuredRuns] = []
        try:
            for batch in batches.batches:
                messages_max = None if batches.complete else MESSAGES_MAX // len(batches.batches)
                played.append(MeasuredRuns(batch.numbers, self._tallies(case, batch, messages_max)))
        except (IllegalStep, SimulationStartError) as error:
            return CostRow(case, nodes, 0, batches.complete, {}, str(error))
        return row_of(case, nodes, played, batches.complete, z)

    def _tallies(self, case: Case, batch: Batch, messages_max: int | None) -> list[Tally]:
        """What each run takes; a sample ends when it has become too much work."""
        tallies: list[Tally] = []
        messages = 0
        for variant in batch.variants:
            if messages_max and messages > messages_max and len(tallies) >= SAMPLES_MIN:
                break
            tallies.append(self._tally(case, variant))
            messages += tallies[-1].kinds.total()
        return tallies

    def _tally(self, case: Case, variant: Variant) -> Tally:
        cluster, boots = self._start(self._setting(case, variant))
        play = Play(cluster.copy(), boots, variant)
        tally = play.run(case.script)
        for stray in play.strays(case.leader) if case.leader else ():
            raise IllegalStep(stray)
        return tally

    def _start(self, setting: Setting) -> tuple[Simulation, tuple[Step, ...]]:
        known = self._starts.get(setting)
        if known is None:
            machine = setting.machine(self.subject.kind, self.subject.form)
            verifies = self._started < VERIFIED and len(setting.ids) <= VERIFIED_NODES
            turns = Turns(machine) if verifies else TrustedTurns(machine)
            if len(self._starts) >= STARTS_MAX:
                self._starts.clear()
            known = started(setting, machine, LocalStates(machine, turns))
            self._starts[setting] = known
            self._started += 1
        return known

    def _setting(self, case: Case, variant: Variant) -> Setting:
        sign = 1 if self.subject.kind.strongest == "highest" else -1
        return Setting(
            self.subject.name,
            tuple(range(1, variant.numbers["N"] + self.subject.kind.extra_nodes + 1)),
            (*(_rule(text, variant) for text in case.rules), *self.subject.rules),
            start=case.start,
            attributes=tuple(sign * rank for rank in variant.ranks),
        )


def _rule(text: str, variant: Variant) -> str:
    """A rule of a case; a time may be a formula in N, such as `silence=8N·T`."""
    name, _, value = text.partition("=")
    if not value.endswith("·T"):
        return text
    return f"{name}={whole(value, variant.numbers)}T"
