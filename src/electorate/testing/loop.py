"""An event loop that spends no time: when nothing is left to do, the clock moves on.

Everything that runs in it belongs to a process, or to the test itself. So a process can be made to
stand still, or to end, with all of its tasks at once, and each can have a clock of its own.
"""

import asyncio
import contextvars
import heapq
import inspect
import math
import sys
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Executor
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from electorate.errors import ElectorateError
from electorate.testing.process import (
    CURRENT,
    Handle,
    MachineClock,
    Process,
    TimerHandle,
    process_of,
)

CALLS_MAX = 200_000
"""So many callbacks at one moment of simulated time mean that a task spins."""
CLOSES_MAX = 100

HERE = Path(__file__).parent
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class Stuck(ElectorateError):
    """The test waits for something that never comes."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs until what it was given is done, or nothing can happen any more."""

    def __init__(self, limit_s: float) -> None:
        self.now = 0.0
        """The true time, in seconds."""
        self._limit_s = limit_s
        self._ready: deque[Handle | TimerHandle] = deque()
        self._timers: list[tuple[float, int, TimerHandle]] = []
        self._numbers = count()
        self._failure: BaseException | None = None
        self._closed = self._running = False
        self._tasks: dict[asyncio.Task[Any], Process | None] = {}
        self._generators: weakref.WeakSet[AsyncGenerator[Any, Any]] = weakref.WeakSet()
        self._clock = MachineClock()
        self._world = contextvars.Context()

    # --- what asyncio asks of a loop ---

    def time(self) -> float:
        """The time by the clock of the running process."""
        return self._clock_of(CURRENT.get()).at(self.now)

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Run this next."""
        self._expect_open()
        handle = Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """The same: there is one thread."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run this after so many seconds, by the clock of its process."""
        process = process_of(context)
        return self.call_at(
            self._clock_of(process).at(self.now) + delay, callback, *args, context=context
        )

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run this when the clock of its process shows that time."""
        self._expect_open()
        handle = TimerHandle(when, callback, args, self, context)
        due = max(self.now, self._clock_of(handle.process).when(when))
        heapq.heappush(self._timers, (due, next(self._numbers), handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Any, *, name: str | None = None, context: Any = None, **given: Any
    ) -> asyncio.Task[Any]:
        """A task of the running process."""
        task = asyncio.Task(coro, loop=self, name=name, context=context, **given)
        self._tasks[task] = process_of(context)
        task.add_done_callback(self._forget)
        return task

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], R], *args: *Ts
    ) -> asyncio.Future[R]:
        """There are no threads: run it at once."""
        future: asyncio.Future[R] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def get_debug(self) -> bool:
        """Does nothing: nobody looks for slow callbacks here."""
        return False

    def set_debug(self, enabled: bool) -> None:
        """Does nothing: there is no debug mode."""

    def is_running(self) -> bool:
        """Whether callbacks are being run."""
        return self._running

    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Forget what was still to do."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """An error that nobody else would ever see ends the run."""
        error = context.get("exception")
        self.fail(error if error is not None else RuntimeError(context.get("message")))

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """The same."""
        self.call_exception_handler(context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Pass over it when its time comes."""

    # --- processes ---

    def call_in_world(
        self, at: float, callback: Callable[..., object], *args: Any
    ) -> asyncio.TimerHandle:
        """Run this at that true time, whatever happens to the process that asks for it."""
        return self.call_at(at, callback, *args, context=self._world)

    def unpark(self, process: Process, *, application_first: bool = False) -> None:
        """Run now what has waited while the process stood still.

        An application and the network of its node are two threads: either may be the first.
        """
        if application_first:
            process.parked.sort(key=lambda handle: not handle.is_application)
        self._ready.extend(process.parked)
        process.parked.clear()

    def reset_timers(self) -> None:
        """A clock runs differently from now on."""
        self._timers = [
            (max(self.now, self._clock_of(handle.process).when(handle.when())), number, handle)
            for _, number, handle in self._timers
            if not handle.cancelled()
        ]
        heapq.heapify(self._timers)

    def fail(self, error: BaseException) -> None:
        """End the run with this error; only the first one counts."""
        if self._failure is None:
            self._failure = error

    # --- running ---

    def run(
        self,
        first: Callable[[], None],
        main: Coroutine[Any, Any, R],
        last: Callable[[], None],
        begun: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> R:
        """Run this to its end once it has begun, then end whatever else is running, and close."""
        __tracebackhide__ = True
        asyncio._set_running_loop(self)
        before = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._generators.add, finalizer=self._finalize)
        self._running = True
        try:
            first()
            if begun is not None:
                self._begin(begun(), main)
            task: asyncio.Task[R] = self.create_task(main, name="test")
            self._run_until(task)
            return task.result()
        finally:
            last()
            self._dispose()
            self._running = False
            sys.set_asyncgen_hooks(*before)
            asyncio._set_running_loop(None)
            self.close()

    def _begin(self, begun: Coroutine[Any, Any, None], main: Coroutine[Any, Any, Any]) -> None:
        beginning = self.create_task(begun, name="beginning")
        try:
            self._run_until(beginning)
            beginning.result()
        except BaseException:
            main.close()
            raise

    def _run_until(self, task: asyncio.Task[Any]) -> None:
        __tracebackhide__ = True
        calls = 0
        while not task.done():
            if self._failure is not None:
                raise self._failure
            if not self._ready:
                self._advance(task)
                calls = 0
            calls += 1
            if calls > CALLS_MAX:
                raise Stuck(f"some task never waits, at {self.now:.3f} s; {_where(task)}")
            self._run_one()
        if self._failure is not None:
            raise self._failure

    def _advance(self, task: asyncio.Task[Any]) -> None:
        """Move on to the next moment at which something happens."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers or self._timers[0][0] == math.inf:
            raise Stuck(f"nothing will ever happen again; {_where(task)}")
        self.now = max(self.now, self._timers[0][0])
        if self.now > self._limit_s:
            raise Stuck(f"{self._limit_s:g} s of simulated time are over; {_where(task)}")
        while self._timers and self._timers[0][0] <= self.now:
            self._ready.append(heapq.heappop(self._timers)[2])

    def _run_one(self) -> None:
        handle = self._ready.popleft()
        if handle.cancelled():
            return
        process = handle.process
        if process is None or not (process.dead or process.paused):
            handle._run()
        elif not process.dead:
            process.parked.append(handle)

    def _dispose(self) -> None:
        """End all tasks: cancel those of live processes, and drop those of dead ones.

        What live processes do in their last moments happens at once, and cannot fail the test any
        more.
        """
        living = [task for task, owner in self._tasks.items() if not (owner and owner.dead)]
        for process in {owner for owner in self._tasks.values() if owner is not None}:
            process.paused = False
            self.unpark(process)
        for task in living:
            task.cancel()
        for _ in range(CALLS_MAX):
            if not self._ready:
                if all(task.done() for task in living) or not self._timers:
                    break
                self.now = max(self.now, self._timers[0][0])
                self._ready.append(heapq.heappop(self._timers)[2])
            self._run_one()
        for process in {owner for owner in self._tasks.values() if owner is not None}:
            process.dead = True
        for task in list(self._tasks):
            _close(task)
        self._tasks.clear()

    def _finalize(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Close a generator that nobody iterates over any more."""
        self._generators.discard(generator)
        if not self._closed:
            self.create_task(generator.aclose())

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)

    def _clock_of(self, process: Process | None) -> MachineClock:
        return self._clock if process is None else process.clock

    def _expect_open(self) -> None:
        if self._closed:
            raise RuntimeError("the simulated cluster has ended")


def _where(task: asyncio.Task[Any]) -> str:
    """Where in its code the test waits, below what the cluster does around it."""
    waiting: Any = task.get_coro()
    while _is_ours(waiting) and inspect.iscoroutine(waiting.cr_await):
        waiting = waiting.cr_await
    frame = waiting.cr_frame
    if frame is not None:
        code = frame.f_code
        return f"the test waits in {code.co_name} ({code.co_filename}:{frame.f_lineno})"
    return "the test has ended"


def _is_ours(coroutine: Any) -> bool:
    return Path(coroutine.cr_code.co_filename).parent == HERE


def _close(task: asyncio.Task[Any]) -> None:
    """Drop a task that will never run again, without a warning."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    coroutine: Any = task.get_coro()
    for _ in range(CLOSES_MAX):
        try:
            coroutine.close()
            return
        except Exception:  # It waits for something in its last moments: so it is told again.
            continue
