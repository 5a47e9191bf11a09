"""One case at one size: what was measured beside what the formulas say."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from statistics import stdev
from typing import NamedTuple

from electorate.costs.case import MEASURES, MEMORIES, WRITES, Case
from electorate.costs.formula import ExpectedRange, Numbers, mean_of
from electorate.costs.play import Tally
from electorate.costs.variant import numbers_of


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
