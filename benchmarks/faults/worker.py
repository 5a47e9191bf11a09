"""One of the processes that are hurt: while it leads, it works, and writes down what it did.

Its work is careless on purpose: it looks whether it still leads, and writes a while later without
looking again. Whoever takes the write has to refuse what is stale, by the token.
"""

import ctypes
import json
import logging
import os
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

from benchmarks.faults.evidence import (
    ACCOUNT,
    ANSWERS,
    FENCE,
    GROUPS,
    JOB,
    OPEN,
    POINTS,
    REFUSED,
    SPARE,
    TEAM,
    TRANSFERS,
    UNFENCED,
    Note,
)
from benchmarks.faults.ledger import SCHEMA
from electorate import Access, Pace, Term, sync
from electorate.errors import (
    Aborted,
    ElectorateError,
    NodeStopped,
    OutcomeUnknown,
    Refused,
    Removed,
)
from electorate.leadership.term import Tenure
from electorate.transactions.sqlite import Sqlite

WORK_S = 0.02
TEAM_S = 0.1
TRANSFER_S = 0.2
MUTANTS = ("unchecked", "stretched", "careless")
STRETCH_S = 1.0
PACE = Pace(
    work_timeout=2.0,
    votes_timeout=2.0,
    decision_timeout=1.0,
    retry_every=0.3,
    idle_timeout=3.0,
    settle_timeout=1.0,
)
"""Elections at the default pace; transactions that are undone soon, for faults come often."""


class Orders(NamedTuple):
    """What a worker is started with, as one word of its command line."""

    me: str
    """Its name and address."""
    members: list[str]
    folder: str
    data: str
    mutant: str | None = None
    record: str | None = None
    joins: bool = False
    is_wide: bool = False
    """Whether it stands in the spare election and in the team as well."""
    more: int = 0
    """How many more elections it stands in."""
    accounts: list[str] = []
    """The names of members that have an account; money goes from one to another."""

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


def true_clock() -> Callable[[], int]:
    """The clock of the machine, also where this process is shown another one."""
    if "FAULTS_CONTROL" not in os.environ:
        return lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    shown = ctypes.CDLL(None).faults_true_ns
    shown.restype = ctypes.c_int64
    return lambda: int(shown())


now_ns = true_clock()


class Yields:
    """How often this process was told to give up every office that it has."""

    def __init__(self) -> None:
        self.number = 0


class Fence:
    """A row that takes a token that is larger than all it has seen, and then its owner's only."""

    def __init__(self, path: Path, *, is_careless: bool = False) -> None:
        self._is_careless = is_careless
        self._database = sqlite3.connect(path, timeout=30, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        # Processes are killed here, and not the machine: what was written stays.
        self._database.execute("pragma synchronous = off")
        for table in (
            "job (id integer primary key, token, name, pid)",
            "taken (n integer primary key, token, name, pid)",
        ):
            self._database.execute(f"create table if not exists {table}")
        self._database.execute("insert or ignore into job values (1, 0, '', 0)")

    def write(self, token: int, name: str = "", pid: int = 0) -> bool:
        """Write with this token; whether it was taken. All that was taken is kept, in order."""
        self._database.execute("begin immediate")
        owner = (token, name, pid)
        update = "update job set token = ?, name = ?, pid = ? where id = 1"
        if not self._is_careless:
            update += " and (token < ? or (token, name, pid) = (?, ?, ?))"
        values = owner if self._is_careless else (*owner, token, *owner)
        taken = self._database.execute(update, values).rowcount == 1
        if taken:
            insert = "insert into taken (token, name, pid) values (?, ?, ?)"
            self._database.execute(insert, owner)
        self._database.execute("commit")
        return taken


class Worker:
    """What it does in a term. It is made in the thread that works."""

    def __init__(self, orders: Orders, election: str, work_s: float, yields: Yields) -> None:
        folder, mutant = Path(orders.folder) / election, orders.mutant
        folder.mkdir(parents=True, exist_ok=True)
        self._yields = yields
        self._mutant = mutant
        self._work_s = work_s
        self._who = (orders.name, os.getpid())
        self._points = Note(folder / POINTS)
        self._unfenced = Note(folder / UNFENCED)
        self._refused = Note(folder / REFUSED)
        self._fence = Fence(folder / FENCE, is_careless=mutant == "careless")

    def lead(self, term: Term) -> None:
        """Work until the term is over, or is to be given up."""
        told = self._yields.number
        while told == self._yields.number:
            # The clock before the look: if that finds the term to last, it lasted at this time.
            at = now_ns()
            if self._mutant != "unchecked":
                term.check()
            self._points.add(at, term.token, *self._who)
            time.sleep(random.uniform(0, self._work_s))
            self._unfenced.add(at, term.token, *self._who)
            if not self._fence.write(term.token, *self._who):
                self._refused.add(at, term.token, *self._who)


def stretch() -> None:
    """The mutant of a term that goes by its own idea of time, and lasts a second too long."""

    def remaining(self: Tenure) -> float:
        return max(0.0, (self._deadline_ms - self._clock()) / 1000 + STRETCH_S)

    Tenure.remaining = remaining  # type: ignore[method-assign]


def stand(
    node: sync.Node, election: str, orders: Orders, yields: Yields, work_s: float = WORK_S
) -> None:
    """Stand in an election by quorum, and work in every term, until the node ends."""
    worker = Worker(orders, election, work_s, yields)
    for term in node.election(election).terms():
        with term:
            worker.lead(term)


def lead_teams(node: sync.Node, orders: Orders) -> None:
    """Say again and again which group this node leads, until the node ends."""
    groups = Note(Path(orders.folder) / GROUPS)
    for term in node.election(TEAM, safety="group").terms():
        with term:
            while not term.lost.is_set():
                members = ",".join(sorted(term.members))
                groups.add(now_ns(), term.token, orders.name, os.getpid(), members)
                term.lost.wait(TEAM_S)


class Transfers:
    """Money that goes from one account to another, and what has become of each transfer."""

    def __init__(self, node: sync.Node, orders: Orders) -> None:
        self._node = node
        self._orders = orders
        self._told = Note(Path(orders.folder) / TRANSFERS)
        self._open = Note(Path(orders.folder) / OPEN)
        self.is_over = threading.Event()

    def work(self) -> None:
        """Transfer until told that it is over; then say again and again how many are still open."""
        chance, number = random.Random(), 0
        while True:
            if self.is_over.is_set():
                self._open.add(now_ns(), self._orders.name, len(self._node.open_transactions))
            else:
                number += 1
                self._transfer(f"{self._orders.name}-{os.getpid()}-{number}", chance)
            time.sleep(chance.uniform(0, 2 * TRANSFER_S))

    def _transfer(self, key: str, chance: random.Random) -> None:
        # Whoever coordinates takes no part itself.
        others = [name for name in self._orders.accounts if name != self._orders.name]
        giver, taker = chance.sample(others, 2)
        amount = chance.randint(1, 9)
        try:
            with self._node.transaction() as tx:
                # In one order, so that two transfers do not wait for each other.
                for name, by in sorted(((giver, -amount), (taker, amount))):
                    at = tx.on(name)
                    at.execute("update account set balance = balance + ?", by)
                    at.execute("insert into moved values (?, ?)", key, by)
        except NodeStopped:
            self._told.add(key, "unknown")
            raise
        except (OutcomeUnknown, TimeoutError):
            self._told.add(key, "unknown")
        except (Aborted, Refused):
            self._told.add(key, "aborted")
        else:
            self._told.add(key, "committed")


def database(orders: Orders) -> Sqlite | None:
    """The account of this worker, if it has one."""
    if orders.name not in orders.accounts:
        return None
    path = Path(orders.data) / ACCOUNT
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None, timeout=5)
    connection.execute("pragma synchronous = extra")
    connection.execute("begin immediate")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute("commit")
    connection.close()
    return Sqlite(path, access=Access(allow="sql"))


