"""The books of the bank, once everybody has come to an end."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from electorate.runtime.store import FILE
from electorate.transactions.history import DatabaseRow, History, Read, Write
from examples.bank.drawer import Drawer
from examples.bank.place import ACCOUNTS, ATM, Spec


class Books(msgspec.Struct, frozen=True):
    """What is in the databases, and what is wrong with it."""

    initial: int
    left: int
    dispensed: int
    commits: int
    returned: int
    flaws: list[str]


def audit(spec: Spec, folder: Path, reads: list[Read]) -> Books:
    """Count the money, and see that every transaction is in all accounts or in none."""
    balances = [int(row[0]) for name in ACCOUNTS for row in _query(spec, folder, name, "balance")]
    given = dict(_drawer(folder))
    every = "select tx, state from payment"
    payments: dict[str, str] = dict(spec.query(folder, "checking", every))
    moves = {name: _movements(spec, folder, name) for name in ACCOUNTS}
    withdrawn = {tx for tx, _, _ in moves["savings"]}
    flaws = list(_unpaired(withdrawn, moves, payments))
    flaws += [f"{tx} is {state}" for tx, state in payments.items() if state == "owed"]
    wrong = {tx for tx, state in payments.items() if (state == "given") != (tx in given)}
    flaws += [f"{tx} is {payments[tx]}, but the drawer says otherwise" for tx in sorted(wrong)]
    left, dispensed = sum(balances), sum(given.values())
    if left != spec.initial - dispensed:
        flaws.append(f"{spec.initial} - {dispensed} is {spec.initial - dispensed}, not {left}")
    writes = [
        Write(tx, DatabaseRow(name, account), replaced)
        for name in ACCOUNTS
        for tx, account, replaced in moves[name]
    ]
    flaws += History(reads, writes).flaws()
    flaws += _left_over(spec, folder)
    returned = sum(state == "returned" for state in payments.values())
    return Books(spec.initial, left, dispensed, len(withdrawn), returned, flaws)


def _query(spec: Spec, folder: Path, name: str, column: str) -> list[tuple[Any, ...]]:
    return spec.query(folder, name, f"select {column} from account")


def _movements(spec: Spec, folder: Path, name: str) -> list[tuple[Any, ...]]:
    return spec.query(folder, name, "select tx, account, replaced from movement")


def _drawer(folder: Path) -> list[tuple[str, int]]:
    drawer = Drawer(folder / "drawer.db")
    try:
        return list(drawer.given().items())
    finally:
        drawer.close()


def _unpaired(
    withdrawn: set[str], moves: dict[str, list[tuple[Any, ...]]], payments: dict[str, str]
) -> list[str]:
    """Transactions that are in one account and not in another."""
    in_checking = {tx for tx, _, _ in moves["checking"]}
    in_moneymkt = {tx for tx, _, _ in moves["moneymkt"]}
    flaws = [f"{tx} is not in moneymkt" for tx in sorted(withdrawn ^ in_moneymkt)]
    flaws += [f"{tx} is not in checking" for tx in sorted(withdrawn - in_checking)]
    return flaws + [f"{tx} is half there" for tx in sorted(withdrawn ^ payments.keys())]


def _left_over(spec: Spec, folder: Path) -> list[str]:
    """Prepared transactions and records of logs that nobody has cleared away."""
    flaws = []
    for name in ACCOUNTS:
        where = "electorate_prepared"
        column = "tx"
        if spec.kind == "postgres":
            column, where = "gid", "pg_prepared_xacts where database = current_database()"
        left = spec.query(folder, name, f"select {column} from {where}")
        flaws += [f"{name} still has {tx} prepared" for (tx,) in left]
    for name in (*ACCOUNTS, ATM):
        flaws += [f"{record} is still in the log of {name}" for record in _records(folder / name)]
    return flaws


def _records(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / FILE)) as db:
        query = "select instance from stable where instance like 'transaction %'"
        found = db.execute(query).fetchall()
        return [str(name) for (name,) in found]
