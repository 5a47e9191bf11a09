"""A node of a simulated cluster, as the interface of applications drives it."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from electorate.errors import NodeStopped
from electorate.leadership.directory import MemberAddress
from electorate.leadership.election import ElectionInstance
from electorate.leadership.elections import Safety
from electorate.leadership.engine import NodeEngine, host_config
from electorate.pace import Pace, in_ms
from electorate.runtime.environment import Environment
from electorate.runtime.host import Host
from electorate.testing.process import Process

STEP_S = 0.005


class SimulatedEngine(NodeEngine):
    """Runs its host in a simulated process instead of a thread."""

    def __init__(
        self,
        me: str,
        members: list[str],
        pace: Pace,
        process: Process,
        environment: Environment,
        *,
        join: bool,
    ) -> None:
        super().__init__(me, members, pace, join=join)
        config = host_config(self.me.id, self.addresses, pace, Path())
        self.host = Host(config, [self.elections], self.elections, environment)
        self.process = process
        self.elections.call = self.call
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None]

    def start(self, on_end: Callable[[BaseException | None], None]) -> None:
        """Begin; raises at the end what has ended the node, unless it was told to stop."""

        def ended(running: "asyncio.Task[None]") -> None:
            on_end(None if running.cancelled() else running.exception())

        def run() -> None:
            self.host.begin()
            self._running = asyncio.get_running_loop().create_task(self.host.run(self._stopping))
            self._running.add_done_callback(ended)

        self.process.context.run(run)

    async def begin(self) -> None:
        """Wait until the others were reached or proved unreachable."""
        await self.elections.begun()
        self.expect_running()

    async def end(self) -> None:
        """Stand nowhere any more, give work the time to end, and stop."""
        self.expect_running()
        self.pause(True)
        deadline = self.host.now_ms() + in_ms(self.pace.grace)
        await asyncio.sleep(STEP_S)
        while self.is_busy and self.host.now_ms() < deadline:
            await asyncio.sleep(STEP_S)
        await self.host.network.flushed()
        self._stopping.set()
        await asyncio.wait([self._running])

    @property
    def running(self) -> bool:
        """Whether it was neither stopped nor has crashed."""
        return not self._running.done() and not self.process.dead

    def expect_running(self) -> None:
        """NodeStopped if it was stopped or has crashed."""
        if not self.running:
            raise NodeStopped("the node has stopped")

    def expect_allowed(self, member: MemberAddress) -> None:
        """Every address is in the simulated network."""

    def call(self, act: Callable[..., object], *given: Any) -> None:
        """Run this in the node's process."""
        self._running.get_loop().call_soon(act, *given, context=self.process.context)

    def do(self, act: Callable[..., None], *given: object) -> None:
        """Run this in the node's process, once that does not stand still."""
        self.expect_running()
        self.elections.enter(act, *given)

    def submit(self, act: Callable[[], Coroutine[Any, Any, None]]) -> "Future[None]":
        """Await this in the node's process."""
        self.expect_running()
        done: Future[None] = Future()

        async def settle() -> None:
            try:
                await act()
                done.set_result(None)
            except Exception as error:
                done.set_exception(error)

        def begin() -> None:
            errand = asyncio.ensure_future(settle())
            done.add_done_callback(lambda _: errand.cancel() if done.cancelled() else None)

        self.call(begin)
        return done

    def election(self, name: str, safety: Safety) -> ElectionInstance:
        """The election of that name; ValueError if it is of another kind."""
        self.expect_running()
        found: list[ElectionInstance] = []

        def find() -> None:
            found.append(self.elections.named(name, safety))

        self.process.context.copy().run(self.host.commit.run, find)
        return found[0]
