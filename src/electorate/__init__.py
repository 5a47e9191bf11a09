"""electorate: leader election and coordination that can be embedded, watched and proved.

A protocol is a pure state machine in one Python file; drivers run that same file in a seeded
simulator, in an exhaustive checker, and on a network. What an application imports is here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from electorate import fence, sync
    from electorate.errors import (
        Aborted,
        CredentialsError,
        Damaged,
        ElectorateError,
        IdTaken,
        LeadershipLost,
        MembersUnchanged,
        NodeStopped,
        OutcomeUnknown,
        Refused,
        Removed,
        StaleToken,
        StoreError,
        TransferFailed,
    )
    from electorate.leadership.engine import Election, Leader
    from electorate.leadership.term import GroupTerm, Term
    from electorate.node import Node
    from electorate.pace import Pace
    from electorate.runtime.credentials import Tls
    from electorate.transactions.access import Access
    from electorate.transactions.postgres import Postgres
    from electorate.transactions.sqlite import Sqlite
    from electorate.transactions.transaction import Transaction
    from electorate.transactions.triple import Triple

__version__ = "0.2.0"

__all__ = [
    "Aborted",
    "Access",
    "CredentialsError",
    "Damaged",
    "Election",
    "ElectorateError",
    "GroupTerm",
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
    "StaleToken",
    "StoreError",
    "Term",
    "Tls",
    "Transaction",
    "TransferFailed",
    "Triple",
    "fence",
    "sync",
]

_HOMES = {
    "Access": "transactions.access",
    "Election": "leadership.engine",
    "GroupTerm": "leadership.term",
    "Leader": "leadership.engine",
    "Node": "node",
    "Pace": "pace",
    "Postgres": "transactions.postgres",
    "Sqlite": "transactions.sqlite",
    "Term": "leadership.term",
    "Tls": "runtime.credentials",
    "Transaction": "transactions.transaction",
    "Triple": "transactions.triple",
}
"""The module of each name; all others are exceptions."""


def __getattr__(name: str) -> Any:
    """Load a name when it is used: a command does not load what only others need."""
    if name in ("fence", "sync"):
        return import_module(f"electorate.{name}")
    if name in __all__:
        return getattr(import_module(f"electorate.{_HOMES.get(name, 'errors')}"), name)
    raise AttributeError(f"electorate has no {name!r}")


def __dir__() -> list[str]:
    """What an application imports, whether it is loaded already or not."""
    return [*__all__, "__version__"]
