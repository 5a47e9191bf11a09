"""What takes part in a transaction: a database, or anything else that can prepare and wait.

A resource is called from threads. Calls for one transaction never overlap; calls for different ones
may. What it promised by `prepare` it keeps over a crash of its process: either of `commit` and
`abort` may come, at any time, more than once.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec


class Answer(msgspec.Struct, frozen=True):
    """The result of a statement."""

    rows: list[tuple[Any, ...]] = []
    count: int = 0
    """How many rows it found or changed."""

    def value(self) -> Any:
        """The only value of the only row."""
        ((found,),) = self.rows
        return found


class LogMark(msgspec.Struct, frozen=True, order=True):
    """Which log a database belongs to, and in which of its lives: a database has one of these."""

    store: str
    """The identity of the log."""
    life: int
    """How often the node had started by then."""


class Resource(Protocol):
    """Does the work of transactions in one place."""

    isolation: str
    """How transactions are kept apart, in words."""

    def open(self) -> None:
        """Make ready; nothing is opened before. Damaged if the resource can never be used.

        If it only cannot be reached at the moment, that is no error: it is asked again.
        """

    def execute(self, tx: str, statement: Any, values: Sequence[Any]) -> Answer:
        """Do a piece of work that nobody else sees yet; Refused if it cannot be done."""

    def prepare(self, tx: str) -> None:
        """Make sure that the work can be committed, whatever happens now; or Refused."""

    def commit(self, tx: str) -> None:
        """Make prepared work visible; nothing if that is done already. Damaged if it is gone."""

    def abort(self, tx: str) -> None:
        """Undo the work, prepared or not; nothing if there is none."""

    def known(self) -> frozenset[str]:
        """The transactions that are prepared here, or noted as committed."""

    def prepared(self) -> frozenset[str]:
        """The transactions that are prepared here, or may be."""

    def cancel(self, tx: str) -> None:
        """Stop what is being done for it at the moment, if anything is; called from any thread."""

    def missing(self, tx: str) -> list[str]:
        """What prepared work would change, in words, for people who have to do it by hand."""

    def belongs(self, mark: LogMark) -> LogMark | None:
        """Note to which log this belongs from now on; returns to which it did, if to any."""

    def forget(self, tx: str) -> None:
        """Nobody will ask for this transaction again: drop the note."""

    def close(self) -> None:
        """Close everything; work that is not prepared is undone."""


def expect_resource(database: object) -> None:
    """TypeError if this is no resource that a node can use; it says what is missing."""
    acts = (
        *("open", "execute", "prepare", "commit", "abort", "known", "prepared", "missing"),
        *("belongs", "cancel", "forget", "close"),
    )
    lacks = [act for act in acts if not callable(getattr(database, act, None))]
    if lacks or isinstance(database, type):
        missing = "it is a class" if isinstance(database, type) else f"it has no {lacks[0]}()"
        raise TypeError(
            "a database is a Sqlite(...), Postgres(...) or Triple(...), or what can do the same; "
            f"not {database!r}: {missing}"
        )
