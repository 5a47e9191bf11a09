"""Formulas as people write them: `N(N-1)/2`, `(N-1)²+2(N-2)`, `N·H_N+N`, `(2N+d)T`.

The text is the function, so that what is printed and what is compared cannot differ. H_N is the
harmonic number 1 + 1/2 + … + 1/N, and T is the unit of time, hence 1. What is expected of the runs
of a case is the same of each, a least and a most, or a mean.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

Numbers = Mapping[str, int]
"""The values of letters."""
Part = Callable[[Numbers], Fraction]

MEAN = "mean "
TOKEN = re.compile(r"\s*(\d+|H_[A-Za-z]|[A-Za-z]|[-+·/²()])")


class Formula:
    """An expression in N and other letters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = _tokens_of(text)
        self._value = self._sum()
        if self._tokens:
            raise ValueError(f"{text!r} makes no sense from {self._tokens[0]!r} on")

    def of(self, numbers: Numbers) -> Fraction:
        """Its value, exactly."""
        try:
            return self._value(numbers)
        except (KeyError, ZeroDivisionError) as error:
            raise ValueError(f"{self.text!r} has no value: {error}") from None

    def _next(self, *wanted: str) -> str | None:
        """Take the next token if it is one of these."""
        if self._tokens and self._tokens[0] in wanted:
            return self._tokens.pop(0)
        return None

    def _sum(self) -> Part:
        value = self._product()
        while sign := self._next("+", "-"):
            value = _joined(sign, value, self._product())
        return value

    def _product(self) -> Part:
        value = self._power()
        while self._tokens and self._tokens[0] not in "+-)":
            sign = self._next("·", "/") or "·"
            value = _joined(sign, value, self._power())
        return value

    def _power(self) -> Part:
        value = self._atom()
        return _joined("·", value, value) if self._next("²") else value

    def _atom(self) -> Part:
        if self._next("("):
            value = self._sum()
            if not self._next(")"):
                raise ValueError(f"{self.text!r} lacks a closing bracket")
            return value
        if not self._tokens:
            raise ValueError(f"{self.text!r} ends too soon")
        token = self._tokens.pop(0)
        if token.isdecimal():
            return lambda numbers: Fraction(token)
        if token == "T":
            return lambda numbers: Fraction(1)
        if token.startswith("H_"):
            return lambda numbers: _harmonic(numbers[token[2:]])
        if token.isalpha():
            return lambda numbers: Fraction(numbers[token])
        raise ValueError(f"{self.text!r} makes no sense at {token!r}")


def _tokens_of(text: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if not found:
            raise ValueError(f"{text!r} makes no sense at {text[at:].strip()[0]!r}")
        tokens.append(found[1])
        at = found.end()
    return tokens


def _joined(sign: str, one: Part, other: Part) -> Part:
    match sign:
        case "+":
            return lambda numbers: one(numbers) + other(numbers)
        case "-":
            return lambda numbers: one(numbers) - other(numbers)
        case "/":
            return lambda numbers: one(numbers) / other(numbers)
        case _:
            return lambda numbers: one(numbers) * other(numbers)


def _harmonic(n: int) -> Fraction:
    return sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


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
