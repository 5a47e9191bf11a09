"""Delay models: how long a message takes, as a function of one drawn number.

`of` turns a number drawn evenly from [0, 1) into a delay, so that every message costs exactly one
draw whatever the model is.
"""

import math
import re
from collections.abc import Callable
from statistics import NormalDist

from electorate.core import Timing, Value

_NORMAL = NormalDist()


class DelayModel(Value, tag_field="model", tag=True):
    """How long messages take: `of` a drawn number, and the `longest` if there is a bound."""


class Constant(DelayModel):
    """Every message takes the same time."""

    time: int

    def of(self, drawn: float) -> int:
        return self.time

    def longest(self) -> int | None:
        return self.time


class Uniform(DelayModel):
    """Every delay between two bounds is as likely as any other."""

    low: int
    high: int

    def of(self, drawn: float) -> int:
        return self.low + int(drawn * (self.high - self.low + 1))

    def longest(self) -> int | None:
        return self.high


class Lognormal(DelayModel):
    """Half of the messages take less than the median; a few take many times as long."""

    median: int
    sigma: float

    def of(self, drawn: float) -> int:
        return round(self.median * math.exp(self.sigma * _NORMAL.inv_cdf(drawn or 2.0**-53)))

    def longest(self) -> int | None:
        return None


class Pareto(DelayModel):
    """No message takes less than `scale`; the smaller `alpha`, the heavier the tail."""

    scale: int
    alpha: float

    def of(self, drawn: float) -> int:
        stretch: float = (1.0 - drawn) ** (-1.0 / self.alpha)
        return round(self.scale * stretch)

    def longest(self) -> int | None:
        return None


Delay = Constant | Uniform | Lognormal | Pareto

USAGE = "write constant:1T, uniform:0..1T, lognormal:0.3T,0.8 or pareto:0.1T,1.5"


def parse_delay(text: str, timing: Timing) -> Delay:
    """Read a model as commands and scenarios write it."""
    name, colon, given = text.partition(":")
    parts = given.split("..") if name == "uniform" else given.split(",")
    makers: dict[str, tuple[int, Callable[[], Delay]]] = {
        "constant": (1, lambda: Constant(parse_time(parts[0], timing))),
        "uniform": (2, lambda: _uniform(*(parse_time(part, timing) for part in parts))),
        "lognormal": (2, lambda: Lognormal(parse_time(parts[0], timing), _positive(parts[1]))),
        "pareto": (2, lambda: Pareto(parse_time(parts[0], timing), _positive(parts[1]))),
    }
    if not colon or name not in makers or len(parts) != makers[name][0]:
        raise ValueError(f"{text!r} is not a delay model: {USAGE}")
    return makers[name][1]()


def _uniform(low: int, high: int) -> Uniform:
    if low > high:
        raise ValueError(f"a uniform delay from {low} up to {high} is empty")
    return Uniform(low, high)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError(f"{text!r} is not a number above zero: {USAGE}")
    return number


def parse_time(text: str, timing: Timing) -> int:
    """Read a length of time: `2T`, `0.3T`, or a plain number of units."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+|)(T?)", text.strip())
    if not found or not (found[1] or found[2]):
        raise ValueError(f"{text!r} is not a length of time: write it like 2T, 0.3T or 250")
    number = float(found[1] or 1)
    return round(number * timing.T) if found[2] else round(number)
