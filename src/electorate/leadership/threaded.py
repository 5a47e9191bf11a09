"""A node on the network, in a thread of its own: a blocked application costs it no office."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from electorate.errors import NodeStopped
from electorate.leadership.candidacy import Safety
from electorate.leadership.engine import Engine, Leader, host_config
from electorate.leadership.office import Seat
from electorate.leadership.term import Term
from electorate.pace import Pace
from electorate.runtime.host import Host
from electorate.runtime.recorder import record_file
from electorate.runtime.thread import HostThread

GRACE_S = 0.5


class ThreadEngine(Engine):
    """Starts, stops and speaks to a node from any other thread."""

    def __init__(
        self,
        me: str,
        members: Iterable[str],
        data_dir: Path | str,
        pace: Pace | None,
        *,
        join: bool = False,
        record: Path | str | None = None,
    ) -> None:
        super().__init__(me, members, pace, join=join)
        file = None if record is None else record_file(Path(record), self.me.name)
        config = host_config(self.me.id, self.places, self.pace, Path(data_dir), file)
        self._thread = HostThread(Host(config, [self.offices], self.offices))
        self._thread.on_end = self._ended
        self.offices.call = self._thread.call
        self._waits: set[concurrent.futures.Future[Any]] = set()
        self._observers: list[Callable[[Leader], None]] = []

    async def begin(self) -> None:
        """Start, and wait until the others were reached or proved unreachable."""
        await self._thread.begin(self.start)

    async def end(self) -> None:
        """Stand nowhere any more, give work the time to end, and stop."""
        await asyncio.to_thread(self.stop)

    def start(self) -> None:
        """The same for a thread that can wait."""
        self._thread.start()
        try:
            self._thread.submit(self.offices.lived.wait()).result()
        except NodeStopped:
            self._thread.ended.wait()  # What has ended it is said below.
        except KeyboardInterrupt:
            self._thread.stop()
            raise
        self.expect_running()

    def stop(self) -> None:
        """The same for a thread that can wait."""
        try:
            with suppress(NodeStopped):
                self.pause(True)
                self._await_end_of_work()
        finally:
            self._thread.stop()
        if self._thread.error is not None:
            raise self._thread.error
        self.offices.membership.expect_member()

    def expect_running(self) -> None:
        """Raise what has ended the node, if something has."""
        if self._thread.ended.is_set():
            raise self._thread.error or NodeStopped("the node has stopped")

    def do(self, act: Callable[..., None], *given: object) -> None:
        """Have something done in the node's thread."""
        if not self._thread.has_begun:
            raise NodeStopped(f"{self.me.name} is not started: use it inside of `with`")
        if self._thread.ended.is_set():
            raise self._stopped()
        self.offices.enter(act, *given)

    def office(self, name: str, safety: Safety) -> Seat:
        """The election of that name; ValueError if it is of another kind."""
        made: concurrent.futures.Future[Seat] = concurrent.futures.Future()

        def open_it() -> None:
            try:
                made.set_result(self.offices.named(name, safety))
            except ValueError as error:
                made.set_exception(error)

        self.do(open_it)
        while True:
            try:
                return made.result(0.1)
            except concurrent.futures.TimeoutError:
                self.expect_running()

    def wait(self, office: Seat) -> "concurrent.futures.Future[Term]":
        """A term, once there is one; NodeStopped if the node ends before."""
        future: concurrent.futures.Future[Term] = concurrent.futures.Future()
        self.do(office.wait, future)
        self._expect(future)
        return future

    def observe(self, office: Seat, tell: Callable[[Leader], None]) -> Callable[[], None]:
        """Tell who leads, and once more when the node has ended; returns how to end that."""
        end = super().observe(office, tell)
        self._observers.append(tell)
        if self._thread.ended.is_set():
            tell(Leader(None, None))

        def forget() -> None:
            self._observers.remove(tell)
            end()

        return forget

    def submit(
        self, act: Callable[[], Coroutine[Any, Any, None]]
    ) -> "concurrent.futures.Future[None]":
        """Have something awaited in the node's loop; NodeStopped if it has ended."""
        asked: concurrent.futures.Future[None] = concurrent.futures.Future()

        async def carry_out() -> None:
            try:
                await act()
            except Exception as error:
                with suppress(concurrent.futures.InvalidStateError):  # It was cancelled just now.
                    asked.set_exception(error)
            else:
                with suppress(concurrent.futures.InvalidStateError):
                    asked.set_result(None)

        try:
            errand = self._thread.submit(carry_out())
        except NodeStopped as error:
            raise NodeStopped(str(error)) from None
        self._expect(asked)
        asked.add_done_callback(lambda _: errand.cancel() if asked.cancelled() else None)
        return asked

    def _expect(self, future: "concurrent.futures.Future[Any]") -> None:
        """Have it fail with NodeStopped if the node ends before."""
        self._waits.add(future)
        future.add_done_callback(self._waits.discard)
        if self._thread.ended.is_set():
            self._fail_waits()

    def _ended(self) -> None:
        self._fail_waits()
        for tell in list(self._observers):
            tell(Leader(None, None))

    def _stopped(self) -> NodeStopped:
        """That there is no node any more, and why."""
        why = self._thread.error
        error = NodeStopped(
            "the node has stopped" if why is None else f"the node has stopped: {why}"
        )
        error.__cause__ = why
        return error

    def _fail_waits(self) -> None:
        """What was asked for while the node was ending has been heard by nobody."""
        error = self._stopped()
        for future in list(self._waits):
            with suppress(concurrent.futures.InvalidStateError):
                future.set_exception(error)

    def _await_end_of_work(self) -> None:
        """Wait until no work is left and the others have been told, but not for ever."""
        ended = threading.Event()
        deadline = self.offices.now_ms() + self.pace.grace_ms

        def look() -> None:
            if not self.is_busy:
                ended.set()

        while self.offices.now_ms() < deadline and not self._thread.ended.is_set():
            self.do(look)
            if ended.wait(0.005):
                # What was said last is still on its way.
                with suppress(NodeStopped, concurrent.futures.TimeoutError):
                    self._thread.submit(self.offices.host.network.flushed()).result(GRACE_S)
                return
