"""electorate: leader election and coordination that can be embedded, watched and proved.

A protocol is a pure state machine in one Python file; drivers run that same file in a seeded
simulator, in an exhaustive checker, and on a network. What an application imports is here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from electorate import sync
    from electorate.leadership.engine import Leader, TransferFailed
    from electorate.leadership.members.acquaintance import ClusterMismatch
    from electorate.leadership.members.membership import Removed
    from electorate.leadership.members.register import MembersUnchanged
    from electorate.leadership.node import Node
    from electorate.leadership.offices import NodeStopped
    from electorate.leadership.pace import Pace
    from electorate.leadership.term import LeadershipLost, Term
    from electorate.runtime.network import IdTaken
    from electorate.runtime.store import StoreError
    from electorate.transactions.cluster import Cluster
    from electorate.transactions.draft import Aborted, OutcomeUnknown
    from electorate.transactions.postgres import Postgres
    from electorate.transactions.resource import Damaged, Refused
    from electorate.transactions.sqlite import Sqlite
    from electorate.transactions.transaction import transaction
    from electorate.transactions.triple import Triple

__version__ = "0.1.0"

__all__ = [
    "Aborted",
    "Cluster",
    "ClusterMismatch",
    "Damaged",
    "IdTaken",
    "Leader",
    "LeadershipLost",
    "MembersUnchanged",
    "Node",
    "NodeStopped",
    "OutcomeUnknown",
    "Pace",
    "Postgres",
    "Refused",
    "Removed",
    "Sqlite",
    "StoreError",
    "Term",
    "TransferFailed",
    "Triple",
    "sync",
    "transaction",
]

_HOMES = {
    "Aborted": "transactions.draft",
    "Cluster": "transactions.cluster",
    "ClusterMismatch": "leadership.members.acquaintance",
    "Damaged": "transactions.resource",
    "IdTaken": "runtime.network",
    "Leader": "leadership.engine",
    "LeadershipLost": "leadership.term",
    "MembersUnchanged": "leadership.members.register",
    "Node": "leadership.node",
    "NodeStopped": "leadership.offices",
    "OutcomeUnknown": "transactions.draft",
    "Pace": "leadership.pace",
    "Postgres": "transactions.postgres",
    "Refused": "transactions.resource",
    "Removed": "leadership.members.membership",
    "Sqlite": "transactions.sqlite",
    "StoreError": "runtime.store",
    "Term": "leadership.term",
    "TransferFailed": "leadership.engine",
    "Triple": "transactions.triple",
    "transaction": "transactions.transaction",
}


def __getattr__(name: str) -> Any:
    """Loaded when it is wanted: a command does not load what only others need."""
    if name == "sync":
        return import_module("electorate.sync")
    if name in _HOMES:
        return getattr(import_module(f"electorate.{_HOMES[name]}"), name)
    raise AttributeError(f"electorate has no {name!r}")
