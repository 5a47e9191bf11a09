"""Simulated processes and clocks: all that runs belongs to a process, or to the test itself.

The context of a callback says which one; what a process starts inherits that.
"""

import asyncio
import contextvars
import math
from typing import Any


class MachineClock:
    """The clock of a machine: what it shows, given the true time; both in seconds."""

    def __init__(self) -> None:
        self._shown = self._since = 0.0
        self._rate = 1.0
        self._wall_ahead = 0.0

    @property
    def stopped(self) -> bool:
        """Whether it stands still."""
        return self._rate == 0

    def at(self, now: float) -> float:
        """What it shows at a true time."""
        return self._shown + self._rate * (now - self._since)

    def wall_at(self, now: float) -> float:
        """What the wall clock of the machine shows at a true time; it stands still with this."""
        return self.at(now) + self._wall_ahead

    def set_wall(self, now: float, ahead: float) -> None:
        """Set the wall clock to the true time, or wrongly ahead of it."""
        self._wall_ahead = now + ahead - self.at(now)

    def when(self, shown: float) -> float:
        """The true time at which it will show this."""
        missing = shown - self._shown
        if self._rate == 0:
            return math.inf if missing > 0 else self._since
        return self._since + missing / self._rate

    def run(self, now: float, rate: float) -> None:
        """Run at another speed from now on; 0 stops it."""
        self._shown, self._since, self._rate = self.at(now), now, rate

    def jump(self, now: float, by: float) -> None:
        """Show another time from now on."""
        self._shown, self._since = self.at(now) + by, now


class Process:
    """Tasks that stand still together, and end together."""

    def __init__(self, name: str, clock: MachineClock) -> None:
        self.name = name
        self.clock = clock
        self.context = contextvars.copy_context()
        self.context.run(CURRENT.set, self)
        self.application = self.context.copy()
        """The same for all that is not its node."""
        self.application.run(APPLICATION.set, True)
        self.paused = False
        self.dead = False
        self.parked: list[Handle | TimerHandle] = []


APPLICATION: contextvars.ContextVar[bool] = contextvars.ContextVar("application", default=False)
CURRENT: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class Handle(asyncio.Handle):
    """A callback that knows its process."""

    __slots__ = ("is_application", "process")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.process = process_of(given[-1])
        self.is_application = _is_application(given[-1])


class TimerHandle(asyncio.TimerHandle):
    """A callback for later that knows its process."""

    __slots__ = ("is_application", "process")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.process = process_of(given[-1])
        self.is_application = _is_application(given[-1])


def process_of(context: contextvars.Context | None) -> Process | None:
    """The process of this context, or of what runs now; None is the test."""
    return CURRENT.get() if context is None else context.get(CURRENT)


def _is_application(context: contextvars.Context | None) -> bool:
    return APPLICATION.get() if context is None else context.get(APPLICATION, False)
