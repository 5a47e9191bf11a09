"""Attacks on transactions: what once split one, or destroyed its work, no longer does."""

import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from electorate.core import Stage, Wants
from electorate.errors import Aborted, Refused
from electorate.leadership.directory import MemberAddress
from electorate.transactions.access import Access
from electorate.transactions.resource import Answer
from electorate.transactions.sqlite import Sqlite
from examples.bank.crew import Stuck
from examples.bank.place import ROOT
from examples.bank.run import Plan
from examples.bank.run import run as run_bank
from tests.cli.run import runner
from tests.runtime.cluster import wait_until
from tests.transactions.bank import (
    ACCOUNTS,
    MOVE,
    Bank,
    Fragile,
    balances,
    move,
    read,
    running,
    set_up,
)
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


def test_what_is_prepared_outlives_the_log_until_its_coordinator_has_spoken(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Attack 9: the folder of a participant was gone, and its prepared work was rolled back."""
    bank = Fragile(tmp_path_factory.mktemp("t"))
    with running(bank):
        set_up(bank)
        tx = lose_the_log_of_checking(bank)
        bank.restart("checking")
        wait_until(lambda: bank.host("checking").guard.unlogged == [tx])
        bank.start("atm")
        wait_until(lambda: bank.stage("checking") is Stage.COMMITTED)
        (instance,) = bank.host("checking").instances.values()
        wait_until(lambda: instance.view.wants is Wants.NOTHING)
        bank.stop("checking")
        assert read(bank.folder / "checking.db", LOOK) == [(600,)]


@pytest.mark.parametrize(("how", "balance"), [("commit", 600), ("abort", 500)])
def test_an_operator_ends_either_way_what_is_prepared_and_in_no_log(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    how: str,
    balance: int,
) -> None:
    bank = Fragile(tmp_path_factory.mktemp("t"))
    run = runner(capsys)
    with running(bank):
        set_up(bank)
        tx = lose_the_log_of_checking(bank)
        folder = str(bank.folder / "checking")
        shown = run("tx", "show", folder, tx).out
        assert "uncertain, participant" in shown
        assert "waits for     the decision of atm; this node's log is not the one that the" in shown
        assert run("tx", "resolve", folder, tx, "--forget", "--yes").code == 2
        assert run("tx", "resolve", folder, tx, f"--{how}").code == 2
        assert bank.host("checking").guard.unlogged == [tx]
        assert run("tx", "resolve", folder, tx, f"--{how}", "--yes").code == 0
        bank.restart("checking")
        wait_until(lambda: bank.host("checking").guard.has_looked)
        assert not bank.host("checking").guard.unlogged
        assert "by hand" in run("tx", "show", folder, tx).out
        bank.start("atm")
        if how == "abort":
            split = "was aborted by hand here, but committed at atm"
            wait_until(lambda: split in run("tx", "show", folder, tx).out)
        wait_until(lambda: bank.stage("checking") is not None)
        assert run("tx", "resolve", folder, tx, "--forget", "--yes").code == 0
        bank.stop("checking")
        assert read(bank.folder / "checking.db", LOOK) == [(balance,)]


@pytest.mark.parametrize("how", ["commit", "abort"])
def test_an_operator_ends_what_cannot_be_made_again_and_hears_what_is_missing(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    """Attack 8: the database stayed locked, and `resolve` refused both ways."""
    bank = Fragile(tmp_path_factory.mktemp("t"))
    run = runner(capsys)
    with running(bank):
        set_up(bank)
        bank.crashed("atm", "saved committed")
        bank.stop("checking")
        with closing(sqlite3.connect(bank.folder / "checking.db")) as intruder:
            intruder.execute("update account set balance = 7")
            intruder.commit()
        bank.start("checking", "atm")
        (tx,) = bank.host("checking").instances
        folder = str(bank.folder / "checking")
        wait_until(lambda: "cannot be done" in run("tx", "show", folder, tx).out)
        assert "missing       account[1] becomes 1, 600" in run("tx", "show", folder, tx).out
        ended = run("tx", "resolve", folder, tx, f"--{how}", "--yes")
        assert ended.code == 0
        assert "missing       account[1] becomes 1, 600" in ended.out
        for where in (bank.folder / "atm", folder):
            if run("tx", "list", str(where)).out != "No transaction is open.\n":
                run("tx", "resolve", str(where), tx, "--forget", "--yes")
        bank.settled()
        assert balances(bank) == (400, 7, 500)


LOOK = "select balance from account"


def lose_the_log_of_checking(bank: Fragile) -> str:
    """Commit is decided and told to nobody; then checking has its database and an empty folder."""
    bank.crashed("atm", "saved committed")
    bank.stop("checking", "savings")  # Else the elected node asks at once.
    shutil.rmtree(bank.folder / "checking")
    bank.start("checking")
    wait_until(lambda: bool(bank.host("checking").guard.unlogged))
    (tx,) = bank.host("checking").guard.unlogged
    return tx


# --- attack 5: SQL for anybody ---

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select"


@pytest.fixture
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bank]:
    """A bank whose accounts allow the cash machine one operation, and little of it."""
    folder = tmp_path_factory.mktemp("t")
    access = {
        "savings": Access(operations={"move": MOVE, "both": both}, allow={"atm": ["move", "both"]}),
        "checking": Access(allow="sql", seconds=0.5, rows=1000),
        "moneymkt": Access(),
    }
    for name in ACCOUNTS:
        with closing(sqlite3.connect(folder / f"{name}.db")) as file:
            file.executescript("create table account (id integer primary key, balance int);")
            file.execute("insert into account values (1, 500)")
            file.commit()
    bank = Bank(folder, lambda name: Sqlite(folder / f"{name}.db", 0.5, access[name]))
    bank.start()
    try:
        wait_until(lambda: all(bank.sees("atm", name) for name in ACCOUNTS))
        yield bank
    finally:
        bank.stop()


def both(execute: Callable[..., Answer], by: int) -> Answer:
    """An operation that carries out two statements."""
    execute(MOVE, by)
    return execute("select balance from account")


def test_a_member_does_only_what_the_participant_has_allowed(guarded: Bank) -> None:
    """Whoever reached the port ran any statement."""
    with pytest.raises(Aborted, match="atm may not run SQL here"), guarded.atm.transaction() as tx:
        tx.on("savings").execute("update account set balance = 0")
    with (
        pytest.raises(Aborted, match="no operation is called 'mvoe'"),
        guarded.atm.transaction() as tx,
    ):
        tx.on("savings").call("mvoe", 1)
    with guarded.atm.transaction() as tx:
        assert tx.on("savings").call("move", -100).count == 1
        assert tx.on("savings").call("both", -50).value() == 350
        tx.on("checking").execute(MOVE, 150)
    guarded.settled()
    guarded.stop()
    assert read(guarded.folder / "savings.db", LOOK) == [(350,)]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (f"{ENDLESS} count(*) from n", r"stopped after 0\.5 s: it takes too long"),
        (f"{ENDLESS} i from n", "more than 1,000 rows"),
        (f"{ENDLESS} randomblob(100000) from n limit 900", "more than 900,000 bytes"),
    ],
)
def test_what_has_no_end_is_ended_and_others_go_on(guarded: Bank, statement: str, why: str) -> None:
    """It needed kill -9, or took all the memory."""
    with pytest.raises(Aborted, match=why), guarded.atm.transaction() as tx:
        tx.on("checking").execute(statement)
    with guarded.atm.transaction() as tx:
        assert tx.on("checking").execute(LOOK).value() == 500


def test_a_node_that_works_on_something_endless_can_be_stopped(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("t")
    bank = Bank(folder, lambda name: Sqlite(folder / f"{name}.db", 0.5, Access(seconds=600)))
    with running(bank):
        with pytest.raises(Aborted, match="no answer within"), bank.atm.transaction() as tx:
            tx.on("savings").execute(f"{ENDLESS} count(*) from n")
        with bank.atm.transaction() as tx:  # It was given up, and the database is free.
            assert tx.on("savings").execute("select 1").value() == 1


def test_a_member_on_another_host_may_run_nothing_unless_the_participant_says_so() -> None:
    for place, is_near in (
        ("a@127.0.0.1:1", True),
        ("a@localhost:1", True),
        ("a@[::1]:1", True),
        ("a@10.0.0.1:1", False),
        ("a@example.org:1", False),
        ("a@0.0.0.0:1", False),
    ):
        assert MemberAddress.of(place).is_near is is_near
    with pytest.raises(Refused, match="may not run SQL"):
        Access().permitted("a", "select 1", named=False, is_near=False)


# --- attack 14: the command line ---


def test_the_bank_does_not_hang_where_few_files_may_be_open() -> None:
    """Its processes could not reach each other, and it waited for ever."""
    command = "ulimit -n 20; exec " + shlex.join([sys.executable, "-m", "examples.bank"])
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "electorate: a process may have 20 files open, and the bank needs 64: "
        "raise the limit (ulimit -n 64)\n"
    )


def test_the_bank_ends_where_nothing_comes_to_an_end(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("examples.bank.run.IDLE_S", -1.0)
    with pytest.raises(Stuck, match="no withdrawal came to its end"):
        run_bank(Plan(commits=1, kills=0), tmp_path_factory.mktemp("t"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["{folder}/bank.toml", "atm", "--record", "/proc/nowhere"], "/proc/nowhere: No such file"),
        (["nowhere/bank.toml", "savings"], "nowhere/bank.toml: No such file or directory"),
        (["{folder}", "savings"], "{folder}: Is a directory"),
        (["{folder}/bank.toml", "savings"], "cannot use {folder}/gone/savings.db: unable to open"),
        (["{folder}/bank.toml", "checking"], "cannot keep data in {folder}/data/checking: "),
        (
            ["{folder}/bank.toml", "atm", "--record", "{folder}/bank.toml/record"],
            "it is kept in a folder, and '{folder}/bank.toml' is a file: name another",
        ),
    ],
)
def test_a_folder_that_is_not_there_is_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    (tmp_path / "bank.toml").write_text("""
        [members]
        savings = { address = "127.0.0.1:29711", database = "sqlite:gone/savings.db" }
        checking = { address = "127.0.0.1:29712" }
        atm = { address = "127.0.0.1:29713" }
    """)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/checking").touch()
    given = [word.format(folder=tmp_path) for word in words]
    ran = runner(capsys)("tx", "serve", *given)
    assert ran.code == 2
    assert ran.err.startswith(f"electorate: {told.format(folder=tmp_path)}")
    assert ran.err.count("\n") == 1
