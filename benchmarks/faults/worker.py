"""One of the processes that are hurt: while it leads, it works, and writes down what it did.

Its work is careless on purpose: it looks whether it still leads, and writes a while later without
looking again. Whoever takes the write has to refuse what is stale, by the token.
"""

import os
import random
import sqlite3
import sys
import threading
import time
from pathlib import Path

from benchmarks.faults.evidence import FENCE, POINTS, REFUSED, UNFENCED
from electorate import Term, sync
from electorate.leadership.term import Tenure
from electorate.runtime.tcp import now_ms

WORK_S = 0.02
MUTANTS = ("unchecked", "stretched")
STRETCH_S = 1.0


class Note:
    """A file to which all processes append whole lines."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, *words: object) -> None:
        """One line, in one write: lines of different processes never mix."""
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


class Fence:
    """A row that takes no token that is smaller than the largest it has seen."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, timeout=30, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        # Processes are killed here, and not the machine: what was written stays.
        self._database.execute("pragma synchronous = off")
        self._database.execute("create table if not exists job (id integer primary key, token)")
        self._database.execute("create table if not exists taken (n integer primary key, token)")
        self._database.execute("insert or ignore into job values (1, 0)")

    def write(self, token: int) -> bool:
        """Write with this token; whether it was taken. All that was taken is kept, in order."""
        self._database.execute("begin immediate")
        update = "update job set token = ? where id = 1 and token <= ?"
        taken = self._database.execute(update, (token, token)).rowcount == 1
        if taken:
            self._database.execute("insert into taken (token) values (?)", (token,))
        self._database.execute("commit")
        return taken


class Worker:
    """What it does in a term."""

    def __init__(self, name: str, folder: Path, mutant: str | None) -> None:
        self._mutant = mutant
        self._who = (name, os.getpid())
        self._points = Note(folder / POINTS)
        self._unfenced = Note(folder / UNFENCED)
        self._refused = Note(folder / REFUSED)
        self._fence = Fence(folder / FENCE)

    def lead(self, term: Term) -> None:
        """Work until the term is over."""
        while True:
            # The clock before the look: if that finds the term to last, it lasted at this time.
            at = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            if self._mutant != "unchecked":
                term.check()
            self._points.add(at, term.token, *self._who)
            time.sleep(random.uniform(0, WORK_S))
            self._unfenced.add(at, term.token, *self._who)
            if not self._fence.write(term.token):
                self._refused.add(at, term.token, *self._who)


def stretch() -> None:
    """The mutant of a term that goes by its own idea of time, and lasts a second too long."""

    def remaining(self: Tenure) -> float:
        return max(0.0, (self._deadline_ms - now_ms()) / 1000 + STRETCH_S)

    Tenure.remaining = remaining  # type: ignore[method-assign]


def end_with_parent() -> None:
    """Whoever started this holds the other end of its standard input."""
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Worker of NAME, in FOLDER, among MEMBERS."""
    name, folder, mutant, *members = sys.argv[1:]
    threading.Thread(target=end_with_parent, daemon=True).start()
    if mutant == "stretched":
        stretch()
    worker = Worker(name, Path(folder), mutant)
    with sync.Node(name, members, Path(folder) / name) as node:
        for term in node.election("job").terms():
            with term:
                worker.lead(term)


if __name__ == "__main__":
    main()
