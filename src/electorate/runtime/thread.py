"""A host in a thread of its own, so that a blocked application costs it nothing."""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from electorate.core import Machine, Standing
from electorate.errors import NodeStopped
from electorate.runtime.config import NodeConfig
from electorate.runtime.environment import Environment
from electorate.runtime.host import Host
from electorate.runtime.node import ProtocolNode

R = TypeVar("R")


class HostThread:
    """Starts, stops and speaks to a host from any other thread."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.error: Exception | None = None
        self.ended = threading.Event()
        self.on_end: Callable[[], None] = lambda: None
        """Called in the node's thread when `ended` is set."""
        self._ready = threading.Event()
        self._has_opened = False
        """Whether the saved data could be opened."""
        self._asked: dict[concurrent.futures.Future[Any], Coroutine[Any, Any, Any]] = {}
        """What the loop has not done yet."""
        self._thread = threading.Thread(target=self._run, name=f"node-{host.me}", daemon=True)

    def start(self) -> None:
        """Begin; StoreError or OSError if what the host has saved cannot be opened.

        An address that cannot be used shows as an error soon after.
        """
        self._thread.start()
        self._ready.wait()
        if not self._has_opened and self.error is not None:
            self._thread.join()
            raise self.error

    @property
    def has_begun(self) -> bool:
        """Whether the thread runs, or has run."""
        return self._ready.is_set()

    def stop(self) -> None:
        """End the node in an orderly way and wait for it."""
        if not self._ready.is_set():
            self.host.close()
            return
        self.call(self._stopping.set)
        self._thread.join()

    async def begin(self, start: Callable[[], None]) -> None:
        """Start in another thread; if that is cancelled, nothing is left behind."""
        starting = asyncio.ensure_future(asyncio.to_thread(start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Who has not entered does not leave: nobody else will stop it.
            await asyncio.to_thread(self._abandon)
            await asyncio.gather(starting, return_exceptions=True)
            raise

    def _abandon(self) -> None:
        self._ready.wait()
        self.stop()

    def call(self, act: Callable[..., object], *given: Any) -> None:
        """Run this in the node's thread; nothing happens once it has ended."""
        with contextlib.suppress(RuntimeError):  # The loop may close at any moment.
            self._loop.call_soon_threadsafe(act, *given)

    def submit(self, act: Coroutine[Any, Any, R]) -> "concurrent.futures.Future[R]":
        """Await this in the node's loop; NodeStopped, here or there, if the loop ends before."""
        if self._ready.is_set() and not self.ended.is_set():
            with contextlib.suppress(RuntimeError):  # The loop may close at any moment.
                asked = asyncio.run_coroutine_threadsafe(act, self._loop)
                self._asked[asked] = act
                asked.add_done_callback(self._asked.pop)
                if self.ended.is_set():
                    self._give_up()
                return self._answer(asked)
            self.ended.wait()
        act.close()
        raise self._gone()

    def _answer(self, asked: "concurrent.futures.Future[R]") -> "concurrent.futures.Future[R]":
        """Its result. A loop that ends cancels what it has not done."""
        answer: concurrent.futures.Future[R] = concurrent.futures.Future()

        def tell(asked: "concurrent.futures.Future[R]") -> None:
            if not answer.set_running_or_notify_cancel():
                return
            error = self._gone() if asked.cancelled() else asked.exception()
            if error is None:
                answer.set_result(asked.result())
            else:
                answer.set_exception(error)

        answer.add_done_callback(lambda _: asked.cancel() if answer.cancelled() else None)
        asked.add_done_callback(tell)
        return answer

    def _gone(self) -> NodeStopped:
        return NodeStopped(f"the node does not run: {self.error or 'it was stopped'}")

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception as error:
            self.error = error
        finally:
            self._ready.set()
            self.ended.set()
            self._give_up()
            self.on_end()

    def _give_up(self) -> None:
        """A loop may accept work in its last moment, and never come to it."""
        for asked, act in list(self._asked.items()):
            asked.cancel()
            act.close()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        try:
            await self.host.run(self._stopping, self._opened)
        except Exception as error:
            self.error = error  # All that was asked is about to be cancelled, and wants to know.
            raise

    def _opened(self) -> None:
        self._has_opened = True
        self._ready.set()


class NodeThread(HostThread):
    """The same for a node of one protocol."""

    def __init__(
        self,
        config: NodeConfig,
        machine: Machine[Any],
        on_change: Callable[[Standing | None], None],
        environment: Environment | None = None,
    ) -> None:
        self.node = ProtocolNode(config, machine, on_change, environment)
        super().__init__(self.node)
