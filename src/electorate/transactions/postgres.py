"""A PostgreSQL database as a resource: PREPARE TRANSACTION, then COMMIT or ROLLBACK PREPARED.

It needs `pip install 'electorate[postgres]'`, and a server with max_prepared_transactions above 0.
Each transaction leaves a note of itself in a table of its own, as part of its work: so the note is
there exactly if the work was committed, and doing it twice is the same as doing it once.

A transaction is SERIALIZABLE in each database. Across databases that is not enough: a reader may
find one database after a transaction, and another before it. A transaction that locks what it reads
(FOR SHARE, FOR UPDATE) is serializable across databases too; tests/transactions/test_isolation.py
shows both.
"""

import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from electorate.errors import Damaged, Refused
from electorate.transactions.access import Access, ResultSize
from electorate.transactions.resource import Answer, LogMark

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger("electorate.transactions")

MISSING = "PostgreSQL needs psycopg: pip install 'electorate[postgres]'"
UNPREPARED = (
    "this server cannot prepare transactions: "
    "set max_prepared_transactions in postgresql.conf to 10 or more, and restart it"
)
ENDS = {"abort", "begin", "commit", "end", "prepare", "rollback", "start"}
"""First words of statements that would end the transaction."""
REFUSED = {word: f"not within a transaction: {word}" for word in ENDS} | {
    "copy": "copy reads and writes files of the server, and runs programs there",
    "load": "load brings code into the server",
    **dict.fromkeys(("set", "reset", "discard"), "settings act beside the transaction"),
    **dict.fromkeys(("declare", "fetch", "move", "close"), "a cursor is not needed: ask for rows"),
}
"""First words of statements that are refused, and why."""
QUERIES = {"select", "table", "values", "show", "explain"}
CHANGES = {"insert", "update", "delete", "merge"}
TABLES = {
    "electorate_committed": "tx text primary key",
    "electorate_log": "store text, life bigint",
}
"""What a database keeps for us. A user who may not create them needs to find them there."""
GID_MAX = 199
"""Bytes in the name of a prepared transaction; a limit of PostgreSQL."""


