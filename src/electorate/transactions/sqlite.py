"""An SQLite file as a resource: one transaction at a time, prepared by writing its changes down.

SQLite cannot prepare. So `prepare` undoes the work and writes down, durably, what it has changed
(changes.py); `commit` makes these changes again, in one SQLite transaction with the note that they
were made. Between the two nothing else uses the database. Before it says that it is prepared, all
of it is made once for trial, compared with what the transaction saw, and undone: what would not
come out the same is refused then, and never found out after the decision.

The file belongs to one process, and is locked while that runs. Writing to it meanwhile by other
means breaks the promise. It is noticed if rows that the transaction changes, or the schema, are not
as they were.

It needs `pip install 'electorate[sqlite]'`: Python's own SQLite does not tell what changes.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from electorate.errors import Damaged, Refused
from electorate.transactions.access import Access, ResultSize
from electorate.transactions.changes import (
    OURS,
    ChangeRecorder,
    Changes,
    ChangesDiffer,
    redo,
    unkept,
)
from electorate.transactions.resource import Answer, LogMark

if TYPE_CHECKING:
    import apsw

MISSING = "SQLite needs apsw: pip install 'electorate[sqlite]'"
NO_HOOK = (
    "this apsw was built without the preupdate hook of SQLite: pip install 'electorate[sqlite]'"
)
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
    "create table if not exists electorate_log (store text, life integer)",
)
REFUSED = {
    "TRANSACTION": "a statement must not begin or end a transaction",
    "SAVEPOINT": "a statement must not begin or end a transaction",
    "ATTACH": "other files are no part of the transaction",
    "DETACH": "other files are no part of the transaction",
    "PRAGMA": "a pragma acts beside the transaction",
    "ANALYZE": "statistics cannot be kept: gather them while no node has the file",
    "CREATE_VTABLE": "virtual tables cannot be kept: make them while no node has the file",
    "DROP_VTABLE": "virtual tables cannot be kept: drop them while no node has the file",
} | {
    f"{verb}_TEMP_{what}": "what is temporary would outlive the transaction"
    for verb in ("CREATE", "DROP")
    for what in ("TABLE", "INDEX", "TRIGGER", "VIEW")
}
"""What no statement may do, as SQLite asks about it, and why."""
SCHEMA_CHANGES = {"ALTER_TABLE"} | {
    f"{verb}_{what}"
    for verb in ("CREATE", "DROP")
    for what in ("TABLE", "INDEX", "TRIGGER", "VIEW")
}
STEPS = 10_000
"""So many steps of its machine SQLite does before it asks whether to go on: less than 1 ms."""
VALUE_MAX = 50_000_000
"""Bytes in one value that a statement makes: SQLite does not stop within one."""
WRITES = {"INSERT", "UPDATE", "DELETE"}


class PreparedWork(msgspec.Struct, frozen=True):
    """What is kept of a prepared transaction."""

    changes: Changes


_prepared = msgspec.msgpack.Decoder(PreparedWork)


class Sqlite:
    """A database in one file. It is opened when its node is entered, or at its first use."""

    isolation = "serializable, also across databases: one transaction at a time"

    def __init__(self, path: Path | str, wait_s: float = 2.0, access: Access | None = None) -> None:
        try:
            import apsw
        except ImportError:
            raise Refused(MISSING) from None
        if not hasattr(apsw, "PreUpdate"):
            raise Refused(NO_HOOK)
        self._apsw = apsw
        self._acts = {number: name.removeprefix("SQLITE_") for name, number in _authorized(apsw)}
        self._hopeless = (
            *(apsw.SQLError, apsw.ConstraintError, apsw.MismatchError),
            *(apsw.TooBigError, apsw.CorruptError),
        )
        """Errors after which it would be no use to try again."""
        self.access = access or Access()
        self._path = Path(path)
        self._wait_s = wait_s
        self._forgotten: set[str] = set()
        self._lock = threading.RLock()
        self._free = threading.Condition(self._lock)
        self._owner: str | None = None
        """The transaction that has the database to itself."""
        self._has_begun = False
        """Whether it has work that is not prepared."""
        self._broken = ""
        """Why its work cannot be prepared any more."""
        self._statement: SqliteStatement | None = None
        """The statement of a transaction that is being carried out; None if it is our own."""
        self._unkept: dict[str, str] | None = None
        self._file: apsw.Connection | None = None

    def open(self) -> None:
        with self._lock:
            if self._file is None:
                self._file = self._opened()

    @property
    def _db(self) -> "apsw.Connection":
        self.open()
        assert self._file is not None
        return self._file

    def _opened(self) -> "apsw.Connection":
        try:
            # A statement that was compiled before would not be asked what it may do.
            db = self._apsw.Connection(str(self._path), statementcachesize=0)
        except self._apsw.Error as error:
            raise Damaged(f"cannot use {self._path}: {error}") from error
        try:
            prepared = self._set_up(db)
        except self._apsw.Error as error:
            db.close()
            busy = isinstance(error, self._apsw.BusyError | self._apsw.LockedError)
            why = "another process or node uses it" if busy else error
            raise Damaged(f"cannot use {self._path}: {why}") from error
        self._owner = prepared[0] if prepared else None
        return db

    def _set_up(self, db: "apsw.Connection") -> list[str]:
        """Lock the file; returns the transactions that are prepared in it."""
        for pragma in PRAGMAS:
            list(db.execute(f"pragma {pragma}"))
        db.execute("begin immediate")
        for table in SCHEMA:
            db.execute(table)
        db.execute("commit")
        # Nobody may write to the tables that SQLite keeps for virtual ones, or to bare pages.
        db.config(self._apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        db.authorizer = self._may
        self._recorder = ChangeRecorder(db)
        db.preupdate_hook(self._recorder.note)
        db.set_progress_handler(self._must_stop, STEPS)
        return [tx for (tx,) in db.execute("select tx from electorate_prepared")]

    def execute(self, tx: str, statement: Any, values: Sequence[Any] = ()) -> Answer:
        if any(isinstance(value, list | tuple | dict) for value in values):
            raise Refused(
                "SQLite takes no list or dict: pass values one by one, execute(sql, 1, 2)"
            )
        if not isinstance(statement, str):
            raise Refused(f"a statement is SQL as text, not {statement!r}")
        with self._turn():
            self.open()
            self._acquire(tx)
            try:
                if not self._has_begun:
                    self._db.execute("begin immediate")
                    self._recorder.begin()
                    self._has_begun = True
                return self._done(statement, values)
            except self._apsw.Error as error:
                raise Refused(str(error)) from error
            except (TypeError, ValueError, OverflowError) as error:
                # SQLite has not failed, and so has undone nothing of this statement.
                self._broken = f"{statement!r} was cut short: {error}"
                raise Refused(str(error)) from error

    def prepare(self, tx: str) -> None:
        with self._lock:
            self.open()
            if self._owner != tx or not self._has_begun:
                raise Refused("there is no work of this transaction here")
            try:
                self._expect_whole()
                if self._broken:
                    raise Refused(self._broken)
                if self._db.status(self._apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0]:
                    raise Refused("a row refers to one that does not exist")
                changes = self._recorder.finish()
                self._has_begun = False
                self._try(changes)
                work = msgspec.msgpack.encode(PreparedWork(changes))
                with self._written():
                    self._db.execute("insert into electorate_prepared values (?, ?)", (tx, work))
            except ChangesDiffer as error:
                raise Refused(f"it could not be made again: {error}") from error
            except (self._apsw.Error, ValueError) as error:
                raise Refused(str(error)) from error

    def commit(self, tx: str) -> None:
        with self._lock:
            for work in self._column("select work from electorate_prepared where tx = ?", tx):
                changes = self._read(tx, work)
                try:
                    with self._bare(), self._written():
                        redo(self._db, changes)
                        self._db.execute("delete from electorate_prepared where tx = ?", (tx,))
                        self._db.execute("insert into electorate_committed values (?)", (tx,))
                except (ChangesDiffer, *self._hopeless) as error:
                    raise Damaged(
                        f"{self._path}: what was prepared cannot be done: {error}"
                    ) from None
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

    def prepared(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._column("select tx from electorate_prepared"))

    def cancel(self, tx: str) -> None:
        # Without the lock: it is the statement to be stopped that has it.
        statement = self._statement
        if statement is not None and self._owner == tx:
            statement.stopped = f"it was stopped after {self.access.seconds:g} s, or given up"

    def missing(self, tx: str) -> list[str]:
        with self._lock, suppress(Damaged):
            for work in self._column("select work from electorate_prepared where tx = ?", tx):
                return self._read(tx, work).told()
        return []

    def belongs(self, mark: LogMark) -> LogMark | None:
        with self._lock:
            for store, life in list(self._db.execute("select store, life from electorate_log")):
                was = LogMark(store, life)
                if was == mark:
                    return was
                break
            else:
                was = None
            with self._written():
                self._db.execute("delete from electorate_log")
                insert = "insert into electorate_log values (?, ?)"
                self._db.execute(insert, (mark.store, mark.life))
            return was

    def forget(self, tx: str) -> None:
        with self._lock:
            # The note is dropped with the next write: another transaction may be at work just now.
            self._forgotten.add(tx)

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Have the file to oneself; Refused if the statement of another takes too long."""
        if not self._lock.acquire(timeout=self._wait_s):
            raise Refused(f"transaction {self._owner} has the database")
        try:
            yield
        finally:
            self._lock.release()

    def _acquire(self, tx: str) -> None:
        """Wait until no other transaction has the database."""
        with self._free:
            if not self._free.wait_for(lambda: self._owner in (None, tx), self._wait_s):
                raise Refused(f"transaction {self._owner} has the database")
            self._owner = tx

    def _release(self, tx: str) -> None:
        with self._free:
            self._owner = None
            self._has_begun, self._broken = False, ""
            if self._recorder.has_changed_schema:
                self._unkept = None
            self._recorder.begin()
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
            with suppress(self._apsw.Error):
                self._db.execute("rollback")
            raise
        self._forgotten.difference_update(gone)

    @contextmanager
    def _bare(self) -> Iterator[None]:
        """What is done inside changes the rows it names, and nothing follows from that."""
        self._db.execute("pragma foreign_keys=off")
        self._db.execute("pragma ignore_check_constraints=on")
        self._db.config(self._apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        try:
            yield
        finally:
            self._db.config(self._apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
            self._db.execute("pragma ignore_check_constraints=off")
            self._db.execute("pragma foreign_keys=on")

    def _try(self, changes: Changes) -> None:
        """Make the changes, see that they come out as they were, and undo them."""
        with self._bare():
            self._db.execute("begin immediate")
            try:
                redo(self._db, changes)
            finally:
                self._db.execute("rollback")

    def _read(self, tx: str, work: bytes) -> Changes:
        try:
            return _prepared.decode(work).changes
        except msgspec.DecodeError:
            raise Damaged(
                f"{self._path}: an earlier version of electorate has prepared {tx} by its "
                "statements; run that version until it is over"
            ) from None

    # --- a statement of a transaction ---

    def _done(self, text: str, values: Sequence[Any]) -> Answer:
        """Carry out a statement."""
        self._expect_whole()
        self._recorder.look()
        if self._unkept is None:
            self._unkept = unkept(self._db)
        size = ResultSize(self.access)
        statement = self._statement = SqliteStatement(
            self._recorder, self._unkept, time.monotonic() + self.access.seconds
        )
        cursor = self._db.cursor()
        cursor.exec_trace = partial(self._begins, statement)
        most = self._db.limit(self._apsw.SQLITE_LIMIT_LENGTH, VALUE_MAX)
        try:
            rows = [size.add(row) for row in cursor.execute(text, list(map(_bound, values)))]
        except self._apsw.AuthError:
            raise Refused(statement.refused or "this statement is not allowed") from None
        except self._apsw.InterruptError:
            raise Refused(statement.stopped) from None
        except BaseException:
            self._broken = f"{text!r} was cut short"
            raise
        finally:
            cursor.close(True)
            self._statement = None
            self._db.limit(self._apsw.SQLITE_LIMIT_LENGTH, most)
        if statement.is_schema_change:
            self._recorder.changed_schema(text)
            self._unkept = None
        return Answer(rows, self._db.changes() if statement.is_write else len(rows))

    def _must_stop(self) -> bool:
        """SQLite asks now and then whether it is to go on."""
        statement, access = self._statement, self.access
        if statement is None:
            return False
        if time.monotonic() > statement.deadline:
            statement.stopped = f"it was stopped after {access.seconds:g} s: it takes too long"
        elif self._recorder.count > access.changes:
            statement.stopped = f"it was stopped: it changes more than {access.changes:,} rows"
        return bool(statement.stopped)

    def _begins(self, statement: "SqliteStatement", *given: Any) -> bool:
        """A statement is about to be carried out; what is asked before that is our own work."""
        self._statement = None
        try:
            return statement.begins(*given)
        finally:
            self._statement = statement

    def _expect_whole(self) -> None:
        """Refused if a statement has ended the transaction, as `insert or rollback` does."""
        if not self._db.in_transaction:
            raise Refused("the transaction had ended: a statement has rolled it back")

    def _may(self, number: int, one: str | None, two: str | None, *where: str | None) -> int:
        """SQLite asks whether a statement may do that."""
        if self._statement is None or self._statement.may(self._acts[number], one, two, where[0]):
            return self._apsw.SQLITE_OK
        return self._apsw.SQLITE_DENY

    def _column(self, query: str, *values: Any) -> list[Any]:
        return [found for (found,) in self._db.execute(query, values)]


class SqliteStatement:
    """A statement of a transaction, and what SQLite tells of it before it is carried out."""

    def __init__(self, recorder: ChangeRecorder, unkept: dict[str, str], deadline: float) -> None:
        self.refused = ""
        """Why it may not be carried out."""
        self.stopped = ""
        """Why it must not go on."""
        self.deadline = deadline
        self.is_write = False
        self._recorder = recorder
        self._unkept = unkept
        self._acts: set[str] = set()
        self._written: set[str] = set()
        self._count = 0

    @property
    def is_schema_change(self) -> bool:
        """Whether it has to be kept as a statement."""
        return not self._acts.isdisjoint(SCHEMA_CHANGES)

    def may(self, act: str, one: str | None, two: str | None, where: str | None) -> bool:
        """Whether it may do that; asked while it is compiled, triggers included."""
        self._acts.add(act)
        if any((name or "").lower().startswith(OURS) for name in (one, two)):
            self.refused = f"what begins with {OURS} belongs to electorate"
        elif act == "PRAGMA" and one == "quick_check" and "ALTER_TABLE" in self._acts:
            pass  # SQLite itself sees whether the rows that are there are allowed.
        elif act in REFUSED:
            self.refused = REFUSED[act]
        elif act in WRITES and where == "main":
            self._written.add(one or "")
        return not self.refused

    def begins(self, cursor: "apsw.Cursor", text: str, values: Any) -> bool:
        """It is compiled, and about to be carried out; Refused if it may not."""
        self._count += 1
        if self._count > 1:
            raise Refused("one statement at a time")
        if self.is_schema_change:
            if "CREATE_TABLE" in self._acts and "SELECT" in self._acts:
                raise Refused("a table cannot be created with its rows: create it, then fill it")
            self._recorder.changes_schema()
            return True
        for table in sorted(self._written & self._unkept.keys()):
            raise Refused(f"nothing can be written to {table}: {self._unkept[table]}")
        self.is_write = not self._acts.isdisjoint(WRITES)
        return True


def _bound(value: Any) -> Any:
    return value.isoformat(" ") if isinstance(value, datetime) else value


def _authorized(apsw: Any) -> Iterator[tuple[str, int]]:
    """What SQLite asks about, by name."""
    for name, number in apsw.mapping_authorizer_function.items():
        if isinstance(name, str):
            yield name, number
