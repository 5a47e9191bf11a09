"""The drawer of the cash machine: what was given is given. Now and then it jams."""

import sqlite3
import zlib
from pathlib import Path

JAMS = 7
"""One in so many payments jams."""


class Jammed(Exception):
    """The money does not come out."""


class Drawer:
    """Gives money out, at most once for each transaction, also over a crash."""

    def __init__(self, path: Path, *, jams: bool = True) -> None:
        self._jams = jams
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("pragma synchronous=extra")
        self._db.execute("create table if not exists given (tx text primary key, amount integer)")

    def give(self, tx: str, amount: int) -> None:
        """Give the money; once it is out, it stays out."""
        if self._jams and zlib.crc32(tx.encode()) % JAMS == 0:
            raise Jammed(f"no money came out for {tx}")
        self._db.execute("insert or ignore into given values (?, ?)", (tx, amount))

    def given(self) -> dict[str, int]:
        """What was given for which transaction."""
        return dict(self._db.execute("select tx, amount from given").fetchall())

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
