"""Durations in the bounds of the literature: `2*T + P`, never "200".

A protocol is built with a `Timing` and asks for a `Span` of it. The same numbers are
milliseconds on a network and integer ticks in the checker.
"""

import re
from fractions import Fraction
from math import ceil, floor
from typing import Self

from electorate.core.value import Value


class Timing(Value):
    """The bounds that a deployment or a check promises, in one unit of time."""

    T: int = 1
    """A message is handled at most this long after it was sent (plus P)."""
    P: int = 0
    """A node answers at most this long after it received."""
    drift: float = 0.0
    """How far a clock may be off: a timer of k takes k(1-drift) to k(1+drift)."""

    def __post_init__(self) -> None:
        if self.T < 1 or self.P < 0:
            raise ValueError(f"T is at least 1 and P at least 0, not T={self.T}, P={self.P}")
        if not 0 <= self.drift < 1:
            raise ValueError(f"drift={self.drift:g} is not within 0..1")

    def lasts(self, after: int, jitter: int = 0) -> tuple[int, int]:
        """The shortest and the longest that a timer may take on a clock that drifts."""
        if not self.drift:
            return after, after + jitter
        drift = Fraction(str(self.drift))
        return ceil(after * (1 - drift)), floor((after + jitter) * (1 + drift))

    def text(self, duration: int) -> str:
        """Express a duration in T if it is a whole number of them."""
        whole, rest = divmod(duration, self.T)
        if whole < 1:
            return str(duration)
        times = "T" if whole == 1 else f"{whole}T"
        return f"{times}+{rest}" if rest else times


class Span(Value):
    """A length of time: a number of T, a number of P, and single ticks on top."""

    T: int = 0
    P: int = 0
    ticks: int = 0

    def of(self, timing: Timing) -> int:
        """This span in the unit of `timing`, never below zero."""
        return max(0, self.T * timing.T + self.P * timing.P + self.ticks)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2T+P-1`; a plain number counts ticks."""
        # Blanks around a sign and the star before a unit say nothing; "2 3" is not 23.
        compact = re.sub(
            r"\s*([+-])\s*", r"\1", re.sub(r"(\d)\s*\*\s*([TP])", r"\1\2", text.strip())
        )
        if not re.fullmatch(r"[+-]?(\d*[TP]|\d+)([+-](\d*[TP]|\d+))*", compact):
            raise ValueError(f"{text!r} is not a span: write it like 2T, 2T+P or 2T+1")
        parts = {"T": 0, "P": 0, "": 0}
        for sign, count, unit in re.findall(r"([+-]?)(\d*)([TP]?)", compact):
            if count or unit:
                parts[unit] += int(sign + (count or "1"))
        return cls(parts["T"], parts["P"], parts[""])

    def __add__(self, other: "Span | int") -> "Span":
        if isinstance(other, int):
            other = Span(ticks=other)
        return Span(self.T + other.T, self.P + other.P, self.ticks + other.ticks)

    def __sub__(self, other: "Span | int") -> "Span":
        return self + -1 * (Span(ticks=other) if isinstance(other, int) else other)

    def __mul__(self, times: int) -> "Span":
        return Span(times * self.T, times * self.P, times * self.ticks)

    __rmul__ = __mul__

    def __str__(self) -> str:
        text = ""
        for count, unit in ((self.T, "T"), (self.P, "P"), (self.ticks, "")):
            if count:
                number = str(count) if not unit or abs(count) != 1 else "-" if count < 0 else ""
                text += ("+" if text and count > 0 else "") + number + unit
        return text or "0"


T = Span(T=1)
P = Span(P=1)
