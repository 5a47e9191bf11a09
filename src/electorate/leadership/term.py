"""A term of office, as the application holds it in its hands."""

import asyncio
import logging
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from electorate.errors import LeadershipLost
from electorate.runtime.tcp import now_ms

log = logging.getLogger("electorate")


class Granted(Protocol):
    """Who has granted a term, and wants to know when the work in it has ended."""

    def finished(self, term: "Term") -> None:
        """The work has ended; called in any thread."""


class Term:
    """From when this node is elected until it steps down or the term cannot be proved any more.

    `token` is larger than that of every term before, in the whole cluster. Send it along with
    whatever you write: whoever stores it can refuse what comes late. The terms of an election with
    `safety="group"` promise less: see `GroupTerm`.
    """

    def __init__(
        self,
        election: str,
        token: int,
        granted: Granted,
        deadline_ms: float,
        clock: Callable[[], float] = now_ms,
        members: tuple[str, ...] = (),
    ) -> None:
        self.election = election
        self.token = token
        self.members = members
        """The names of those who are led, this node's own among them."""
        self.lost = threading.Event()
        """Set when the work has to end: the term is over, or the office is to be handed over."""
        self.abandoned = False
        """Whether the work goes on though the term is over and all grace has passed."""
        self._granted = granted
        self._clock = clock
        self._deadline_ms = deadline_ms
        self._asked_ms = math.inf
        self._over = False
        self._finished = False
        self._lock = threading.Lock()
        self._cancel: Callable[[], None] | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._cancelled = False

    def check(self) -> None:
        """Raise LeadershipLost unless it is certain that nobody else leads. Asks nobody."""
        if self.remaining() <= 0:
            raise LeadershipLost(self.election, self.token)

    def remaining(self) -> float:
        """Seconds for which it is certain that nobody else leads; the term is usually renewed."""
        return 0.0 if self._over else max(0.0, (self._deadline_ms - self._clock()) / 1000)

    def __repr__(self) -> str:
        state = "over" if self.remaining() <= 0 else f"{self.remaining():.3f} s certain"
        return f"<Term {self.token} of {self.election}: {state}>"

    # --- what the node tells it, in its own thread ---

    def last(self, deadline_ms: float) -> None:
        """A majority has agreed that it lasts until then."""
        self._deadline_ms = deadline_ms

    def end(self) -> None:
        """It is over."""
        self._over = True
        self.ask_to_end()

    def abandon_after(self, grace_ms: float) -> None:
        """Say so if the work goes on though it should have ended that long ago."""
        if self._over and not self.abandoned and self.is_overdue(grace_ms):
            self.abandoned = True
            log.warning("term %d of %s is over, but its work goes on", self.token, self.election)

    def overdue_at_ms(self, grace_ms: float) -> float:
        """When the work was asked to end that long ago; never, unless it was."""
        return self._asked_ms + grace_ms

    def is_overdue(self, grace_ms: float) -> bool:
        """Whether the work goes on though it was asked to end that long ago."""
        return not self._finished and self._clock() >= self.overdue_at_ms(grace_ms)

    def ask_to_end(self) -> None:
        """The work has to end: sets `lost`, or cancels the body. The term goes on meanwhile."""
        with self._lock:
            first = not self.lost.is_set()
            if first:
                self._asked_ms = self._clock()
            self.lost.set()
            if first and self._cancel is not None:
                self._cancel()

    # --- how the application holds it ---

    def finish(self) -> None:
        """The work has ended: the office may go to another. Nothing happens the second time."""
        with self._lock:
            if self._finished:
                return
            self._finished, self._over, self._cancel = True, True, None
        self.lost.set()
        self._granted.finished(self)

    def __enter__(self) -> Self:
        with suppress(RuntimeError):  # There is no loop: this is a thread, as it should be.
            asyncio.get_running_loop()
            raise TypeError("say `async with term`: otherwise nothing could cancel the work")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.finish()
        return self._is_loss(error)

    async def __aenter__(self) -> Self:
        self._guard()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.finish()
        return self._unguard(error)

    def _guard(self) -> None:
        """Cancel what the running task does from here on, once the work has to end."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()

        def cancel() -> None:
            with suppress(RuntimeError):  # The loop may be closed.
                loop.call_soon_threadsafe(self._cancel_body)

        with self._lock:
            self._cancel = cancel
            if self.lost.is_set():
                cancel()

    def _unguard(self, error: BaseException | None) -> bool:
        """Cancel nothing any more; whether it was the end of the term that has ended the work."""
        with self._lock:
            self._cancel = None
        task, self._task = self._task, None
        is_ours = self._cancelled and task is not None
        self._cancelled = False
        if is_ours and task is not None:
            # Somebody else may have cancelled the task as well: then it is still to end.
            is_ours = task.uncancel() <= self._cancelling
        return self._is_loss(error) or (is_ours and isinstance(error, asyncio.CancelledError))

    def _is_loss(self, error: BaseException | None) -> bool:
        """Whether this says that this very term is over, which ends its block and nothing else."""
        own = (self.election, self.token)
        return isinstance(error, LeadershipLost) and (error.election, error.token) == own

    def _cancel_body(self) -> None:
        if self._task is not None and not self._finished:
            self._cancelled = True
            self._task.cancel(f"term {self.token} of {self.election} has to end")
