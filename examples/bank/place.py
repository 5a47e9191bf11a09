"""Where the money is: three databases, of one kind or the other."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from electorate.transactions.history import FIRST
from electorate.transactions.postgres import Postgres
from electorate.transactions.resource import Resource
from electorate.transactions.sqlite import Sqlite

ROOT = Path(__file__).resolve().parents[2]
"""Where the processes of the bank are started, so that Python finds `examples` there."""
ACCOUNTS = ("savings", "checking", "moneymkt")
ATM = "atm"
SAVED = 1_000_000
"""What every customer has to begin with, in savings and in the money market."""
DISPENSED = 350
OVERDRAWN = -100
"""What the customer has in checking who never gets anything."""
TABLES = (
    "create table account (id integer primary key, balance integer, writer text)",
    "create table movement (tx text, account integer, replaced text)",
    "create table payment (tx text primary key, account integer, amount integer, state text)",
)

Kind = Literal["sqlite", "postgres"]


class Spec(msgspec.Struct, frozen=True):
    """All that the processes of the bank have in common; a file in their folder."""

    kind: Kind
    members: dict[str, str]
    customers: int
    clients: int
    seed: int
    conninfo: dict[str, str] = {}
    wait_s: float = 1.0
    """How long a transaction waits for another one in the same database."""

    @classmethod
    def read(cls, folder: Path) -> "Spec":
        return msgspec.json.decode((folder / "bank.json").read_bytes(), type=cls)

    def write(self, folder: Path) -> None:
        (folder / "bank.json").write_bytes(msgspec.json.encode(self))

    @property
    def places(self) -> list[str]:
        """All members, as `name@host:port`."""
        return [f"{name}@{address}" for name, address in self.members.items()]

    def resource(self, folder: Path, name: str) -> Resource | None:
        """The database of a member; the cash machine has none."""
        if name not in ACCOUNTS:
            return None
        if self.kind == "postgres":
            return Postgres(name, self.conninfo[name], self.wait_s)
        return Sqlite(folder / f"{name}.db", self.wait_s)

    def sql(self, statement: str) -> str:
        """A statement as this kind of database takes it; `~` stands for a lock on what is read."""
        if self.kind == "postgres":
            return statement.replace("?", "%s").replace("~", " for update")
        return statement.replace("~", "")

    @contextmanager
    def look(self, folder: Path, name: str) -> "Iterator[Any]":
        """The database itself, as anybody sees it who is allowed to."""
        if self.kind == "postgres":
            import psycopg

            with psycopg.connect(self.conninfo[name]) as db:
                yield db
        else:
            with closing(sqlite3.connect(folder / f"{name}.db")) as file:
                yield file
                file.commit()

    def query(self, folder: Path, name: str, statement: str) -> list[tuple[Any, ...]]:
        """What a database says now."""
        with self.look(folder, name) as db:
            return list(db.execute(self.sql(statement)).fetchall())

    def clear(self, folder: Path) -> None:
        """Throw away what another run has left."""
        for name in ACCOUNTS:
            with self.look(folder, name) as db:
                for table in ("account", "movement", "payment"):
                    db.execute(f"drop table if exists {table}")

    def set_up(self, folder: Path) -> None:
        """Open the accounts. The last customer is poor: no verification will ever succeed."""
        for name in ACCOUNTS:
            with self.look(folder, name) as db:
                for table in TABLES:
                    db.execute(table)
                for customer in range(1, self.customers + 1):
                    balance = self._checking(customer) if name == "checking" else SAVED
                    insert = self.sql("insert into account values (?, ?, ?)")
                    db.execute(insert, (customer, balance, FIRST))

    def owned_by(self, customer: int) -> int:
        """What a customer has to begin with, in all accounts."""
        return 2 * SAVED + self._checking(customer)

    @property
    def initial(self) -> int:
        """All the money there is to begin with."""
        return sum(map(self.owned_by, range(1, self.customers + 1)))

    def _checking(self, customer: int) -> int:
        return OVERDRAWN if customer == self.customers else 0