def obey(node: sync.Node, folder: Path, transfers: Transfers, yields: Yields) -> None:
    """Carry out every line of the standard input; end when whoever started this is gone."""
    answers = Note(folder / ANSWERS)
    for line in sys.stdin:
        if line.strip() == "finish":
            transfers.is_over.set()
            continue
        if line.strip() == "yield":
            yields.number += 1
            continue
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


class TrueTime(logging.Formatter):
    """Lines of a log by the clock of the machine."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        text = record.getMessage()
        if record.exc_info is not None and record.exc_info[1] is not None:
            text += f": {record.exc_info[1]}"
        return f"{now_ns()} {record.levelname} {' '.join(text.split())}"


def main() -> int:
    """Worker with these ORDERS."""
    orders = Orders.parse(sys.argv[1])
    handler = logging.StreamHandler()
    handler.setFormatter(TrueTime())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    if orders.mutant == "stretched":
        stretch()
    folder = Path(orders.folder)
    node = sync.Node(
        orders.me,
        orders.members,
        orders.data,
        pace=PACE,
        join=orders.joins,
        record=orders.record,
        database=database(orders),
        insecure=not all("@127.0.0.1:" in each for each in orders.members),
    )
    transfers, yields = Transfers(node, orders), Yields()
    # A node that was started and meets nobody must end with its parent, too.
    threading.Thread(target=obey, args=(node, folder, transfers, yields), daemon=True).start()
    try:
        with node:
            for work, given in also(node, orders, transfers, yields):
                threading.Thread(target=until_stopped, args=(work, *given), daemon=True).start()
            until_stopped(stand, node, JOB, orders, yields)
    except Removed as removed:
        print(removed, flush=True)
    return 0


def also(
    node: sync.Node, orders: Orders, transfers: Transfers, yields: Yields
) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """What this worker does besides, each in a thread of its own."""
    found: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
    if orders.is_wide:
        found += [(stand, (node, SPARE, orders, yields)), (lead_teams, (node, orders))]
    for number in range(orders.more):
        # Together they work as often as the one.
        found.append((stand, (node, f"more{number:03}", orders, yields, WORK_S * orders.more)))
    if orders.accounts:
        found.append((transfers.work, ()))
    return found


def until_stopped(work: Callable[..., None], *given: object) -> None:
    """Work until the node has ended; why it has, leaving it says."""
    try:
        work(*given)
    except (NodeStopped, Removed) as stopped:
        print(stopped, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
