"""What survives a crash: one SQLite file per node, written through before any message leaves.

Every boot raises the incarnation. The store has an identity of its own, so that the other nodes
notice when a node comes back with its memory wiped.
"""

import contextlib
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from electorate.errors import StoreError
from electorate.runtime.private import make_private_file, make_private_folder

FORMAT = 1
FILE = "electorate.db"
SAVES = "electorate: saves"
"""The name under which it is kept how often anything was saved."""

SCHEMA = """
create table if not exists life
    (format integer, node integer, store text, incarnation integer, checksum integer);
create table if not exists stable (instance text primary key, data blob, checksum integer);
create table if not exists known (node integer primary key, store text, incarnation integer);
create table if not exists seen (node integer primary key, store text, saves integer);
"""

# An exclusive lock keeps two processes from sharing one memory; with it the write-ahead log needs
# no shared memory, and a commit costs one sync.
# Syncing comes before that log is set up, and is `extra`: otherwise a journal that SQLite used for
# the setting up, and deleted, may be back after a power cut and undo everything.
PRAGMAS = ("locking_mode=exclusive", "fullfsync=on", "synchronous=extra", "journal_mode=wal")


class FolderOfAnother(StoreError):
    """The folder was used by another node: its promises are not this node's to keep."""

    def __init__(self, file: Path, owner: int, node: int) -> None:
        super().__init__(f"{file} belongs to node {owner}, not to node {node}")
        self.owner = owner


class Connection(Protocol):
    """What the store needs of a database connection."""

    def execute(self, sql: str, values: Any = ..., /) -> Iterable[Any]:
        """Run one statement."""

    def close(self) -> None:
        """Close the file."""


def connect(path: Path) -> Connection:
    """Open the file with Python's own SQLite, in a folder that is there or can be made."""
    make_private_folder(path.parent)
    make_private_file(path)  # SQLite gives its other files the same mode.
    return sqlite3.connect(path, isolation_level=None, timeout=0.2, check_same_thread=False)


