"""An SQLite file as a resource: one transaction at a time, prepared by writing it down.

SQLite cannot prepare. So `prepare` undoes the work and writes its statements down, durably;
`commit` plays them again, in one SQLite transaction with the note that they were played. Between
the two nothing else uses the database, so the statements do what they did before: their results are
compared, and statements whose result could differ (chance, the time) are refused.

The file belongs to one process, and is locked while that runs. Writing to it meanwhile by other
means breaks the promise, which is noticed if a result differs.
"""

import sqlite3
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from electorate.errors import Damaged, Refused
from electorate.transactions.resource import Answer

PRAGMAS = (
    "locking_mode=exclusive",
    "fullfsync=on",
    "synchronous=extra",
    "journal_mode=wal",
    "foreign_keys=on",
)
SCHEMA = (
    "create table if not exists electorate_prepared (tx text primary key, work blob)",
    "create table if not exists electorate_committed (tx text primary key)",
)
ENDS = {
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
    sqlite3.SQLITE_PRAGMA,
}
"""Statements that are refused: they would end the transaction, or leave it."""
CHANCES = {"random", "randomblob", "changes", "total_changes", "sqlite_version"} | {
    f"{prefix}{name}"
    for prefix in ("", "current_")
    for name in ("date", "time", "datetime", "timestamp", "julianday", "unixepoch", "strftime")
}
"""Functions that may give something else when they are played again."""


class LoggedStatement(msgspec.Struct, frozen=True):
    """A statement, and a checksum of its result."""

    statement: str
    values: list[Any]
    gave: int


class Sqlite:
    """A database in one file. It is opened when its node is entered, or at its first use."""

    isolation = "serializable, also across databases: one transaction at a time"

    def __init__(self, path: Path | str, wait_s: float = 2.0) -> None:
        self._path = Path(path)
        self._wait_s = wait_s
        self._steps: list[LoggedStatement] = []
        self._forgotten: set[str] = set()
        self._lock = threading.RLock()
        self._free = threading.Condition(self._lock)
        self._owner: str | None = None
        """The transaction that has the database to itself."""
        self._own = True
        """Whether the statement that is being prepared is our own."""
        self._file: sqlite3.Connection | None = None

    def open(self) -> None:
        with self._lock:
            if self._file is None:
                self._file = self._opened()

    @property
    def _db(self) -> sqlite3.Connection:
        self.open()
        assert self._file is not None
        return self._file

    def _opened(self) -> sqlite3.Connection:
        try:
            # A statement that was compiled before would not be asked what it may do.
            db = sqlite3.connect(
                self._path, isolation_level=None, check_same_thread=False, cached_statements=0
            )
        except sqlite3.Error as error:
            raise Damaged(f"cannot use {self._path}: {error}") from error
        try:
            prepared = self._set_up(db)
        except sqlite3.Error as error:
            db.close()
            why = "another process or node uses it" if _is_busy(error) else error
            raise Damaged(f"cannot use {self._path}: {why}") from error
        self._owner = prepared[0] if prepared else None
        return db

    def _set_up(self, db: sqlite3.Connection) -> list[str]:
        """Lock the file; returns the transactions that are prepared in it."""
        for pragma in PRAGMAS:
            list(db.execute(f"pragma {pragma}"))
        db.set_authorizer(self._may)
        db.execute("begin immediate")
        for table in SCHEMA:
            db.execute(table)
        db.execute("commit")
        return [tx for (tx,) in db.execute("select tx from electorate_prepared")]

    def execute(self, tx: str, statement: Any, values: Sequence[Any] = ()) -> Answer:
        if any(isinstance(value, list | tuple | dict) for value in values):
            raise Refused(
                "SQLite takes no list or dict: pass values one by one, execute(sql, 1, 2)"
            )
        with self._lock:
            self.open()
            self._acquire(tx)
            try:
                if not self._db.in_transaction:
                    self._db.execute("begin immediate")
                answer = self._play(statement, values)
            except (sqlite3.Error, sqlite3.Warning, TypeError) as error:
                raise Refused(str(error)) from error
            self._steps.append(LoggedStatement(statement, list(values), _checksum(answer)))
            return answer

    def prepare(self, tx: str) -> None:
        with self._lock:
            self.open()
            if self._owner != tx or not self._steps:
                raise Refused("there is no work of this transaction here")
            try:
                if list(self._db.execute("pragma foreign_key_check")):
                    raise Refused("a row refers to one that does not exist")
                self._db.execute("rollback")
                work = msgspec.msgpack.encode(self._steps)
                with self._written():
                    self._db.execute("insert into electorate_prepared values (?, ?)", (tx, work))
            except sqlite3.Error as error:
                raise Refused(str(error)) from error

    def commit(self, tx: str) -> None:
        with self._lock:
            for work in self._column("select work from electorate_prepared where tx = ?", tx):
                with self._written():
                    for step in msgspec.msgpack.decode(work, type=list[LoggedStatement]):
                        if _checksum(self._play(step.statement, step.values)) != step.gave:
                            raise Damaged(f"{step.statement!r} came out differently")
                    self._db.execute("delete from electorate_prepared where tx = ?", (tx,))
                    self._db.execute("insert into electorate_committed values (?)", (tx,))
                self._release(tx)
            if tx not in self._column("select tx from electorate_committed"):
                raise Damaged(f"{self._path} has lost what was prepared")

    def abort(self, tx: str) -> None:
        with self._lock:
            self.open()
            if self._owner != tx:
                return
            if self._db.in_transaction:
                self._db.execute("rollback")
            if self._column("select tx from electorate_prepared where tx = ?", tx):
                with self._written():
                    self._db.execute("delete from electorate_prepared where tx = ?", (tx,))
            self._release(tx)

    def known(self) -> frozenset[str]:
        with self._lock:
            found = self._column(
                "select tx from electorate_prepared union select tx from electorate_committed"
            )
            return frozenset(found) - self._forgotten

    def forget(self, tx: str) -> None:
        with self._lock:
            # The note is dropped with the next write: another transaction may be at work just now.
            self._forgotten.add(tx)

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()

    def _acquire(self, tx: str) -> None:
        """Wait until no other transaction has the database."""
        with self._free:
            if not self._free.wait_for(lambda: self._owner in (None, tx), self._wait_s):
                raise Refused(f"transaction {self._owner} has the database")
            self._owner = tx

    def _release(self, tx: str) -> None:
        with self._free:
            self._owner = None
            self._steps = []
            self._free.notify_all()

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Make what is done inside durable, all of it or nothing."""
        self._db.execute("begin immediate")
        try:
            yield
            gone = sorted(self._forgotten)
            drop = "delete from electorate_committed where tx = ?"
            self._db.executemany(drop, [(tx,) for tx in gone])
            self._db.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                self._db.execute("rollback")
            raise
        self._forgotten.difference_update(gone)

    def _play(self, statement: str, values: Sequence[Any]) -> Answer:
        self._own = False
        try:
            cursor = self._db.execute(statement, values)
            rows = cursor.fetchall()
        finally:
            self._own = True
        return Answer(rows, len(rows) if cursor.rowcount < 0 else cursor.rowcount)

    def _may(self, action: int, one: str | None, two: str | None, *_: object) -> int:
        """SQLite asks whether a statement may do that."""
        chance = action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in CHANCES
        ours = any((name or "").startswith("electorate_") for name in (one, two))
        if not self._own and (chance or ours or action in ENDS):
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def _column(self, query: str, *values: Any) -> list[Any]:
        return [found for (found,) in self._db.execute(query, values)]


def _checksum(answer: Answer) -> int:
    return zlib.crc32(repr(answer).encode())


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
