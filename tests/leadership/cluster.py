"""Nodes of a cluster in the test's own process, each with its thread."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from electorate import Election, Node
from electorate.leadership.directory import number
from electorate.leadership.engine import Leader
from electorate.leadership.term import Term
from electorate.pace import Pace
from electorate.protocols.mandate.founding import Needs
from tests.runtime.cluster import free_addresses

AnyCluster = TypeVar("AnyCluster", bound="Cluster")
PATIENCE_S = 20.0
PACE = Pace(grace=1.0, preempt_delay=0.3)


class Cluster:
    """All nodes by name, and what they do in their terms."""

    def __init__(self, folder: Path, names: str = "abc", pace: Pace = PACE, **protect: Any) -> None:
        self.folder = folder
        self.pace = pace
        self.protect = protect
        """How the connections of all nodes are protected."""
        found = free_addresses(len(names))
        self.places = {
            name: f"{name}@{host}:{port}" for name, (host, port) in zip(names, found, strict=True)
        }
        self.founding: Needs = "all"
        self.nodes: dict[str, Node] = {}
        self.held: list[tuple[str, int]] = []
        """Who has led, by which token, in the order of the beginnings."""
        self.terms: dict[str, Term] = {}
        self.workers: dict[str, asyncio.Task[None]] = {}

    def node(self, name: str) -> Node:
        """A node that is not started yet."""
        others = [place for other, place in self.places.items() if other != name]
        return Node(
            self.places[name],
            others,
            self.folder / name,
            pace=self.pace,
            founding=self.founding,
            **self.protect,
        )

    async def start(self, *names: str) -> None:
        """Start nodes, all at once."""
        for name in names or self.places:
            self.nodes[name] = self.node(name)
        await asyncio.gather(*(self.nodes[name].__aenter__() for name in names or self.places))

    async def stop(self, *names: str) -> None:
        """Stop nodes, and their work with them."""
        going = [name for name in names or list(self.nodes) if name in self.nodes]
        for name in going:
            worker = self.workers.pop(name, None)
            while worker is not None and not worker.done():
                worker.cancel()
                await asyncio.wait([worker], timeout=0.1)
        nodes = [self.nodes.pop(name) for name in going]
        await asyncio.gather(*(node.__aexit__() for node in nodes), return_exceptions=True)

    def stand(self, *names: str, priority: int | None = None, work: Any = None) -> None:
        """Have nodes stand for office and work there."""
        for name in names or self.nodes:
            election = self.election(name, priority)
            self.workers[name] = asyncio.create_task(self._stand(name, election, work or idle))

    async def _stand(self, name: str, election: Election, work: Any) -> None:
        async for term in election.terms():
            self.held.append((name, term.token))
            self.terms[name] = term
            async with term:
                await work(term)

    def election(self, name: str, priority: int | None = None) -> Election:
        """The one election of these tests, as a node sees it."""
        return self.nodes[name].election("x", priority)

    def leader(self) -> str:
        """The one node that is certain to lead."""
        (name,) = [name for name in self.nodes if self.leads(name)]
        return name

    def leads(self, name: str) -> bool:
        """Whether this node is certain to lead."""
        return name in self.terms and self.terms[name].remaining() > 0

    async def led(self, *names: str) -> str:
        """Wait until one of these nodes leads, and all others that run know it."""
        await until(lambda: any(map(self.leads, names or self.nodes)))
        name = self.leader()
        now = Leader(name, self.terms[name].token)
        await until(lambda: all(self.election(n).leader == now for n in self.nodes))
        return name

    def cut(self, one: str, *others: str) -> None:
        """Let no word pass between one node and others."""
        self._set_cut(one, frozenset(others))

    def heal(self) -> None:
        """Let every word pass again."""
        for name in self.nodes:
            self.nodes[name]._engine.elections.host.network.cut = frozenset()

    def _set_cut(self, one: str, others: frozenset[str]) -> None:
        for name, node in self.nodes.items():
            away = others if name == one else frozenset({one}) if name in others else frozenset()
            ids = frozenset(number(other) for other in away)
            network = node._engine.elections.host.network
            network.cut = network.cut | ids


async def idle(term: Term) -> None:
    """Work that never ends by itself."""
    await asyncio.sleep(3600)


async def until(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Wait until something is the case, but not for ever."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def started(cluster: AnyCluster, *, start: bool = True) -> AsyncIterator[AnyCluster]:
    """A cluster whose nodes are stopped in the end, however it comes."""
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cluster.stop)
        if start:
            await cluster.start()
        yield cluster


def running(
    folder: Path, names: str = "abc", pace: Pace = PACE
) -> AbstractAsyncContextManager[Cluster]:
    """One that does nothing but what tests ask of it."""
    return started(Cluster(folder, names, pace))


def run(scene: Coroutine[Any, Any, None]) -> None:
    """Run a scene to its end."""

    async def bounded() -> None:
        async with asyncio.timeout(4 * PATIENCE_S):
            await scene

    asyncio.run(bounded())
