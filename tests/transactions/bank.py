"""A small bank in the test's own process: a node for each account, and one that coordinates."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from electorate import sync
from electorate.core import Stage
from electorate.errors import Aborted, OutcomeUnknown
from electorate.leadership.directory import number
from electorate.pace import Pace
from electorate.transactions.host import TransactionHost
from electorate.transactions.resource import Resource
from electorate.transactions.sqlite import Sqlite
from tests.runtime.cluster import free_addresses, wait_until

ACCOUNTS = ("savings", "checking", "moneymkt")
PACE = Pace(
    T=0.03,
    P=0.015,
    timeout=1.5,
    work_timeout=3.0,
    votes_timeout=1.5,
    decision_timeout=0.3,
    retry_every=0.2,
    idle_timeout=1.0,
    settle_timeout=2.0,
)

Open = Callable[[str], Resource]


class Bank:
    """Nodes by name; each can be stopped and started again."""

    def __init__(self, folder: Path, opened: Open | None = None, pace: Pace = PACE) -> None:
        self.folder = folder
        self.pace = pace
        self.members = dict(
            zip((*ACCOUNTS, "atm"), (f"{h}:{p}" for h, p in free_addresses(4)), strict=True)
        )
        self.nodes: dict[str, sync.Node] = {}
        self.watched: list[tuple[str, str, str]] = []
        self._open = opened or (lambda name: Sqlite(folder / f"{name}.db", wait_s=0.5))

    def start(self, *names: str, **changed: Any) -> None:
        for name in names or self.members:
            resource = self._open(name) if name in ACCOUNTS else None
            self.nodes[name] = sync.Node(
                name,
                [f"{each}@{address}" for each, address in self.members.items()],
                self.folder / name,
                pace=self.pace,
                database=resource,
                watch=partial(self._watch, name),
                **changed,
            )
            self.nodes[name].__enter__()

    def host(self, name: str) -> TransactionHost:
        """All transactions of a node."""
        return host_of(self.nodes[name])

    def sees(self, name: str, other: str) -> bool:
        """Whether one node takes another for live."""
        return number(other) in self.host(name).members.alive

    def _watch(self, name: str, tx: str, what: str) -> None:
        self.watched.append((name, tx, what))

    def stop(self, *names: str) -> None:
        for name in names or list(self.nodes):
            if name in self.nodes:
                self.nodes.pop(name).__exit__()

    def restart(self, *names: str) -> None:
        self.stop(*names)
        self.start(*names)

    def reached(self) -> None:
        """Wait until the coordinator gets answers from everybody who runs."""
        for name in ACCOUNTS:
            if name in self.nodes:
                wait_until(partial(self._answers, name), 20)

    def _answers(self, name: str) -> bool:
        with suppress(Aborted), self.atm.transaction() as tx:
            tx.on(name).execute("select 1")
            return True
        return False

    @property
    def atm(self) -> sync.Node:
        return self.nodes["atm"]

    def open_deals(self) -> dict[str, list[str]]:
        return {name: sorted(node.open_transactions) for name, node in self.nodes.items()}

    def settled(self, seconds: float = 20.0) -> None:
        """Wait until no transaction is left anywhere."""
        wait_until(lambda: not any(self.open_deals().values()), seconds)


def host_of(node: sync.Node) -> TransactionHost:
    """All transactions of a node."""
    engine = node._node._caller
    assert engine is not None
    return engine.transactions


@contextmanager
def running(bank: Bank) -> Iterator[Bank]:
    bank.start()
    try:
        bank.reached()
        yield bank
    finally:
        for name in list(bank.nodes):
            with suppress(Exception):
                bank.stop(name)


def read(path: Path, query: str) -> Any:
    """Look into the file of a database that nobody has open."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


MOVE = "update account set balance = balance + ? where id = 1"


class Crash(Exception):
    """The node is gone."""


class Fragile(Bank):
    """A bank one of whose nodes crashes at a point that is chosen beforehand."""

    def __init__(self, folder: Path, opened: Open | None = None, pace: Pace = PACE) -> None:
        super().__init__(folder, opened, pace)
        self.victim = ""
        self.point = ""
        self.left = 0
        self._earlier: set[str] = set()
        """Transactions in which nobody crashes any more."""
        self.deaf = ""
        """Who does not hear what the atm tells another first."""

    def _watch(self, name: str, tx: str, what: str) -> None:
        super()._watch(name, tx, what)
        if self.deaf and name == "atm" and what == "sent Commit":
            self.host("atm").host.network.cut = frozenset({number(self.deaf)})
        if name == self.victim and what == self.point and tx not in self._earlier:
            self.left -= 1
            if self.left == 0:
                raise Crash(f"{name} after it {what}")

    def told_only_to_one(self, *accounts: str) -> None:
        """Move money; the second account does not hear of the commit, and the atm is gone."""
        source, target = accounts or ("savings", "checking")
        self.deaf = target
        move(self, source, target)
        self.deaf = ""
        wait_until(lambda: self.stage(source) is Stage.COMMITTED)
        self.stop("atm")
        (instance,) = self.host(target).instances.values()
        assert not instance.state.told

    def stage(self, name: str) -> Stage | None:
        """How far a node has come with the one transaction that is left."""
        found = list(self.host(name).instances.values())
        return found[0].view.state if found else None

    def crashed(self, victim: str, point: str, times: int = 1) -> str:
        """Move money, and let a node crash at a point of that; returns what the client is told.

        The point is named, not counted: on a slow day things are said twice.
        """
        self._earlier = {tx for _, tx, _ in self.watched}
        self.victim, self.point, self.left = victim, point, times
        outcome = "committed"
        try:
            move(self)
        except Aborted:
            outcome = "aborted"
        except OutcomeUnknown:
            outcome = "unknown"
        wait_until(lambda: not self.nodes[victim].running)
        self.victim = ""
        with suppress(Crash):
            self.stop(victim)
        return outcome


def set_up(bank: Bank) -> None:
    """500 in every account."""
    with bank.atm.transaction() as tx:
        for name in ACCOUNTS:
            tx.on(name).execute("create table account (id integer primary key, balance int)")
            tx.on(name).execute("insert into account values (1, 500)")
    bank.settled()


def move(bank: Bank, source: str = "savings", target: str = "checking") -> None:
    """Move 100."""
    with bank.atm.transaction() as tx:
        tx.on(source).execute(MOVE, -100)
        tx.on(target).execute(MOVE, 100)


def balances(bank: Bank) -> tuple[int, ...]:
    """All three, at one moment."""
    for _ in range(20):
        try:
            with bank.atm.transaction() as tx:
                found = [tx.on(name).execute("select balance from account") for name in ACCOUNTS]
            return tuple(answer.value() for answer in found)
        except Aborted:
            continue
    raise AssertionError("nothing gets through any more")
