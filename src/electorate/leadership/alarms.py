"""The timers of all elections of a node, as one timer of its loop."""

import asyncio
import heapq
import math
from collections.abc import Callable
from itertools import count

from electorate.leadership.seat import Seat
from electorate.leadership.sweep import AT_ONCE

STEP_S = 0.002
"""Timers that run out within this time are taken together, so that their messages travel so."""
NEWS_MS = 5.0
"""After a letter it is likely that more is to be read, if the node is busy."""
AGAIN_MS = 10.0
"""When a timer that has waited for letters to be read looks again."""


LATE_TIMES = 3
"""So many looks in a row have to find a node behind before anything is said about it."""


class Strain:
    """Notices whether a node is behind with its timers all the time."""

    def __init__(self, allowed_ms: float) -> None:
        self._allowed_ms = allowed_ms
        self._worst_ms = 0.0
        self._times = 0

    def note(self, late_ms: float) -> None:
        """A timer was so late."""
        self._worst_ms = max(self._worst_ms, late_ms)

    def look(self) -> float | None:
        """How far behind the node is, if it is time to say so; to be asked at regular times."""
        worst_ms, self._worst_ms = self._worst_ms, 0.0
        self._times = self._times + 1 if worst_ms > self._allowed_ms else 0
        # After that it is said ever more rarely: at the third look, the sixth, the twelfth …
        times, odd = divmod(self._times, LATE_TIMES)
        return worst_ms if times and not odd and times & (times - 1) == 0 else None


class Alarms:
    """Wakes every office when the first of its timers runs out."""

    def __init__(
        self,
        now_ms: Callable[[], float],
        enter: Callable[..., None],
        patience_ms: float,
        strain: Strain,
    ) -> None:
        self._strain = strain
        self.read_ms = -NEWS_MS
        """When something was read last."""
        self._patience_ms = patience_ms
        self._now_ms = now_ms
        self._enter = enter
        self._queue: list[tuple[float, int, Seat]] = []
        self._due: dict[Seat, float] = {}
        """When each office is to be woken, by the latest word on that."""
        self._queued: dict[Seat, float] = {}
        """When the queue has it first. Timers are set anew before they run out, most of the time:
        an office whose time has moved on stays in its place until then."""
        self._numbers = count()
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_ms = 0.0

    def set(self, office: Seat, deadline_ms: float | None) -> None:
        """Wake the office then, and no earlier."""
        if deadline_ms is None:
            self._due.pop(office, None)
            return
        self._due[office] = deadline_ms
        if deadline_ms < self._queued.get(office, math.inf):
            self._put(office, deadline_ms)
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
        """Take what has run out by now, a few at a time: in between others are heard."""
        self._handle = None
        now = self._now_ms()
        woken = 0
        while self._queue and self._queue[0][0] <= now and woken < AT_ONCE:
            deadline, _, office = heapq.heappop(self._queue)
            if self._queued.get(office) == deadline:
                del self._queued[office]
                woken += self._let(office, now)
        self._wait()

    def _let(self, office: Seat, now: float) -> bool:
        """Wake an office if it is time for it, or see to it later."""
        due_ms = self._due.get(office, math.inf)
        if due_ms <= now and self._must_wait(office, now - due_ms):
            self._put(office, now + AGAIN_MS)
        elif due_ms <= now:
            del self._due[office]
            self._strain.note(now - due_ms)
            office.wake()
            return True
        elif due_ms < math.inf:
            self._put(office, due_ms)
        return False

    def _must_wait(self, office: Seat, late_ms: float) -> bool:
        """Whether to read first what has come: who is busy must not take that for silence.

        Otherwise a node that is behind asks everybody again, and is even more behind. Only who is
        in office has no time for that.
        """
        is_reading = self._now_ms() - self.read_ms < NEWS_MS
        return is_reading and late_ms < self._patience_ms and not office.is_held

    def _put(self, office: Seat, deadline_ms: float) -> None:
        self._queued[office] = deadline_ms
        heapq.heappush(self._queue, (deadline_ms, next(self._numbers), office))
