"""A term of office: as the node holds it, and as the application holds it in its hands."""

import asyncio
import inspect
import logging
import math
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from electorate.errors import LeadershipLost
from electorate.runtime.tcp import now_ms

log = logging.getLogger("electorate")


class Granted(Protocol):
    """The election that has granted a term; it wants to know when the work in it has ended."""

    def finished(self, tenure: "Tenure") -> None:
        """The work has ended; called in any thread."""


class Forming(Granted, Protocol):
    """The election that has formed the group of a term."""

    def reconciled(self, tenure: "GroupTenure") -> None:
        """The nodes that came from other groups were dealt with; called in any thread."""


class Tenure:
    """A term as the node holds it.

    Everything that changes a term is here; `term` only shows it.
    """

    def __init__(
        self,
        election: str,
        token: int,
        granted: Granted,
        deadline_ms: float,
        clock: Callable[[], float] = now_ms,
        members: tuple[str, ...] = (),
        ask_voters: Callable[["Tenure"], None] | None = None,
    ) -> None:
        self.election = election
        self.token = token
        self.members = members
        self.lost = threading.Event()
        self.abandoned = False
        self.term = self._shown()
        """The term as the application sees it."""
        self._granted = granted
        self._ask_voters = ask_voters
        """Asks all voters to grant it anew; called in any thread. None if nobody grants it."""
        self._clock = clock
        self._deadline_ms = deadline_ms
        self._asked_ms = math.inf
        self._over = False
        self._finished = False
        self._doubt: Future[None] | None = None
        """Done once a majority has confirmed a term that is doubted."""
        self._to_confirm: list[Future[None]] = []
        """Those that want the term confirmed, and have not been asked for yet."""
        self._confirming: list[Future[None]] = []
        """Those for which voters have been asked."""
        self._lock = threading.Lock()
        self._cancel: Callable[[], None] | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._cancelled = False

    def _shown(self) -> "Term":
        return Term(self)

    def __repr__(self) -> str:
        return repr(self.term)

    def remaining(self) -> float:
        """Seconds for which it is certain that nobody else leads."""
        if self._over or self._doubt is not None:
            return 0.0
        return max(0.0, (self._deadline_ms - self._clock()) / 1000)

    # --- what the node tells it, in its own thread ---

    def last(self, deadline_ms: float) -> None:
        """A majority has agreed that it lasts until then."""
        self._deadline_ms = deadline_ms

    def end(self) -> None:
        """It is over."""
        self._over = True
        self._deny()
        self.ask_to_end()

    def doubt(self) -> None:
        """The clock may have stood still: nothing is certain until a majority has confirmed it."""
        with self._lock:
            doubt = self._doubt = Future()
            self._to_confirm.append(doubt)
        doubt.add_done_callback(self._reassured)

    def _reassured(self, doubt: "Future[None]") -> None:
        if self._doubt is doubt and doubt.exception() is None:
            self._doubt = None

    def begin_to_confirm(self) -> bool:
        """Voters are about to be asked for all that want it; returns whether there are any.

        Those that come meanwhile wait for the next time: an answer must not be older than a call.
        """
        with self._lock:
            if self._confirming or not self._to_confirm:
                return False
            self._confirming, self._to_confirm = self._to_confirm, []
        return True

    def confirmed(self) -> bool:
        """A majority has granted it anew since they were asked; returns whether others wait."""
        with self._lock:
            confirmed, self._confirming = self._confirming, []
        for future in confirmed:
            if future.set_running_or_notify_cancel():
                future.set_result(None)
        return bool(self._to_confirm)

    def _deny(self) -> None:
        with self._lock:
            denied = [*self._confirming, *self._to_confirm]
            self._confirming, self._to_confirm = [], []
        for future in denied:
            if future.set_running_or_notify_cancel():
                future.set_exception(LeadershipLost(self.election, self.token))

    def abandon_after(self, grace_ms: float) -> None:
        """Log it if the work goes on that long after it should have ended."""
        if self._over and not self.abandoned and self.is_overdue(grace_ms):
            self.abandoned = True
            log.warning("term %d of %s is over, but its work goes on", self.token, self.election)

    def overdue_at_ms(self, grace_ms: float) -> float:
        """When the work will have been asked to end that long ago; infinite if it was not."""
        return self._asked_ms + grace_ms

    def is_overdue(self, grace_ms: float) -> bool:
        """Whether the work goes on that long after it was asked to end."""
        return not self._finished and self._clock() >= self.overdue_at_ms(grace_ms)

    # --- what either side tells it ---

    def ask_to_end(self) -> None:
        """The work has to end: sets `lost`, or cancels the body. The term goes on meanwhile."""
        with self._lock:
            first = not self.lost.is_set()
            if first:
                self._asked_ms = self._clock()
            self.lost.set()
            if first and self._cancel is not None:
                self._cancel()

    def finish(self) -> None:
        """The work has ended: the office may go to another. Nothing happens the second time."""
        with self._lock:
            if self._finished:
                return
            self._finished, self._over, self._cancel = True, True, None
        self.lost.set()
        self._deny()
        self._granted.finished(self)

    def confirm(self) -> "Future[None]":
        """Done once a majority has granted the term anew; LeadershipLost if it is over before."""
        if self._ask_voters is None:
            raise ValueError(
                f"a term of {self.election} cannot be confirmed: it is of a group, and on the "
                "other side of a partition there may be another one"
            )
        future: Future[None] = Future()
        with self._lock:
            is_over = self._over
            if not is_over:
                self._to_confirm.append(future)
        if is_over:
            future.set_exception(LeadershipLost(self.election, self.token))
        else:
            self._ask_voters(self)
        return future

    # --- the work of an application with asyncio ---

    async def reconcile(self, hook: "OnMerge | None") -> bool:
        """Have the application deal with the newcomers; False if the term is over before that."""
        return True

    def guard(self) -> None:
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

    def unguard(self, error: BaseException | None) -> bool:
        """Cancel nothing any more; returns whether the end of the term has ended the work."""
        with self._lock:
            self._cancel = None
        task, self._task = self._task, None
        is_ours = self._cancelled and task is not None
        self._cancelled = False
        if is_ours and task is not None:
            # Somebody else may have cancelled the task as well: then it is still to end.
            is_ours = task.uncancel() <= self._cancelling
        return self.is_loss(error) or (is_ours and isinstance(error, asyncio.CancelledError))

    def is_loss(self, error: BaseException | None) -> bool:
        """Whether this error says that this very term is over: that ends its block only."""
        own = (self.election, self.token)
        return isinstance(error, LeadershipLost) and (error.election, error.token) == own

    def _cancel_body(self) -> None:
        if self._task is not None and not self._finished:
            self._cancelled = True
            self._task.cancel(f"term {self.token} of {self.election} has to end")


