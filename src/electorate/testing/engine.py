"""A node of a simulated cluster, as the interface of applications drives it."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from electorate.errors import NodeStopped
from electorate.leadership.candidacy import Safety
from electorate.leadership.engine import Engine
from electorate.leadership.office import Seat
from electorate.pace import Pace
from electorate.testing.life import Life

STEP_S = 0.005


class SimulatedEngine(Engine):
    """One life of a node."""

    life: Life

    def __init__(self, name: str, names: tuple[str, ...], pace: Pace, *, join: bool) -> None:
        where = {each: f"{each}@simulated:{port}" for port, each in enumerate(names, 1)}
        super().__init__(where[name], where.values(), pace, join=join)
        self.ended = False

    async def begin(self) -> None:
        """Wait until the others were reached or proved unreachable."""
        await self.offices.lived.wait()
        self.expect_running()

    async def end(self) -> None:
        """Stand nowhere any more, give work the time to end, and stop."""
        self.expect_running()
        self.pause(True)
        deadline = self.offices.now_ms() + self.pace.grace_ms
        await asyncio.sleep(STEP_S)
        while self.is_busy and self.offices.now_ms() < deadline:
            await asyncio.sleep(STEP_S)
        await self.life.end()
        self.ended = True

    @property
    def running(self) -> bool:
        """Whether it was neither stopped nor has crashed."""
        return not self.ended and not self.life.process.dead

    def expect_running(self) -> None:
        """NodeStopped if it was stopped or has crashed."""
        if not self.running:
            raise NodeStopped("the node has stopped")

    def do(self, act: Callable[..., None], *given: object) -> None:
        """Have something done in the node's process, once that does not stand still."""
        self.expect_running()
        self.offices.enter(act, *given)

    def submit(self, act: Callable[[], Coroutine[Any, Any, None]]) -> "Future[None]":
        """Have something awaited in the node's process."""
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

        self.life.call(begin)
        return done

    def office(self, name: str, safety: Safety) -> Seat:
        """The election of that name; ValueError if it is of another kind."""
        self.expect_running()
        found: list[Seat] = []

        def find() -> None:
            found.append(self.offices.named(name, safety))

        self.life.process.context.copy().run(self.life.commit.run, find)
        return found[0]
