"""Simulated processes: whatever runs belongs to one of them, or to the test itself.

Which one, the context of a callback says; whatever a process starts inherits that.
"""

import asyncio
import contextvars
from typing import Any

from electorate.testing.clock import Clock


class Process:
    """Tasks that stand still together, and die together."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.clock = clock
        self.context = contextvars.copy_context()
        self.context.run(CURRENT.set, self)
        self.application = self.context.copy()
        """The same for what is not its node."""
        self.application.run(APPLICATION.set, True)
        self.paused = False
        self.dead = False
        self.parked: list[Handle | TimerHandle] = []


APPLICATION: contextvars.ContextVar[bool] = contextvars.ContextVar("application", default=False)
CURRENT: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class Handle(asyncio.Handle):
    """A callback, and whose it is."""

    __slots__ = ("is_application", "process")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.process = process_of(given[-1])
        self.is_application = _is_application(given[-1])


class TimerHandle(asyncio.TimerHandle):
    """A callback for later, and whose it is."""

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
