"""What a formula expects of all runs of a case: the same of each, a least and a most, or a mean."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from electorate.costs.formula import Formula, Numbers

MEAN = "mean "


class ExpectedRange(NamedTuple):
    """The least and the most; the same twice if there is one number."""

    least: Fraction
    most: Fraction


class Expectation:
    """`2N-3` is expected of every run, `2N..3N-1` of their bounds, `mean N·H_N+N` on average."""

    def __init__(self, text: str) -> None:
        self.is_mean = text.startswith(MEAN)
        least, dots, most = text.removeprefix(MEAN).partition("..")
        self._least = Formula(least)
        self._most = Formula(most) if dots else self._least
        if self.is_mean and dots:
            raise ValueError(f"{text!r} is neither a mean nor two bounds")

    def of(self, numbers: Numbers) -> ExpectedRange:
        """Its values."""
        return ExpectedRange(self._least.of(numbers), self._most.of(numbers))

    def is_met(self, values: Sequence[int], numbers: Numbers, margin: float) -> bool:
        """Whether the measured numbers are as expected; a mean may be off by this much."""
        wanted = self.of(numbers)
        if self.is_mean:
            return abs(mean_of(values) - wanted.least) <= margin
        return min(values) == wanted.least and max(values) == wanted.most


def mean_of(values: Sequence[int]) -> Fraction:
    """Their mean, exactly."""
    return Fraction(sum(values), len(values))
