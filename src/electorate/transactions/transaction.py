"""A transaction as an application writes it:

    async with transaction(cluster) as tx:
        await tx.on("savings").execute("update account set balance = balance - 100")
        await tx.on("checking").execute("update account set balance = balance + 100")

The end of the block is the commit point. Whatever is raised inside aborts, and is raised again;
if the others abort, `Aborted` is raised. The same without `async` is in transactions/sync.py.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from electorate.errors import NodeStopped
from electorate.transactions.cluster import Cluster
from electorate.transactions.draft import Draft
from electorate.transactions.resource import Answer


class Place:
    """A member where work is to be done."""

    def __init__(self, cluster: Cluster, draft: Draft, name: str) -> None:
        self._cluster = cluster
        self._draft = draft
        self._name = name

    async def execute(self, statement: Any, *values: Any) -> Answer:
        """Do a piece of work; Aborted if it cannot be done."""
        return await self._cluster.call(self._draft.execute(self._name, statement, values))


class Transaction:
    """All of its work is committed, or none of it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._draft = cluster.draft()

    @property
    def name(self) -> str:
        """What it is called in logs, and by `electorate tx`."""
        return self._draft.tx

    def on(self, name: str) -> Place:
        """A member, by its name."""
        return Place(self._cluster, self._draft, name)


@asynccontextmanager
async def transaction(cluster: Cluster) -> AsyncIterator[Transaction]:
    """Begin; commit at the end of the block, or abort if it raises."""
    tx = Transaction(cluster)
    try:
        yield tx
    except BaseException:
        with suppress(NodeStopped):
            await cluster.call(tx._draft.abort())
        raise
    await cluster.call(tx._draft.commit())
