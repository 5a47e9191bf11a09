"""Transactions without `async`; the node lives in a thread of its own all the same.

with sync.transaction(cluster) as tx:
    tx.on("savings").execute("update account set balance = balance - 100")
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
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

    def execute(self, statement: Any, *values: Any) -> Answer:
        """Do a piece of work; Aborted if it cannot be done."""
        return self._cluster.submit(self._draft.execute(self._name, statement, values)).result()


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


@contextmanager
def transaction(cluster: Cluster) -> Iterator[Transaction]:
    """Begin; commit at the end of the block, or abort if it raises."""
    tx = Transaction(cluster)
    try:
        yield tx
    except BaseException:
        with suppress(NodeStopped):
            cluster.submit(tx._draft.abort()).result()
        raise
    cluster.submit(tx._draft.commit()).result()