class Postgres:
    """One database of a PostgreSQL server.

    `name` tells it from others on the same server: prepared transactions share one space there.
    """

    isolation = "serializable in each database; across databases if reads lock (FOR SHARE)"

    def __init__(
        self, name: str, conninfo: str, wait_s: float = 2.0, access: Access | None = None
    ) -> None:
        if not re.fullmatch(r"[\w.-]{1,60}", name):
            raise ValueError(f"{name!r} is no name: use letters, digits, '.', '_' and '-'")
        try:
            import psycopg
        except ImportError:
            raise Refused(MISSING) from None
        self._psycopg = psycopg
        self._name = name
        self._conninfo = conninfo
        self._wait_s = wait_s
        self.access = access or Access()
        self._sessions: dict[str, psycopg.Connection[Any]] = {}
        self._idle: list[psycopg.Connection[Any]] = []
        self._lock = threading.Lock()
        self._set_up = False

    def open(self) -> None:
        """Connections are opened when they are needed: the server may be down just now."""

    def execute(self, tx: str, statement: Any, values: Sequence[Any] = ()) -> Answer:
        word = first_word(statement)
        if word in REFUSED:
            raise Refused(REFUSED[word])
        try:
            if tx not in self._sessions:
                self._sessions[tx] = self._begun()
            return self._done(self._sessions[tx], word, statement, values or None)
        except self._psycopg.errors.QueryCanceled as error:
            limit = f"it may take {self.access.seconds:g} s"
            raise Refused(f"{_told(error)}: {limit}, or it was given up") from error
        except self._psycopg.Error as error:
            raise Refused(_told(error)) from error

    def _done(
        self, session: "psycopg.Connection[Any]", word: str, text: str, values: Any
    ) -> Answer:
        """Carry out a statement; rows are counted as they come, and not taken all at once."""
        if not self._gives_rows(session, word, text, values):
            # Asked for binary answers, the server takes one statement at a time.
            done = session.execute(text, values, binary=True)
            return Answer([], done.rowcount)
        size, cursor = ResultSize(self.access), session.cursor()
        stream: Any = cursor.stream(text, values, binary=True)
        with cursor, closing(stream):  # To close it before its end stops the statement.
            rows = [size.add(row) for row in stream]
        return Answer(rows, len(rows))

    def _gives_rows(
        self, session: "psycopg.Connection[Any]", word: str, text: str, values: Any
    ) -> bool:
        """Whether rows come of a statement; where that is not plain, the server says so."""
        plain = text.lower()
        if word in QUERIES and "into" not in plain:
            return True
        if word not in QUERIES | CHANGES | {"with"} or (
            word in CHANGES and "returning" not in plain
        ):
            return False
        whole = self._psycopg.ClientCursor(session).mogrify(text, values)
        prepared = session.pgconn.prepare(b"", whole.encode())
        if prepared.status != self._psycopg.pq.ExecStatus.COMMAND_OK:
            # It says why itself, in words that fit what was written.
            session.execute(text, values, binary=True)
        return session.pgconn.describe_prepared(b"").nfields > 0

    def prepare(self, tx: str) -> None:
        session = self._sessions.get(tx)
        if session is None:
            raise Refused("there is no work of this transaction here")
        try:
            session.execute("insert into electorate_committed values (%s)", (tx,))
            done = session.execute(f"prepare transaction {self._gid(tx)}")
        except self._psycopg.Error as error:
            raise Refused(_told(error)) from error
        # In a transaction that has failed, or is over, it is not an error but a rollback.
        if done.statusmessage != "PREPARE TRANSACTION":
            raise Refused("the transaction had ended before it was prepared")
        self._leave(self._sessions.pop(tx))

    def commit(self, tx: str) -> None:
        with self._connection() as connection:
            try:
                connection.execute(f"commit prepared {self._gid(tx)}")
            except self._psycopg.errors.UndefinedObject:
                note = "select from electorate_committed where tx = %s"
                if not connection.execute(note, (tx,)).rowcount:
                    raise Damaged(f"{self._name} has lost what was prepared") from None

    def abort(self, tx: str) -> None:
        session = self._sessions.pop(tx, None)
        if session is not None:
            with suppress(self._psycopg.Error):
                session.execute("rollback")
            self._leave(session)
        with self._connection() as connection, suppress(self._psycopg.errors.UndefinedObject):
            connection.execute(f"rollback prepared {self._gid(tx)}")

    def known(self) -> frozenset[str]:
        with self._connection() as connection:
            rows = connection.execute("select tx from electorate_committed").fetchall()
        return self.prepared() | {tx for (tx,) in rows}

    def prepared(self) -> frozenset[str]:
        prefix = f"electorate/{self._name}/"
        query = (
            "select substr(gid, %s) from pg_prepared_xacts "
            "where database = current_database() and starts_with(gid, %s)"
        )
        with self._connection() as connection:
            rows = connection.execute(query, (len(prefix) + 1, prefix)).fetchall()
        return frozenset(tx for (tx,) in rows)

    def cancel(self, tx: str) -> None:
        session = self._sessions.get(tx)
        if session is not None:
            session.cancel()

    def missing(self, tx: str) -> list[str]:
        return []  # The server has what is prepared, or it is gone.

    def belongs(self, mark: LogMark) -> LogMark | None:
        with self._connection() as connection:
            rows = connection.execute("select store, life from electorate_log").fetchall()
            was = LogMark(*rows[0]) if rows else None
            if was != mark:
                insert = "insert into electorate_log values (%s, %s)"
                with connection.transaction():
                    connection.execute("delete from electorate_log")
                    connection.execute(insert, (mark.store, mark.life))
        return was

    def forget(self, tx: str) -> None:
        with self._connection() as connection:
            connection.execute("delete from electorate_committed where tx = %s", (tx,))

    def close(self) -> None:
        with self._lock:
            for connection in (*self._sessions.values(), *self._idle):
                connection.close()
            self._sessions.clear()
            self._idle.clear()

    def _begun(self) -> "psycopg.Connection[Any]":
        session = self._taken()
        try:
            session.execute("begin isolation level serializable")
            # Two transactions that wait for each other in two databases are seen by neither.
            session.execute(f"set local lock_timeout = {int(1000 * self._wait_s)}")
            timeout = int(1000 * self.access.seconds)
            session.execute(f"set local statement_timeout = {timeout}")
        except self._psycopg.Error:
            self._leave(session)
            raise
        return session

    @contextmanager
    def _connection(self) -> "Iterator[psycopg.Connection[Any]]":
        """A connection on which every statement is a transaction of its own."""
        connection = self._taken()
        try:
            yield connection
        finally:
            self._leave(connection)

    def _taken(self) -> "psycopg.Connection[Any]":
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        connection = self._psycopg.connect(self._conninfo, autocommit=True, connect_timeout=5)
        if not self._set_up:
            try:
                self._prepare_server(connection)
            except BaseException:
                connection.close()
                raise
            self._set_up = True
        return connection

    def _prepare_server(self, connection: "psycopg.Connection[Any]") -> None:
        ((most,),) = connection.execute("show max_prepared_transactions").fetchall()
        if int(most) == 0:
            raise Refused(UNPREPARED)
        superuser = "select rolname from pg_roles where rolname = current_user and rolsuper"
        for (name,) in connection.execute(superuser).fetchall():
            log.warning(
                "%s is used as %s, who is a superuser: so is whoever may run SQL there. Give it a "
                "user that owns no more than it needs",
                *(self._name, name),
            )
        for table, columns in TABLES.items():
            if connection.execute("select to_regclass(%s)", (table,)).fetchone() == (None,):
                connection.execute(f"create table {table} ({columns})")

    def _leave(self, connection: "psycopg.Connection[Any]") -> None:
        """Keep a connection for later, unless it is broken or has a transaction open."""
        with self._lock:
            idle = self._psycopg.pq.TransactionStatus.IDLE
            if not connection.closed and connection.info.transaction_status == idle:
                self._idle.append(connection)
                return
            if connection.closed:
                # The server has gone: so have the other connections to it.
                for idle_too in self._idle:
                    idle_too.close()
                self._idle.clear()
        connection.close()

    def _gid(self, tx: str) -> str:
        gid = f"electorate/{self._name}/{tx}"
        if len(gid) > GID_MAX or not re.fullmatch(r"[\w./-]+", gid):
            raise Refused(f"{tx!r} is no name of a transaction")
        return f"'{gid}'"


def first_word(statement: Any) -> str:
    """The word that a statement begins with, after all comments."""
    if not isinstance(statement, str):
        raise Refused(f"a statement is SQL as text, not {statement!r}")
    word = re.match(r"(?:\s|--[^\n]*|/\*.*?\*/|\()*(\w*)", statement, re.DOTALL)
    return word[1].lower() if word else ""


def _told(error: Exception) -> str:
    """What the server said, in one line."""
    return " ".join(str(error).split()) or type(error).__name__