class GroupTenure(Tenure):
    """The term of a group as the node holds it."""

    term: "GroupTerm"

    def __init__(
        self,
        election: str,
        token: int,
        forming: Forming,
        clock: Callable[[], float],
        members: tuple[str, ...],
        others: dict[str, str],
    ) -> None:
        self.others = others
        super().__init__(election, token, forming, math.inf, clock, members)
        self._forming = forming

    def _shown(self) -> "GroupTerm":
        return GroupTerm(self)

    async def reconcile(self, hook: "OnMerge | None") -> bool:
        """Have the application deal with the newcomers; False if the group is over before that."""
        if hook is not None and self.others:
            self.guard()
            try:
                answer = hook(self.term, dict(self.others))
                if inspect.isawaitable(answer):
                    await answer
            except BaseException as error:
                self.finish()
                if self.unguard(error):
                    return False
                raise
            self.unguard(None)
        if self.lost.is_set():
            self.finish()
            return False
        self._forming.reconciled(self)
        return True


class Term:
    """From when this node is elected until it steps down or the term cannot be proved any more.

    `token` is larger than that of every term before, in the whole cluster. Send it along with all
    that you write: a store that keeps it, in 64 bits, can refuse what comes late, as those of
    `electorate.fence` do. The terms of an election with
    `safety="group"` promise less: see `GroupTerm`.
    """

    __slots__ = ("__weakref__", "_tenure")

    def __init__(self, tenure: Tenure) -> None:
        self._tenure = tenure

    @property
    def election(self) -> str:
        """The name of the election."""
        return self._tenure.election

    @property
    def token(self) -> int:
        """The number of this term: larger than that of every term before.

        It takes 64 bits (a `bigint`): tokens grow by a billion with every change of members.
        """
        return self._tenure.token

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the members that are led, this node's own among them."""
        return self._tenure.members

    @property
    def lost(self) -> threading.Event:
        """Set when the work has to end: the term is over, or someone else will take office."""
        return self._tenure.lost

    @property
    def abandoned(self) -> bool:
        """Whether the work goes on though the term is over and all grace has passed."""
        return self._tenure.abandoned

    def check(self) -> None:
        """Raise LeadershipLost unless it is certain that nobody else leads. Asks nobody."""
        if self.remaining() <= 0:
            raise LeadershipLost(self.election, self.token)

    def remaining(self) -> float:
        """Seconds for which it is certain that nobody else leads; the term is usually renewed."""
        return self._tenure.remaining()

    async def confirm(self, timeout: float | None = None) -> None:
        """Ask a majority whether this term still holds. Costs one round trip.

        Returns once a majority has granted it anew, each after this call: so at some moment of the
        call nobody else led, whatever the clock of this machine says. LeadershipLost if the term is
        over before that: at the latest when nobody has answered for as long as a term lasts.
        TimeoutError if it takes longer than so many seconds; the term may hold nevertheless.
        """
        confirmed = self._tenure.confirm()
        try:
            async with asyncio.timeout(timeout) as limit:
                await asyncio.wrap_future(confirmed)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"{self._unconfirmed} after {timeout:g} s") from None

    @property
    def _unconfirmed(self) -> str:
        return f"no majority has confirmed term {self.token} of {self.election}"

    def ask_to_end(self) -> None:
        """The work has to end: sets `lost`, or cancels the body. The term goes on meanwhile."""
        self._tenure.ask_to_end()

    def finish(self) -> None:
        """The work has ended: the office may go to another. Nothing happens the second time."""
        self._tenure.finish()

    def __repr__(self) -> str:
        state = "over" if self.remaining() <= 0 else f"{self.remaining():.3f} s certain"
        return f"<Term {self.token} of {self.election}: {state}>"

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
        return self._tenure.is_loss(error)

    async def __aenter__(self) -> Self:
        self._tenure.guard()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.finish()
        return self._tenure.unguard(error)


class GroupTerm(Term):
    """From when a group is complete until a node joins or leaves it, or it merges with another one.

    On the other side of a partition there may be another term of this election at the same time. So
    `token` fences nothing: it counts the groups that this node has formed, and only together with
    the name of this node it is unique. `check()` raises once this node knows that the group is
    over; nothing runs out before that, and `remaining()` has no end.
    """

    __slots__ = ()
    _tenure: GroupTenure

    @property
    def others(self) -> dict[str, str]:
        """The members that were in another group before, and the leader of each such group."""
        return dict(self._tenure.others)

    def __repr__(self) -> str:
        state = "over" if self.remaining() <= 0 else f"leads {', '.join(self.members)}"
        return f"<GroupTerm {self.token} of {self.election}: {state}>"


OnMerge = Callable[[GroupTerm, dict[str, str]], Awaitable[object] | object]
"""Called with the term of a merged group, and the members that came from each other leader's
group."""
