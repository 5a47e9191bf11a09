"""The timers of all instances of a host, as one timer of its loop; and work for many of them.

A host that hears nobody while it is busy with a thousand elections has stood still, as far as it
and the others can tell: connections break over it, and everything begins anew. So both take a few
instances at a time.
"""

import asyncio
import heapq
import math
from collections.abc import Callable, Iterable
from itertools import count
from typing import Generic, Protocol, TypeVar

AT_ONCE = 100
"""Instances that are handled in one wake-up: some milliseconds on a machine that has time."""
STEP_S = 0.002
"""Timers that run out within this time are taken together, so that their messages share letters."""
INPUT_ROUNDS = 3
"""Turns of the loop within which everything that has arrived is read."""
NEWS_MS = 5.0
"""After a letter, a busy host probably has more to read."""
AGAIN_MS = 10.0
"""When a timer that has waited for letters to be read tries again."""
LATE_TIMES = 3
"""So many looks in a row must find a host behind before a warning is logged."""


class Sleeper(Protocol):
    """What the timer queue wakes."""

    due_ms: float
    """When to wake it, and no earlier; infinite if never."""
    queued_ms: float
    """When the queue looks at it next; infinite if it is not in the queue. Most timers are set anew
    before they run out; then the queue need not be told that `due_ms` is later."""

    @property
    def is_urgent(self) -> bool:
        """Whether it must not wait until what has arrived is read."""

    def wake(self) -> None:
        """Its time has come."""


class Recurrence:
    """Says of something that is seen again and again when to warn of it."""

    def __init__(self) -> None:
        self._times = 0

    def is_time_to_say(self, is_so: bool) -> bool:
        """Whether to say it; called at regular times."""
        self._times = self._times + 1 if is_so else 0
        # At the third look, and then ever more rarely: the sixth, the twelfth …
        times, odd = divmod(self._times, LATE_TIMES)
        return times > 0 and not odd and times & (times - 1) == 0


class Lateness:
    """Notices if a host is behind with its timers all the time."""

    def __init__(self, allowed_ms: float) -> None:
        self._allowed_ms = allowed_ms
        self._worst_ms = 0.0
        self._recurrence = Recurrence()

    def note(self, late_ms: float) -> None:
        """A timer was this late."""
        self._worst_ms = max(self._worst_ms, late_ms)

    def look(self) -> float | None:
        """How far behind the host is, if it is time to warn of that; called at regular times."""
        worst_ms, self._worst_ms = self._worst_ms, 0.0
        return worst_ms if self._recurrence.is_time_to_say(worst_ms > self._allowed_ms) else None


class TimerQueue:
    """Wakes every instance when the first of its timers runs out."""

    def __init__(
        self,
        now_ms: Callable[[], float],
        enter: Callable[..., None],
        patience_ms: float,
        lateness: Lateness,
    ) -> None:
        self.read_ms = -math.inf
        """When something was read last."""
        self._now_ms = now_ms
        self._enter = enter
        self._patience_ms = patience_ms
        self._lateness = lateness
        self._queue: list[tuple[float, int, Sleeper]] = []
        self._numbers = count()
        self._handle: asyncio.TimerHandle | None = None
        self._is_waking = False
        self._wakes_ms = 0.0

    def put(self, sleeper: Sleeper) -> None:
        """It is due before the queue would have looked at it."""
        self._put(sleeper, sleeper.due_ms)
        self._wait()

    def end(self) -> None:
        """Stop: nothing is woken any more."""
        self._is_waking = True
        if self._handle is not None:
            self._handle.cancel()

    def _wait(self) -> None:
        if not self._queue or self._is_waking:
            return
        first_ms = self._queue[0][0]
        if self._handle is not None:
            if self._wakes_ms <= first_ms:
                return
            self._handle.cancel()
        self._wakes_ms = first_ms
        later_s = max(STEP_S, (first_ms - self._now_ms()) / 1000)
        self._handle = asyncio.get_running_loop().call_later(later_s, self._settle_input)

    def _settle_input(self, rounds: int = INPUT_ROUNDS) -> None:
        """Let messages that have arrived go before a timer that ends now."""
        if rounds:
            self._handle = None
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._settle_input, rounds - 1)
        else:
            self._is_waking = False
            self._enter(self._wake)

    def _wake(self) -> None:
        """Wake what is due, a few at a time: in between messages are read."""
        now = self._now_ms()
        woken = 0
        while self._queue and self._queue[0][0] <= now and woken < AT_ONCE:
            deadline, _, sleeper = heapq.heappop(self._queue)
            if sleeper.queued_ms == deadline:
                sleeper.queued_ms = math.inf
                woken += self._let(sleeper, now)
        self._wait()

    def _let(self, sleeper: Sleeper, now: float) -> bool:
        """Wake a sleeper if it is due, or come back to it later."""
        due_ms = sleeper.due_ms
        if due_ms <= now and self._must_wait(sleeper, now - due_ms):
            self._put(sleeper, now + AGAIN_MS)
        elif due_ms <= now:
            sleeper.due_ms = math.inf
            self._lateness.note(now - due_ms)
            sleeper.wake()
            return True
        elif due_ms < math.inf:
            self._put(sleeper, due_ms)
        return False

    def _must_wait(self, sleeper: Sleeper, late_ms: float) -> bool:
        """Whether to read first what has arrived: its own delay must not pass for silence.

        Otherwise a host that is behind asks all others again, and is even more behind. Only an
        instance that is in office has no time for that.
        """
        is_reading = self._now_ms() - self.read_ms < NEWS_MS
        return is_reading and late_ms < self._patience_ms and not sleeper.is_urgent

    def _put(self, sleeper: Sleeper, deadline_ms: float) -> None:
        sleeper.queued_ms = deadline_ms
        heapq.heappush(self._queue, (deadline_ms, next(self._numbers), sleeper))


Each = TypeVar("Each")


class ChunkedWork(Generic[Each]):
    """Does one thing for each of many, a few at a time; the node does other things in between."""

    def __init__(self, enter: Callable[..., None], act: Callable[[Each], object]) -> None:
        self._enter = enter
        self._act = act
        self._left: dict[Each, None] = {}

    def over(self, items: Iterable[Each]) -> None:
        """Begin with the first few at once. One that is still waiting is not added twice."""
        is_under_way = bool(self._left)
        self._left.update(dict.fromkeys(items))
        if not is_under_way:
            self._go_on()

    def _go_on(self) -> None:
        for each in list(self._left)[:AT_ONCE]:
            del self._left[each]
            self._act(each)
        if self._left:
            asyncio.get_running_loop().call_soon(self._enter, self._go_on)
