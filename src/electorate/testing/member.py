"""A member of a simulated cluster: a machine with a clock and a disk, and the process on it."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from electorate.core.turn import TrustedTurns
from electorate.leadership.directory import number
from electorate.node import Node
from electorate.pace import Pace
from electorate.testing.clock import Clock
from electorate.testing.engine import SimulatedEngine
from electorate.testing.life import Life
from electorate.testing.loop import VirtualLoop
from electorate.testing.network import Network
from electorate.testing.process import Process
from electorate.testing.store import MemoryStore

Program = Callable[..., Awaitable[object]]


class Member:
    """What survives its process: name, clock, disk, and what the process runs."""

    def __init__(self, name: str, loop: VirtualLoop, chance: random.Random) -> None:
        self.name = name
        self.id = number(name)
        self.joins = False
        """Whether it is started to join, and takes part once others have made it a member."""
        self.clock = Clock()
        self.store = MemoryStore(chance)
        self.process = Process(name, self.clock)
        self.process.dead = True  # Until it boots.
        self.node: Node
        self.life: Life
        self.programs: list[tuple[Program, tuple[Any, ...]]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = loop
        self._chance = chance

    @property
    def is_up(self) -> bool:
        """Whether its process exists; it may stand still."""
        return not self.process.dead

    @property
    def is_running(self) -> bool:
        """Whether its process exists and does not stand still."""
        return self.is_up and not self.process.paused

    def boot(
        self,
        names: tuple[str, ...],
        pace: Pace,
        network: Network,
        watch: Callable[[Life], None],
    ) -> None:
        """Begin a process, and in it whatever it runs."""
        self.process = Process(self.name, self.clock)
        engine = SimulatedEngine(self.name, names, pace, join=self.joins)
        # Real nodes verify some turns of the machine; a test of an application has no need to.
        engine.offices.machines.kind_of_turns = TrustedTurns
        self.life = engine.life = Life(
            self.process, engine.offices, engine.places, network, self.store, self._chance, watch
        )
        self.node = Node.of(engine)
        self._tasks = []
        self.process.context.run(self.life.begin)
        for program, given in self.programs:
            self.run(program, given)

    def run(self, program: Program, given: tuple[Any, ...]) -> None:
        """Run this in the process, with its node."""
        context = self.process.application.copy()
        name = f"{getattr(program, '__name__', 'program')} at {self.name}"
        task = self._loop.create_task(self._run(program, given), name=name, context=context)
        self._tasks.append(task)

    async def _run(self, program: Program, given: tuple[Any, ...]) -> None:
        await self.life.offices.lived.wait()
        try:
            await program(self.node, *given)
        except Exception as error:
            self._loop.fail(error)

    def go_on(self) -> None:
        """Do what has waited while the process stood still."""
        self.process.paused = False
        self._loop.unpark(self.process, application_first=self._chance.random() < 0.5)

    async def stop(self) -> None:
        """End the process as an orderly application does: first its work, then its node."""
        ending = self._loop.create_task(self._stop(), context=self.process.application.copy())
        await ending
        self.process.dead = True

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        await self.node.__aexit__()
