"""Attacks on transactions: what once split one, or destroyed its work, no longer does."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from electorate.transactions.sqlite import Sqlite
from tests.transactions.bank import Bank, move, running, set_up
from tests.transactions.test_changes import held


@pytest.mark.parametrize(
    "made",
    [
        "default (lower(hex(randomblob(8))))",
        "default current_timestamp",
        "default (random())",
        "as (id * 2) stored",
    ],
)
def test_a_default_that_differs_every_time_splits_no_transaction(
    tmp_path_factory: pytest.TempPathFactory, made: str
) -> None:
    """Attack 8: one side committed, and the other could not play its statements again."""
    bank = Bank(tmp_path_factory.mktemp("t"))
    for name in ("savings", "checking"):
        with closing(sqlite3.connect(bank.folder / f"{name}.db")) as file:
            file.execute(f"create table entry (id integer primary key, amount int, made {made})")
    with running(bank):
        set_up(bank)
        with bank.atm.transaction() as tx:
            for name, amount in (("savings", -100), ("checking", 100)):
                entered = "insert into entry(amount) values (?) returning made"
                seen = tx.on(name).execute(entered, amount).value()
        bank.settled()
        move(bank)
        with bank.atm.transaction() as tx:
            kept = [
                tx.on(n).execute("select amount, made from entry") for n in ("savings", "checking")
            ]
    assert [answer.rows[0][0] for answer in kept] == [-100, 100]
    assert kept[1].rows[0][1] == seen


def test_the_rowid_that_a_transaction_was_given_is_the_one_that_is_kept(tmp_path: Path) -> None:
    """Attack 8: `last_insert_rowid()` and triggers were let in, too."""
    with closing(sqlite3.connect(tmp_path / "one.db")) as file:
        file.executescript("""
            create table entry (id integer primary key autoincrement, amount int);
            create table journal (entry int, noted default (hex(randomblob(4))));
            create trigger noted after insert on entry
                begin insert into journal(entry) values (new.id); end;
        """)
    with closing(Sqlite(tmp_path / "one.db")) as db:
        for tx in ("a", "b"):
            db.execute(tx, "insert into entry(amount) values (1), (2)")
            db.execute(tx, "delete from entry where id = last_insert_rowid()")
            db.execute(tx, "insert into journal(entry) values (last_insert_rowid())")
            seen = list(held(db._db))
            db.prepare(tx)
            db.commit(tx)
            assert list(held(db._db)) == seen
