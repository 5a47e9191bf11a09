"""A member of a simulated cluster: a machine with a clock and a disk, and the process on it."""

import asyncio
import random
import sqlite3
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from electorate.core import NodeId
from electorate.core.turn import TrustedTurns
from electorate.errors import Removed
from electorate.leadership.directory import MemberAddress
from electorate.leadership.elections import Elections
from electorate.node import Node
from electorate.pace import Pace
from electorate.runtime.environment import Environment
from electorate.runtime.store import Store
from electorate.testing.engine import SimulatedEngine
from electorate.testing.loop import VirtualLoop
from electorate.testing.network import SimulatedNetwork, SimulatedTransport
from electorate.testing.process import MachineClock, Process

Program = Callable[..., Awaitable[object]]


class File:
    """A file of that disk, as one process has opened it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def execute(self, sql: str, values: Any = (), /) -> Iterable[Any]:
        """Run one statement."""
        return self._database.execute(sql, values)

    def close(self) -> None:
        """Close the file; it stays where it is."""


class Disk:
    """Keeps in memory what the store of a node would write to a file."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._files: dict[Path, sqlite3.Connection] = {}

    def open_store(self, folder: Path, node: NodeId) -> Store:
        """The store of a node, as a process finds it."""
        return Store(folder, node, self._open, lambda: f"{self._chance.getrandbits(128):032x}")

    def wipe(self) -> None:
        """Become a new disk: empty, and recognisable as another one."""
        for database in self._files.values():
            database.close()
        self._files.clear()

    def _open(self, path: Path) -> File:
        if path not in self._files:
            self._files[path] = sqlite3.connect(":memory:", isolation_level=None)
        return File(self._files[path])


class SimulatedMember:
    """What outlives a process: name, clock, disk, and what the process runs."""

    engine: SimulatedEngine
    node: Node

    def __init__(
        self, address: MemberAddress, seed: int, loop: VirtualLoop, network: SimulatedNetwork
    ) -> None:
        self.name = address.name
        self.id = address.id
        self.address = address
        self.joins = False
        """Whether it is started to join, and takes part once others have made it a member."""
        self.was_removed = False
        """Whether its process has ended because the others go on without it."""
        self.clock = MachineClock()
        self.disk = Disk(self._chance(seed, "disk"))
        self.machine = network.add(address.address, address.name)
        self.process = Process(self.name, self.clock)
        self.process.dead = True  # Until it boots.
        self.programs: list[tuple[Program, tuple[Any, ...]]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._seed = seed
        self._loop = loop
        self._network = network
        self._order = self._chance(seed, "who wakes first")

    def _chance(self, seed: int, purpose: str) -> random.Random:
        """The same numbers for the same purpose, whatever else is drawn."""
        return random.Random(f"{seed} {self.name} {purpose}")

    @property
    def elections(self) -> Elections:
        """The elections of its node."""
        return self.engine.elections

    @property
    def is_up(self) -> bool:
        """Whether its process exists; it may stand still."""
        return not self.process.dead

    @property
    def is_running(self) -> bool:
        """Whether its process exists and does not stand still."""
        return self.is_up and not self.process.paused

    def boot(
        self, members: list[str], pace: Pace, watch: Callable[["SimulatedMember"], None]
    ) -> None:
        """Begin a process, and in it all that it runs."""
        self.process = Process(self.name, self.clock)
        self.was_removed = False
        self._network.boot(self.machine)
        self.engine = SimulatedEngine(
            self.name, members, pace, self.process, self._environment(), join=self.joins
        )
        # Real nodes verify some turns of the machine; a test of an application has no need to.
        self.elections.machines.kind_of_turns = TrustedTurns
        self.engine.host.on_wake_up = lambda: watch(self)
        self.node = Node.of(self.engine)
        self._tasks = []
        self.engine.start(self._ended)
        for program, given in self.programs:
            self.run(program, given)

    def _environment(self) -> Environment:
        """The environment of a host that runs in the present process."""
        loop, clock, life = self._loop, self.clock, self.machine.lives
        return Environment(
            SimulatedTransport(self._network, self.machine, self.process),
            lambda: clock.at(loop.now) * 1000,
            lambda purpose: self._chance(self._seed, f"{purpose} in life {life}"),
            self.disk.open_store,
            lambda: clock.wall_at(loop.now) * 1000,
        )

    def _ended(self, error: BaseException | None) -> None:
        """The node has ended: the others go on without it, or the test has failed."""
        if isinstance(error, Removed):
            self.process.dead = self.was_removed = True
        elif error is not None:
            self._loop.fail(error)

    def run(self, program: Program, given: tuple[Any, ...]) -> None:
        """Run this in the process, with its node."""
        context = self.process.application.copy()
        name = f"{getattr(program, '__name__', 'program')} at {self.name}"
        task = self._loop.create_task(self._run(program, given), name=name, context=context)
        self._tasks.append(task)

    async def _run(self, program: Program, given: tuple[Any, ...]) -> None:
        await self.elections.lived.wait()
        try:
            await program(self.node, *given)
        except Exception as error:
            if self.engine.host.error is None:  # Otherwise that is what has ended the program.
                self._loop.fail(error)

    def crash(self) -> None:
        """End its process; the machine says nothing any more."""
        self.process.dead = True
        self._network.crash(self.machine)

    def go_on(self) -> None:
        """Run what has waited while the process stood still."""
        self.process.paused = self.machine.is_frozen = False
        self._loop.unpark(self.process, application_first=self._order.random() < 0.5)

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
