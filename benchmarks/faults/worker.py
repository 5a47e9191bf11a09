"""One of the processes that are hurt: while it leads, it works, and writes down what it did.

Its work is careless on purpose: it looks whether it still leads, and writes a while later without
looking again. Whoever takes the write has to refuse what is stale, by the token.
"""

import json
import os
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

from benchmarks.faults.evidence import (
    ANSWERS,
    FENCE,
    GROUPS,
    JOB,
    POINTS,
    REFUSED,
    SPARE,
    TEAM,
    UNFENCED,
)
from electorate import Term, sync
from electorate.errors import ElectorateError, NodeStopped, Removed
from electorate.leadership.term import Tenure

WORK_S = 0.02
TEAM_S = 0.1
MUTANTS = ("unchecked", "stretched")
STRETCH_S = 1.0


class Orders(NamedTuple):
    """What a worker is started with, as one word of its command line."""

    me: str
    """Its name and address."""
    members: list[str]
    folder: str
    mutant: str | None = None
    record: str | None = None
    joins: bool = False
    is_wide: bool = False
    """Whether it stands in the spare election and in the team as well."""

    def text(self) -> str:
        """As a word."""
        return json.dumps(self._asdict())

    @classmethod
    def parse(cls, text: str) -> Self:
        """What the word says."""
        return cls(**json.loads(text))

    @property
    def name(self) -> str:
        """What it is called."""
        return self.me.partition("@")[0]


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
    """What it does in a term. It is made in the thread that works."""

    def __init__(self, name: str, folder: Path, mutant: str | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
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
        return max(0.0, (self._deadline_ms - self._clock()) / 1000 + STRETCH_S)

    Tenure.remaining = remaining  # type: ignore[method-assign]


def stand(node: sync.Node, election: str, orders: Orders) -> None:
    """Stand in an election by quorum, and work in every term, until the node ends."""
    worker = Worker(orders.name, Path(orders.folder) / election, orders.mutant)
    for term in node.election(election).terms():
        with term:
            worker.lead(term)


def lead_teams(node: sync.Node, orders: Orders) -> None:
    """Say again and again which group this node leads, until the node ends."""
    groups = Note(Path(orders.folder) / GROUPS)
    for term in node.election(TEAM, safety="group").terms():
        with term:
            while not term.lost.is_set():
                at = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                groups.add(at, term.token, orders.name, os.getpid(), ",".join(sorted(term.members)))
                term.lost.wait(TEAM_S)


def obey(node: sync.Node, folder: Path) -> None:
    """Carry out every line of the standard input; end when whoever started this is gone."""
    answers = Note(folder / ANSWERS)
    for line in sys.stdin:
        number, word, *given = line.split()
        change: Callable[..., None] = getattr(node, f"{word}_member")
        threading.Thread(target=change_members, args=(answers, number, change, given)).start()
    os._exit(1)


def change_members(
    answers: Note, number: str, change: Callable[..., None], given: list[str]
) -> None:
    """Change the members as ordered, and say what came of it."""
    try:
        change(*given)
    except (ElectorateError, ValueError) as error:
        answers.add(number, "failed", f"{type(error).__name__}: {error}")
    else:
        answers.add(number, "done")


def main() -> int:
    """Worker with these ORDERS."""
    orders = Orders.parse(sys.argv[1])
    if orders.mutant == "stretched":
        stretch()
    folder = Path(orders.folder)
    node = sync.Node(
        orders.me,
        orders.members,
        folder / orders.name,
        join=orders.joins,
        record=orders.record,
        insecure=not all("@127.0.0.1:" in each for each in orders.members),
    )
    # A node that was started and meets nobody must end with its parent, too.
    threading.Thread(target=obey, args=(node, folder), daemon=True).start()
    try:
        with node:
            if orders.is_wide:
                for work, given in ((stand, (node, SPARE, orders)), (lead_teams, (node, orders))):
                    threading.Thread(target=until_stopped, args=(work, *given), daemon=True).start()
            until_stopped(stand, node, JOB, orders)
    except Removed as removed:
        print(removed, flush=True)
    return 0


def until_stopped(work: Callable[..., None], *given: object) -> None:
    """Work until the node has ended; why it has, leaving it says."""
    try:
        work(*given)
    except (NodeStopped, Removed) as stopped:
        print(stopped, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
