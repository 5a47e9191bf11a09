"""What the nodes of a simulated cluster do that are led in groups, and how it is watched."""

import asyncio
from collections.abc import Callable

from electorate import Election, Node
from electorate.leadership.engine import Leader
from electorate.leadership.term import Term
from electorate.testing import Cluster

CACHE = "cache"


class GroupWork:
    """What all nodes have done: hooks and work, each with its beginning and its end."""

    def __init__(self, cluster: Cluster, hook_s: float = 0.1, ending_s: float = 0.0) -> None:
        self.cluster = cluster
        self.hook_s = hook_s
        self.ending_s = ending_s
        self.merges: list[tuple[str, dict[str, str]]] = []
        self.done: list[str] = []
        """Who has come to the end of its hook."""
        self.works: list[tuple[str, Term]] = []
        self.busy: set[str] = set()

    def election(self, node: Node, priority: int | None = None) -> Election:
        async def on_merge(term: Term, others: dict[str, str]) -> None:
            with self.alone(node.name):
                self.merges.append((node.name, others))
                await asyncio.sleep(self.hook_s)
                self.done.append(node.name)

        return node.election(CACHE, priority, safety="group", on_merge=on_merge)

    async def work(self, node: Node, priority: int | None = None) -> None:
        """Lead whenever there is a group to lead."""
        async for term in self.election(node, priority).terms():
            async with term:
                with self.alone(node.name):
                    self.works.append((node.name, term))
                    try:
                        await asyncio.Event().wait()
                    finally:
                        await asyncio.sleep(self.ending_s)

    def alone(self, name: str) -> "Alone":
        return Alone(self.busy, name)

    def leads(self, *sides: str) -> bool:
        """Whether there are just these groups, each with a leader at work and known to all."""
        held = [pair for pair in self.works if self.cluster.term(CACHE, pair[0]) is pair[1]]
        named = all(
            self.of(name) == Leader(leader, term.token)
            for leader, term in held
            for name in term.members
        )
        return named and sorted("".join(term.members) for _, term in held) == sorted(sides)

    def of(self, name: str) -> Leader:
        if not self.cluster.is_running(name):
            return Leader(None, None)
        return self.cluster.node(name).election(CACHE, safety="group").leader

    async def settled(self, *sides: str) -> None:
        await until(self.cluster, lambda: self.leads(*sides))


class Alone:
    """Nothing else is done at this node meanwhile."""

    def __init__(self, busy: set[str], name: str) -> None:
        self.busy = busy
        self.name = name

    def __enter__(self) -> None:
        assert self.name not in self.busy, "two things are done at once"
        self.busy.add(self.name)

    def __exit__(self, *_: object) -> None:
        self.busy.discard(self.name)


async def until(cluster: Cluster, condition: Callable[[], object], within_s: float = 20) -> None:
    deadline = cluster.now + within_s
    while not condition():
        assert cluster.now < deadline, f"not after {within_s} s"
        await asyncio.sleep(0.005)


def by_strength(cluster: Cluster) -> list[str]:
    """The strongest first: with equal priorities the numbers of the names decide."""
    return sorted(cluster.names, key=lambda name: -cluster._member(name).id)
