"""What databases and workers say about transfers between accounts. It knows nothing of electorate.

A transfer leaves a row in each of two databases, or in none; all balances together stay the same.
"""

import shutil
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.faults.evidence import ACCOUNT, TRANSFERS

INITIAL = 1_000
SCHEMA = (
    "create table if not exists account (id integer primary key, balance integer not null)",
    "create table if not exists moved (id text primary key, amount integer not null)",
    f"insert or ignore into account values (1, {INITIAL})",
)


def told(folder: Path) -> dict[str, str]:
    """What became of each transfer: committed, aborted, or unknown."""
    path = folder / TRANSFERS
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split()[:2] for line in lines if len(line.split()) >= 2)


def unbalanced(folder: Path) -> list[str]:
    """What is wrong in the databases, once all transactions are over; empty if nothing is."""
    rows: dict[str, list[tuple[str, int]]] = defaultdict(list)
    balances = {}
    for path in sorted(folder.glob(f"*/{ACCOUNT}")):
        name = path.parent.name
        try:
            balances[name], moved = _read(path)
        except (sqlite3.Error, TypeError) as error:
            return [f"{name}: {path.name} cannot be read: {error}"]
        for key, amount in moved:
            rows[key].append((name, amount))
    found = []
    total = sum(balances.values())
    if total != INITIAL * len(balances):
        found.append(f"all accounts have {total} together, of {INITIAL * len(balances)}")
    for key, each in rows.items():
        if len(each) != 2 or sum(amount for _, amount in each) != 0:
            found.append(f"transfer {key} is split: {each}")
    for key, became in told(folder).items():
        if became == "committed" and key not in rows:
            found.append(f"transfer {key} was committed and is nowhere")
        elif became == "aborted" and key in rows:
            found.append(f"transfer {key} was aborted and is at {rows[key][0][0]}")
    return found


def _read(path: Path) -> tuple[int, list[tuple[str, int]]]:
    """The balance, and all that was moved. A copy is read: to open a database changes it."""
    with TemporaryDirectory() as spare:
        for each in path.parent.glob(f"{ACCOUNT}*"):
            shutil.copy(each, spare)
        with closing(sqlite3.connect(Path(spare) / ACCOUNT)) as database:
            balance = database.execute("select balance from account").fetchone()[0]
            return balance, database.execute("select id, amount from moved").fetchall()
