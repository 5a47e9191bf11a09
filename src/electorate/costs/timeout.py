"""What longer timers buy and cost: fewer runs with two leaders, and more time without one.

The protocol takes T to be so many times as long as it is, while messages, failure detectors and
faults stay as they are. Each length is tried under each law of delays in two ways, by seeds:

- nodes crash and come back: in how many runs do two nodes lead at once (S2 breaks)?
- the leader crashes once, and nothing else happens: how long until all follow another (A2)?
"""

from collections.abc import Sequence
from math import ceil, exp, lgamma, log, sqrt
from typing import Any, NamedTuple

from electorate.core import Machine, Strongest
from electorate.simulate.delay import Delay, parse_delay
from electorate.simulate.experiment import Subject
from electorate.simulate.fault import Crash
from electorate.simulate.scenario import Faults, Scenario
from electorate.simulate.swarm import Swarmed

LAWS = ("uniform:0..1T", "lognormal:0.3T,0.8", "pareto:0.1T,1.5")
LENGTHS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
QUIET = 10
"""So many T pass before the leader crashes."""
Z = 1.96
"""For intervals of 95 %."""
OUTSIDE = 0.025
"""What an interval of 95 % leaves out at each end."""
DRAWS = 10_000

Interval = tuple[float | None, float | None]
"""Two ends; None if there were too few runs to say."""


class Quantile(NamedTuple):
    """A time that some share of the runs stayed within, in T, with its interval."""

    time: float
    ends: Interval


class Point(NamedTuple):
    """What was seen with one length of the timers, under one law of delays."""

    delay: str
    beyond: float
    """The share of the messages that take longer than T."""
    length: float
    runs: int
    two: int
    """In how many of them two nodes led at once."""
    first: int | None
    """The first seed that shows it."""
    elections: int
    """How often the leader crashed."""
    times: tuple[float, ...]
    """How long until all followed another one, in T, shortest first; some runs may have failed."""

    @property
    def share(self) -> float:
        """The share of the runs in which two nodes led at once."""
        return self.two / self.runs if self.runs else 0.0

    @property
    def share_ends(self) -> Interval:
        """Its interval, after Wilson."""
        return wilson(self.two, self.runs) if self.runs else (None, None)

    def quantile(self, share: float) -> Quantile | None:
        """The time within which this share of the elections was over."""
        if not self.times:
            return None
        n = len(self.times)
        low, high = ranks(n, share)
        ends = (
            None if low is None else self.times[low - 1],
            None if high is None else self.times[high - 1],
        )
        return Quantile(self.times[min(n, max(1, ceil(share * n))) - 1], ends)


def wilson(hits: int, runs: int) -> tuple[float, float]:
    """The interval of a share: E. B. Wilson, "Probable Inference", 1927."""
    share, weight = hits / runs, Z * Z / runs
    middle = (share + weight / 2) / (1 + weight)
    half = Z / (1 + weight) * sqrt(share * (1 - share) / runs + weight / (4 * runs))
    return max(0.0, middle - half), min(1.0, middle + half)


def ranks(n: int, share: float) -> tuple[int | None, int | None]:
    """Between which of n sorted numbers a quantile lies, whatever their distribution.

    How many numbers are below it is binomial; None if even the outermost one is not enough.
    """
    below, low, high = 0.0, None, None
    for count in range(n):
        ways = lgamma(n + 1) - lgamma(count + 1) - lgamma(n - count + 1)
        below += exp(ways + count * log(share) + (n - count) * log(1 - share))
        if below <= OUTSIDE:
            low = count + 1
        if high is None and below >= 1 - OUTSIDE:
            high = count + 1
    return low, high


class TimeoutTrial(NamedTuple):
    """One length under one law, and the runs for it."""

    delay: str
    law: Delay
    length: float
    faulty: Subject
    """Nodes crash and come back."""
    one_crash: Subject
    """The leader crashes once."""

    def point(self, faulty: Swarmed, one_crash: Swarmed) -> Point:
        """What was seen."""
        unit = self.one_crash.scenario.timing.T
        first = faulty.first.get("S2")
        return Point(
            self.delay,
            beyond(self.law, unit),
            self.length,
            faulty.seeds,
            faulty.broken.get("S2", 0),
            None if first is None else first.seed,
            one_crash.seeds,
            tuple(time / unit for time in one_crash.elected),
        )


def beyond(law: Delay, bound: int) -> float:
    """The share of the messages that take longer than a bound."""
    return sum(law.of((place + 0.5) / DRAWS) > bound for place in range(DRAWS)) / DRAWS


def trials(
    protocol: str,
    kind: type[Machine[Any]],
    nodes: int,
    laws: Sequence[str],
    lengths: Sequence[float],
    *,
    rules: tuple[str, ...] = (),
    crashes: int = 4,
    strongest: Strongest | None = None,
) -> list[TimeoutTrial]:
    """Every length under every law. ValueError if there is no such law."""
    usual = Scenario()
    unit = usual.timing.T
    ids = tuple(range(1, nodes + 1))
    leader = ids[-1] if (strongest or kind.strongest) == "highest" else ids[0]
    found = []
    for text in laws:
        law = parse_delay(text, usual.timing)
        for length in lengths:
            faulty = Scenario(
                ids,
                believed=length,
                delay=law,
                faults=Faults(crashes=crashes, recoveries=crashes),
                claims=("S2",),
            )
            one_crash = Scenario(
                ids,
                believed=length,
                delay=law,
                faults=Faults(),
                listed=(Crash(QUIET * unit, leader),),
                safety=QUIET * unit,
                claims=("A2",),
            )
            both = (Subject(protocol, each, rules, strongest) for each in (faulty, one_crash))
            found.append(TimeoutTrial(text, law, length, *both))
    return found


def points(tried: Sequence[TimeoutTrial], swarms: Sequence[Swarmed]) -> list[Point]:
    """What was seen in all trials, whose subjects were simulated in the order of `subjects`."""
    pairs = zip(swarms[::2], swarms[1::2], strict=True)
    return [trial.point(*pair) for trial, pair in zip(tried, pairs, strict=True)]


def subjects(tried: Sequence[TimeoutTrial]) -> list[Subject]:
    """Everything to simulate."""
    return [subject for trial in tried for subject in (trial.faulty, trial.one_crash)]
