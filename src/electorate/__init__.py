"""electorate: leader election and coordination that can be embedded, watched and proved.

A protocol is a pure state machine in one Python file; drivers run that same file in a seeded
simulator, in an exhaustive checker, and on a network. What an application imports is here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from electorate.transactions import sync
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
    "Damaged",
    "OutcomeUnknown",
    "Postgres",
    "Refused",
    "Sqlite",
    "Triple",
    "sync",
    "transaction",
]

_HOMES = {
    "Aborted": "draft",
    "Cluster": "cluster",
    "Damaged": "resource",
    "OutcomeUnknown": "draft",
    "Postgres": "postgres",
    "Refused": "resource",
    "Sqlite": "sqlite",
    "Triple": "triple",
    "transaction": "transaction",
}


def __getattr__(name: str) -> Any:
    """Loaded when it is wanted: a command does not load what only others need."""
    if name == "sync":
        return import_module("electorate.transactions.sync")
    if name in _HOMES:
        return getattr(import_module(f"electorate.transactions.{_HOMES[name]}"), name)
    raise AttributeError(f"electorate has no {name!r}")
