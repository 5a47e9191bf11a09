"""Anything at all as a resource: three functions that prepare, commit and abort.

`prepare(tx, work)` gets what the application handed to `execute`, in order; it raises Refused if
that cannot be done. Once it has returned, `commit(tx)` and `abort(tx)` must be possible whatever
happens, also after a crash, and doing them twice must be the same as doing them once.

A note is written in the file `notes` before `prepare` is called, so that after a crash it is known
what may have been prepared.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from electorate.errors import Refused
from electorate.transactions.access import Access
from electorate.transactions.resource import Answer, LogMark

Work = list[tuple[Any, tuple[Any, ...]]]


class Triple:
    """Three functions, and notes of what may be prepared."""

    isolation = "that of its functions"

    def __init__(
        self,
        prepare: Callable[[str, Work], object],
        commit: Callable[[str], object],
        abort: Callable[[str], object],
        notes: Path | str,
        access: Access | None = None,
    ) -> None:
        self.access = access or Access()
        self._functions = prepare, commit, abort
        self._work: dict[str, Work] = {}
        self._lock = threading.Lock()
        self._path = notes
        self._file: sqlite3.Connection | None = None

    def open(self) -> None:
        with self._lock:
            self._opened()

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            self._file = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._file.execute("pragma synchronous=extra")
            self._file.execute("create table if not exists note (tx text primary key)")
            self._file.execute("create table if not exists log (store text, life integer)")
        return self._file

    def execute(self, tx: str, statement: Any, values: Sequence[Any] = ()) -> Answer:
        self._work.setdefault(tx, []).append((statement, tuple(values)))
        return Answer()

    def prepare(self, tx: str) -> None:
        if tx not in self._work:
            raise Refused("there is no work of this transaction here")
        self._note("insert into note values (?)", tx)
        try:
            self._functions[0](tx, self._work.pop(tx))
        except Refused:
            raise
        except Exception as error:
            raise Refused(f"{type(error).__name__}: {error}") from error

    def commit(self, tx: str) -> None:
        self._functions[1](tx)
        self.forget(tx)  # From here on there is nothing to abort.

    def abort(self, tx: str) -> None:
        self._work.pop(tx, None)
        if tx in self.known():
            self._functions[2](tx)
            self.forget(tx)

    def known(self) -> frozenset[str]:
        with self._lock:
            return frozenset(tx for (tx,) in self._opened().execute("select tx from note"))

    def prepared(self) -> frozenset[str]:
        return self.known()

    def cancel(self, tx: str) -> None:
        """Nothing is done before `prepare`."""

    def missing(self, tx: str) -> list[str]:
        return []

    def belongs(self, mark: LogMark) -> LogMark | None:
        with self._lock:
            found = self._opened().execute("select store, life from log").fetchone()
            self._opened().execute("delete from log")
            self._opened().execute("insert into log values (?, ?)", (mark.store, mark.life))
        return None if found is None else LogMark(*found)

    def forget(self, tx: str) -> None:
        self._note("delete from note where tx = ?", tx)

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()

    def _note(self, statement: str, tx: str) -> None:
        with self._lock:
            self._opened().execute(statement, (tx,))
