"""An application as users write them: it works while it leads, and its database hears about it."""

import asyncio

from electorate import Node
from electorate.leadership.term import Term
from electorate.testing import Cluster

ELECTION = "scheduler"


class Late(Exception):
    """A write came with the token of a term that is over."""


class Database:
    """Remembers who has written; refuses small tokens if it looks at them at all."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int]] = []
        self.refused: list[tuple[str, int]] = []

    def write(self, name: str, token: int) -> None:
        if self.rows and token < self.rows[-1][1]:
            self.refused.append((name, token))
            raise Late(name, token)
        self.rows.append((name, token))

    def write_unfenced(self, name: str, token: int) -> None:
        """Believe everybody."""
        self.rows.append((name, token))

    @property
    def in_order(self) -> bool:
        """Whether no term has written after a later one."""
        tokens = [token for _, token in self.rows]
        return tokens == sorted(tokens)


async def worker(node: Node, cluster: Cluster, database: Database, every_s: float = 0.02) -> None:
    """Do one piece of work after the other, each with the token."""
    async for term in node.election(ELECTION).terms():
        async with term:
            while True:
                term.check()
                try:
                    await cluster.call(database.write, node.name, term.token)
                except Late:
                    break
                await asyncio.sleep(every_s)


async def careless(node: Node, cluster: Cluster, database: Database) -> None:
    """Believe that one leads until one is told otherwise."""
    async for term in node.election(ELECTION).terms():
        async with term:
            while True:
                await cluster.call(database.write_unfenced, node.name, term.token)
                await asyncio.sleep(0.02)


async def idle(node: Node, terms: list[Term] | None = None, priority: int = 1) -> None:
    """Lead, and do nothing."""
    async for term in node.election(ELECTION, priority).terms():
        async with term:
            if terms is not None:
                terms.append(term)
            await asyncio.Event().wait()