class Store:
    """The durable memory of one node, from when it is made. Every write is synced first.

    The disk is what `open_file` opens: the real one, or one that a test provides.
    """

    def __init__(
        self,
        folder: Path,
        node: int,
        open_file: Callable[[Path], Connection] = connect,
        new_identity: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._path = folder / FILE
        self._new_identity = new_identity
        self._saves = 0
        self._in_memory: dict[int, tuple[str, int]] = {}
        """How often other nodes have saved anything, and in which memory, as far as was seen."""
        self._unwritten: dict[int, tuple[str, int]] = {}
        try:
            self._db = open_file(self._path)
        except Exception as error:
            raise StoreError(f"cannot keep data in {folder}: {error}") from error
        try:
            self._prepare()
            self._remember_itself(node)
        except BaseException:
            with contextlib.suppress(Exception):
                self._db.close()
            raise

    def begin_life(self) -> int:
        """Raise the incarnation, durably: no two lives of this store share one."""
        self.incarnation += 1
        self._write_life()
        return self.incarnation

    @property
    def saves(self) -> int:
        """How often anything was saved here, in all lives: others remember the highest they saw."""
        return self._saves

    def load(self, instance: str) -> bytes | None:
        """What was saved last under this name; None if nothing ever was."""
        row = self._row("select data, checksum from stable where instance = ?", (instance,))
        if row is None:
            return None
        data, checksum = bytes(row[0]), row[1]
        if zlib.crc32(data) != checksum:
            raise StoreError(f"the record of {instance} in {self._path} is damaged")
        return data

    def save(self, records: Mapping[str, bytes | None]) -> None:
        """Save these records durably, all together, before returning; None deletes one."""
        saves, noted = self._saves + 1, dict(self._unwritten)
        counted = _written(SAVES, saves.to_bytes(8))
        seen = ((SEEN, (node, *each)) for node, each in noted.items())
        self._write(*(_written(name, data) for name, data in records.items()), counted, *seen)
        self._saves = saves
        for node, each in noted.items():
            if self._unwritten.get(node) == each:
                del self._unwritten[node]

    def names(self) -> list[str]:
        """All names under which something is saved."""
        try:
            names = [name for (name,) in self._db.execute("select instance from stable")]
            return [name for name in names if name != SAVES]
        except Exception as error:
            raise StoreError(f"cannot read {self._path}: {error}") from error

    def last_seen(self, node: int) -> tuple[str, int] | None:
        """The store and incarnation under which another node was met last."""
        row = self._row("select store, incarnation from known where node = ?", (node,))
        return None if row is None else (row[0], row[1])

    def is_older(self, node: int, store: str, incarnation: int, saves: int) -> bool:
        """Whether another node comes with less than it had saved when it was seen last.

        It was restored from a copy, or its disk has lost what it was told to keep.
        """
        known = self.last_seen(node)
        is_older_life = known is not None and known[0] == store and incarnation < known[1]
        return is_older_life or saves < self._seen(node, store)

    def note(self, node: int, store: str, saves: int) -> None:
        """Another node shows how often it has saved anything: written down with the next save."""
        if saves > self._seen(node, store):
            self._unwritten[node] = self._in_memory[node] = store, saves

    def _seen(self, node: int, store: str) -> int:
        if node not in self._in_memory:
            row = self._row("select store, saves from seen where node = ?", (node,))
            self._in_memory[node] = ("", 0) if row is None else (row[0], row[1])
        known, saves = self._in_memory[node]
        return saves if known == store else 0

    def meet(self, node: int, store: str, incarnation: int) -> str | None:
        """Note the store and incarnation under which another node was met, and what is odd."""
        known = self.last_seen(node)
        if known != (store, incarnation):
            insert = "insert or replace into known values (?, ?, ?)"
            self._write((insert, (node, store, incarnation)))
        if known is None or (known[0] == store and known[1] <= incarnation):
            return None
        return "an older memory" if known[0] == store else "its memory wiped"

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _prepare(self) -> None:
        try:
            for pragma in PRAGMAS:
                list(self._db.execute(f"pragma {pragma}"))
            self._write(*(statement for statement in SCHEMA.split(";") if statement.strip()))
        except Exception as error:
            if "locked" in str(error):
                raise StoreError(f"{self._path} is in use by another process") from error
            raise StoreError(f"cannot keep data in {self._path.parent}: {error}") from error
        verdict = self._row("pragma integrity_check")[0]
        if verdict != "ok":
            raise StoreError(f"{self._path} is damaged: {' '.join(verdict.split())}")

    def _remember_itself(self, node: int) -> None:
        self._node, self.incarnation = node, 0
        written = self._row("select format from life")
        self.first_start = written is None
        if written is None:
            self.identity = self._new_identity()
            self._write_life()
            return
        if written[0] != FORMAT:
            raise StoreError(f"{self._path} has format {written[0]}; this version reads {FORMAT}")
        *life, checksum = self._row("select node, store, incarnation, checksum from life")
        if _checksum(*life) != checksum:
            raise StoreError(f"the record of past lives in {self._path} is damaged")
        if life[0] != node:
            raise FolderOfAnother(self._path, life[0], node)
        _, self.identity, self.incarnation = life
        data = self.load(SAVES)
        self._saves = 0 if data is None else int.from_bytes(data)

    def _write_life(self) -> None:
        life = (self._node, self.identity, self.incarnation)
        insert = "insert into life values (?, ?, ?, ?, ?)"
        self._write("delete from life", (insert, (FORMAT, *life, _checksum(*life))))

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


SEEN = "insert or replace into seen values (?, ?, ?)"


def _written(name: str, data: bytes | None) -> tuple[str, tuple[Any, ...]]:
    if data is None:
        return "delete from stable where instance = ?", (name,)
    return "insert or replace into stable values (?, ?, ?)", (name, data, zlib.crc32(data))


def _checksum(node: int, store: str, incarnation: int) -> int:
    return zlib.crc32(f"{node} {store} {incarnation}".encode())
