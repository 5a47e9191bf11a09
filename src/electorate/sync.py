"""The same without `async`, for threads: leadership, and transactions.

with electorate.sync.Node("a", members=[...], data_dir="data") as node:
    for term in node.election("scheduler").terms():
        with term:
            ...

with electorate.sync.transaction(cluster) as tx:
    tx.on("savings").execute("update account set balance = balance - 100")
"""

from electorate.leadership.sync import Election, Node
from electorate.transactions.sync import Transaction, transaction

__all__ = ["Election", "Node", "Transaction", "transaction"]
