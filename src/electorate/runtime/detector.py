"""Failure detectors: who is alive and linked to me, as far as can be told.

Silence is the only evidence. A closed or refused connection is a hint to ask at once, never a
verdict. A node that was paused itself gives everybody time before it accuses anybody.
"""

import math
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterable

from electorate.core import NodeId


class FailureDetector(ABC):
    """Keeps the time at which each other node becomes suspect."""

    def __init__(self, others: Iterable[NodeId], timeout_ms: float, probe_ms: float) -> None:
        self.timeout_ms = timeout_ms
        self.probe_ms = probe_ms
        self._others = set(others)
        self._suspect_at: dict[NodeId, float] = {}

    def begin(self, now: float) -> None:
        """Trust everybody for a while: at the start, and after a pause of our own."""
        self._suspect_at = dict.fromkeys(self._others, now + self.timeout_ms)

    def add(self, node: NodeId, now: float) -> None:
        """Watch this node too; it is suspect until something is heard from it."""
        self._others.add(node)
        self._suspect_at[node] = now

    def forget(self, node: NodeId) -> None:
        """Watch this node no longer."""
        self._others.discard(node)
        self._suspect_at.pop(node, None)

    def heard(self, node: NodeId, now: float) -> None:
        """A sign of life, which also shows that the node hears us."""
        self._suspect_at[node] = now + self.patience(node, now)

    def hint(self, node: NodeId, now: float) -> None:
        """Its connection broke: it is suspect unless it shows itself within one probe."""
        self._suspect_at[node] = min(self._suspect_at[node], now + self.probe_ms)

    def suspect(self, node: NodeId, now: float) -> None:
        """Its process has certainly ended."""
        self._suspect_at[node] = min(self._suspect_at[node], now)

    def alive(self, now: float) -> frozenset[NodeId]:
        """The other nodes that are not suspect."""
        return frozenset(node for node, at in self._suspect_at.items() if now < at)

    @abstractmethod
    def patience(self, node: NodeId, now: float) -> float:
        """How long this node may be silent from now on."""


class HeartbeatDetector(FailureDetector):
    """Suspects a node that is silent for a fixed time."""

    def patience(self, node: NodeId, now: float) -> float:
        """That time."""
        return self.timeout_ms


class PhiDetector(FailureDetector):
    """Suspects a node that is silent for unusually long, compared with its own habits.

    The phi-accrual detector of Hayashibara et al. (2004): intervals are taken for normally
    distributed, and `threshold` is minus the decimal logarithm of the odds of being wrong.
    """

    def __init__(
        self,
        others: Iterable[NodeId],
        timeout_ms: float,
        probe_ms: float,
        threshold: float = 8.0,
        window: int = 100,
    ) -> None:
        super().__init__(others, timeout_ms, probe_ms)
        self._deviations = _deviations_for(threshold)
        self._last: dict[NodeId, float] = {}
        self._intervals = defaultdict[NodeId, deque[float]](lambda: deque(maxlen=window))

    def begin(self, now: float) -> None:
        """Trust everybody for a while, and forget when each was heard last."""
        super().begin(now)
        self._last = {}

    def patience(self, node: NodeId, now: float) -> float:
        """The mean interval plus some deviations; the fixed time until enough are known."""
        intervals = self._intervals[node]
        last = self._last.get(node)
        if last is not None:
            # Time spent dead is no habit: it counts for so much and no more.
            intervals.append(min(now - last, 2 * self.timeout_ms))
        self._last[node] = now
        if len(intervals) < 10:
            return self.timeout_ms
        mean = sum(intervals) / len(intervals)
        variance = sum((interval - mean) ** 2 for interval in intervals) / len(intervals)
        # A floor keeps a very regular sender from being suspected over one late beat.
        spread = max(math.sqrt(variance), mean / 4)
        return mean + self._deviations * spread


def _deviations_for(threshold: float) -> float:
    """How many deviations above the mean have odds of 10^-threshold, by bisection."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        odds = math.erfc(middle / math.sqrt(2)) / 2
        low, high = (middle, high) if odds > 10**-threshold else (low, middle)
    return low
