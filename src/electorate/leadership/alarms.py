"""The timers of all elections of a node, as one timer of its loop."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

from electorate.leadership.seat import Seat

STEP_S = 0.002
"""Timers that run out within this time are taken together, so that their messages travel so."""


class Alarms:
    """Wakes every office when the first of its timers runs out."""

    def __init__(self, now_ms: Callable[[], float], enter: Callable[..., None]) -> None:
        self._now_ms = now_ms
        self._enter = enter
        self._queue: list[tuple[float, int, Seat]] = []
        self._due: dict[Seat, float] = {}
        """What of the queue still holds: the latest word on each office."""
        self._numbers = count()
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_ms = 0.0

    def set(self, office: Seat, deadline_ms: float | None) -> None:
        """Wake the office then, and no earlier."""
        if deadline_ms is None:
            self._due.pop(office, None)
        elif self._due.get(office) != deadline_ms:
            self._due[office] = deadline_ms
            heapq.heappush(self._queue, (deadline_ms, next(self._numbers), office))
            self._wait()

    def end(self) -> None:
        """Wake nobody any more."""
        if self._handle is not None:
            self._handle.cancel()

    def _wait(self) -> None:
        if not self._queue:
            return
        first_ms = self._queue[0][0]
        if self._handle is not None:
            if self._wakes_ms <= first_ms:
                return
            self._handle.cancel()
        self._wakes_ms = first_ms
        later_s = max(STEP_S, (first_ms - self._now_ms()) / 1000)
        self._handle = asyncio.get_running_loop().call_later(later_s, self._enter, self._wake)

    def _wake(self) -> None:
        """Take what has run out by now; what runs out meanwhile comes after what others say."""
        self._handle = None
        now = self._now_ms()
        while self._queue and self._queue[0][0] <= now:
            deadline, _, office = heapq.heappop(self._queue)
            if self._due.get(office) == deadline:
                del self._due[office]
                office.wake()
        self._wait()
