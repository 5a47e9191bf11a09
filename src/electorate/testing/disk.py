"""The disk of a simulated machine: what was committed there survives every crash."""

import random
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from electorate.core import NodeId
from electorate.runtime.store import Store


class File:
    """A file of that disk, as one process has opened it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def execute(self, sql: str, values: Any = (), /) -> Iterable[Any]:
        """Run one statement."""
        return self._database.execute(sql, values)

    def close(self) -> None:
        """Close the file; it stays where it is."""


class Disk:
    """Keeps in memory what the store of a node would write to a file."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._files: dict[Path, sqlite3.Connection] = {}

    def open_store(self, folder: Path, node: NodeId) -> Store:
        """The store of a node, as a process finds it."""
        return Store(folder, node, self._open, lambda: f"{self._chance.getrandbits(128):032x}")

    def wipe(self) -> None:
        """Become a new disk: empty, and recognisable as another one."""
        for database in self._files.values():
            database.close()
        self._files.clear()

    def _open(self, path: Path) -> File:
        if path not in self._files:
            self._files[path] = sqlite3.connect(":memory:", isolation_level=None)
        return File(self._files[path])
