"""What survives a crash: one SQLite file per node, written through before any message leaves.

Every boot raises the incarnation. The store has an identity of its own, so that the other nodes
notice when a node comes back with its memory wiped.
"""

import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

FORMAT = 1
FILE = "electorate.db"

SCHEMA = """
create table if not exists life (format integer, store text, incarnation integer);
create table if not exists stable (instance text primary key, data blob, checksum integer);
create table if not exists known (node integer primary key, store text, incarnation integer);
"""


class StoreError(Exception):
    """The store cannot be relied upon; a node must stop rather than guess."""


class Connection(Protocol):
    """As much of a database connection as the store needs."""

    def execute(self, sql: str, values: Any = ..., /) -> Iterable[Any]:
        """Run one statement."""

    def close(self) -> None:
        """Let go of the file."""


def connect(path: Path) -> Connection:
    """Open the file with Python's own SQLite."""
    return sqlite3.connect(path, isolation_level=None, timeout=0.2, check_same_thread=False)


class Store:
    """The durable memory of one node. Every write is synced before it returns."""

    def __init__(self, folder: Path, open_file: Callable[[Path], Connection] = connect) -> None:
        self._path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = open_file(self._path)
            self._prepare()
        except Exception as error:
            raise StoreError(f"cannot keep data in {folder}: {error}") from error
        row = self._row("select format, store, incarnation from life")
        self.first_start = row is None
        if row is None:
            row = (FORMAT, uuid.uuid4().hex, 0)
            self._write(("insert into life values (?, ?, ?)", row))
        if row[0] != FORMAT:
            raise StoreError(f"{self._path} has format {row[0]}; this version reads {FORMAT}")
        self.identity: str = row[1]
        self.incarnation: int = row[2]

    def begin_life(self) -> int:
        """Raise the incarnation, durably: no two lives of this store share one."""
        self.incarnation += 1
        self._write(("update life set incarnation = ?", (self.incarnation,)))
        return self.incarnation

    def _prepare(self) -> None:
        # An exclusive lock keeps two processes from sharing one memory; with it the write-ahead
        # log needs no shared memory, and a commit costs one sync.
        for pragma in ("locking_mode=exclusive", "journal_mode=wal", "synchronous=full"):
            list(self._db.execute(f"pragma {pragma}"))
        self._write(*(statement for statement in SCHEMA.split(";") if statement.strip()))

    def load(self, instance: str) -> bytes | None:
        """What was saved last under this name; None if nothing ever was."""
        row = self._row("select data, checksum from stable where instance = ?", (instance,))
        if row is None:
            return None
        data, checksum = bytes(row[0]), row[1]
        if zlib.crc32(data) != checksum:
            raise StoreError(f"the record of {instance} in {self._path} is damaged")
        return data

    def save(self, records: Mapping[str, bytes]) -> None:
        """Make these records durable, all together, before returning."""
        insert = "insert or replace into stable values (?, ?, ?)"
        rows = [(insert, (name, data, zlib.crc32(data))) for name, data in records.items()]
        self._write(*rows)

    def last_seen(self, node: int) -> tuple[str, int] | None:
        """The store and incarnation under which another node was met last."""
        row = self._row("select store, incarnation from known where node = ?", (node,))
        return None if row is None else (row[0], row[1])

    def remember(self, node: int, store: str, incarnation: int) -> None:
        """Note under which store and incarnation another node was met."""
        insert = "insert or replace into known values (?, ?, ?)"
        self._write((insert, (node, store, incarnation)))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _row(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        try:
            return next(iter(list(self._db.execute(sql, values))), None)
        except Exception as error:
            raise StoreError(f"cannot read {self._path}: {error}") from error

    def _write(self, *statements: str | tuple[str, tuple[Any, ...]]) -> None:
        """Run the statements as one durable transaction."""
        try:
            self._db.execute("begin immediate")
            for statement in statements:
                sql, values = (statement, ()) if isinstance(statement, str) else statement
                self._db.execute(sql, values)
            self._db.execute("commit")
        except Exception as error:
            raise StoreError(f"cannot write {self._path}: {error}") from error
