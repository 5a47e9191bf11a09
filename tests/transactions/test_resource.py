"""What every resource promises: prepared work survives, and doing it twice is doing it once."""

import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from electorate.errors import Damaged, Refused
from electorate.transactions.postgres import Postgres
from electorate.transactions.resource import Answer, Resource
from electorate.transactions.sqlite import Sqlite
from electorate.transactions.triple import Triple, Work
from examples.bank.server import Server

Opener = Callable[[], Resource]

KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same database again and again, with one table in it."""
    found: list[Resource] = []

    def open_again() -> Resource:
        for each in found:
            each.close()
        if request.param == "sqlite":
            found.append(Sqlite(tmp_path / "one.db", wait_s=0.2))
        else:
            found.append(request.getfixturevalue("postgres")())
        return found[-1]

    committed(open_again(), "setup", "create table account (id int primary key, balance int)")
    committed(found[-1], "first", "insert into account values (1, 500)")
    yield open_again
    for each in found:
        each.close()


def committed(db: Resource, tx: str, *statements: str) -> None:
    for statement in statements:
        db.execute(tx, statement, ())
    db.prepare(tx)
    db.commit(tx)
    db.forget(tx)


def balance(db: Resource) -> Any:
    seen = db.execute("look", "select balance from account where id = 1", ()).value()
    db.abort("look")
    return seen


TAKE = "update account set balance = balance - 100 where id = 1"


def test_work_is_seen_by_itself_and_by_others_once_committed(opener: Opener) -> None:
    db = opener()
    assert db.execute("a", TAKE, ()).count == 1
    assert db.execute("a", "select balance from account", ()) == Answer([(400,)], 1)
    db.prepare("a")
    db.commit("a")
    assert balance(db) == 400


def test_an_abort_leaves_nothing_prepared_or_not(opener: Opener) -> None:
    db = opener()
    db.execute("a", TAKE, ())
    db.abort("a")
    db.abort("a")
    db.execute("b", TAKE, ())
    db.prepare("b")
    db.abort("b")
    db.abort("b")
    assert balance(db) == 500
    assert not {"a", "b"} & db.known()


def test_prepared_work_survives_a_crash_and_can_be_committed_more_than_once(opener: Opener) -> None:
    db = opener()
    db.execute("a", TAKE, ())
    db.prepare("a")
    db = opener()
    assert "a" in db.known()
    db.commit("a")
    db = opener()
    assert "a" in db.known()
    db.commit("a")
    assert balance(db) == 400
    db.forget("a")
    assert "a" not in db.known()


def test_work_that_was_not_prepared_does_not_survive_and_is_refused(opener: Opener) -> None:
    opener().execute("a", TAKE, ())
    db = opener()
    with pytest.raises(Refused, match="no work of this transaction"):
        db.prepare("a")
    assert balance(db) == 500


def test_what_was_never_prepared_or_is_lost_is_never_committed(opener: Opener) -> None:
    db = opener()
    with pytest.raises(Damaged, match="lost what was prepared"):
        db.commit("a")


def test_a_statement_that_fails_is_refused_and_so_is_preparing_after_it(opener: Opener) -> None:
    db = opener()
    db.execute("a", TAKE, ())
    with pytest.raises(Refused):
        db.execute("a", "insert into account values (1, 7)", ())
    db.abort("a")
    assert balance(db) == 500


@pytest.mark.parametrize("end", ["commit", "rollback", "-- now\n Commit", "select 1; commit"])
def test_a_transaction_cannot_end_itself(opener: Opener, end: str) -> None:
    db = opener()
    db.execute("a", TAKE, ())
    with pytest.raises(Refused):
        db.execute("a", end, ())
    db.abort("a")
    assert balance(db) == 500


def test_whoever_waits_for_another_too_long_is_refused(opener: Opener) -> None:
    db = opener()
    db.execute("a", TAKE, ())
    db.prepare("a")
    with pytest.raises(Refused, match=r"has the database|lock timeout"):
        db.execute("b", TAKE, ())
    db.abort("b")
    db.commit("a")
    db.execute("b", TAKE, ())
    db.prepare("b")
    db.commit("b")
    assert balance(db) == 300


def test_whoever_waits_gets_its_turn(opener: Opener) -> None:
    db = opener()
    db.execute("a", TAKE, ())
    waiting = threading.Thread(target=db.execute, args=("b", "select 1", ()))
    waiting.start()
    db.prepare("a")
    db.commit("a")
    waiting.join(5)
    assert not waiting.is_alive()
    db.abort("b")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("select * from electorate_prepared", "belongs to electorate"),
        ("drop table electorate_committed", "belongs to electorate"),
        ("pragma synchronous=off", "beside the transaction"),
        ("select * from pragma_wal_checkpoint", "no such table"),
        ("attach 'other.db' as other", "no part of the transaction"),
        ("savepoint here", "must not begin or end"),
        ("analyze", "statistics cannot be kept"),
        ("create temp table t (x)", "outlive the transaction"),
        ("create virtual table t using fts5(x)", "virtual tables cannot be kept"),
        ("create table t as select 1 as x", "create it, then fill it"),
        ("insert into words values ('x')", "it is a virtual table"),
        ("insert into words_content values (1, 'x')", "may not be modified"),
        ("insert into indexed values ('x')", "words: it is a virtual table"),
        ("insert into counted values (1)", "generated columns and no rowids"),
        ("update sqlite_sequence set seq = 1", "belongs to SQLite"),
        ("update sqlite_schema set sql = 'x'", "may not be modified"),
        ("select 1; delete from plain", "one statement at a time"),
        ("insert into plain values (?)", "Incorrect number of bindings"),
    ],
)
def test_sqlite_says_at_once_what_it_could_not_keep(
    tmp_path: Path, statement: str, why: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "one.db")) as file:
        file.executescript("""
            create virtual table words using fts5(word);
            create table indexed (word text);
            create trigger into_words after insert on indexed
                begin insert into words values (new.word); end;
            create table counted (id text primary key, n int as (length(id))) without rowid;
            create table plain (id integer primary key autoincrement);
        """)
    with closing(Sqlite(tmp_path / "one.db")) as db:
        with pytest.raises(Refused, match=why):
            db.execute("a", statement)
        db.abort("a")


def test_a_statement_that_rolls_all_back_ends_the_transaction(tmp_path: Path) -> None:
    with closing(Sqlite(tmp_path / "one.db")) as db:
        committed(db, "setup", "create table account (id int primary key, balance int)")
        db.execute("a", "insert into account values (1, 500)")
        with pytest.raises(Refused, match="UNIQUE"):
            db.execute("a", "insert or rollback into account values (1, 7)")
        for act in (partial(db.execute, "a", "select 1"), partial(db.prepare, "a")):
            with pytest.raises(Refused, match="a statement has rolled it back"):
                act()
        db.abort("a")


def test_sqlite_refuses_to_prepare_what_it_could_not_commit(tmp_path: Path) -> None:
    with closing(Sqlite(tmp_path / "one.db")) as db:
        child = "create table child (of references parent deferrable initially deferred)"
        committed(db, "setup", "create table parent (id integer primary key)", child)
        db.execute("a", "insert into child values (7)")
        with pytest.raises(Refused, match="refers to one that does not exist"):
            db.prepare("a")
        db.abort("a")


def test_sqlite_notices_when_somebody_was_at_its_file_meanwhile(tmp_path: Path) -> None:
    with closing(Sqlite(tmp_path / "one.db")) as db:
        committed(db, "setup", "create table account (id int primary key, balance int)")
        committed(db, "first", "insert into account values (1, 500)")
        db.execute("a", f"{TAKE} returning balance")
        db.prepare("a")
    with closing(sqlite3.connect(tmp_path / "one.db")) as intruder:
        intruder.execute("update account set balance = 0")
        intruder.commit()
    with closing(Sqlite(tmp_path / "one.db")) as db:
        for _ in range(2):
            with pytest.raises(Damaged, match="somebody else has changed these rows"):
                db.commit("a")
        assert db.known() == {"a"}


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "one.db").write_bytes(b"what is this? " * 100)
    db = Sqlite(tmp_path / "one.db")
    with pytest.raises(Damaged, match="file is not a database"):
        db.open()


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match=r"cannot use .*nowhere/one\.db: unable to open"):
        Sqlite(tmp_path / "nowhere" / "one.db").open()


def test_a_file_that_somebody_else_has_is_said_to_be_used(tmp_path: Path) -> None:
    with closing(Sqlite(tmp_path / "one.db")) as first:
        first.open()
        with pytest.raises(Damaged, match=r"one\.db: another process or node uses it"):
            Sqlite(tmp_path / "one.db").open()


@pytest.mark.postgres
def test_postgres_says_what_a_server_lacks(server: Server) -> None:
    server.stop()
    server.start(max_prepared_transactions="0")
    try:
        with (
            closing(Postgres("savings", server.conninfo("savings"))) as db,
            pytest.raises(Refused, match="set max_prepared_transactions"),
        ):
            db.execute("a", "select 1")
    finally:
        server.kill()
        server.start()


@pytest.mark.postgres
def test_postgres_goes_on_once_its_server_is_back(
    server: Server, postgres: Callable[..., Postgres]
) -> None:
    db = postgres()
    committed(db, "setup", "create table account (id int primary key, balance int)")
    for tx in ("a", "b"):
        db.execute(tx, "insert into account values ($1, 500)".replace("$1", str(ord(tx))))
    db.prepare("a")
    server.kill()
    with pytest.raises(Refused, match="server closed the connection"):
        db.prepare("b")
    server.start()
    db.abort("b")
    assert db.known() == {"a"}
    db.commit("a")
    assert db.execute("c", "select id from account").rows == [(ord("a"),)]


def test_without_psycopg_postgres_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(Refused, match=r"pip install 'electorate\[postgres\]'"):
        Postgres("savings", "")


def test_without_apsw_sqlite_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apsw", None)
    with pytest.raises(Refused, match=r"pip install 'electorate\[sqlite\]'"):
        Sqlite("one.db")


class Ticket:
    """Something that is no database: tickets that are reserved, then sold or given back."""

    def __init__(self) -> None:
        self.reserved: dict[str, Work] = {}
        self.sold: set[str] = set()

    def reserve(self, tx: str, work: Work) -> None:
        if len(work) > 2:
            raise RuntimeError("only two tickets for each")
        self.reserved[tx] = work

    def sell(self, tx: str) -> None:
        self.reserved.pop(tx, None)
        self.sold.add(tx)

    def open(self, folder: Path) -> Triple:
        return Triple(self.reserve, self.sell, self.reserved.pop, folder / "notes.db")


def test_three_functions_are_a_resource(tmp_path: Path) -> None:
    office = Ticket()
    with closing(office.open(tmp_path)) as triple:
        triple.execute("a", "seat", [7])
        triple.execute("a", "seat", [8])
        triple.prepare("a")
        assert office.reserved == {"a": [("seat", (7,)), ("seat", (8,))]}
        triple.commit("a")
        triple.commit("a")
        assert office.sold == {"a"}
        triple.forget("a")
        for seat in range(3):
            triple.execute("b", "seat", [seat])
        with pytest.raises(Refused, match="RuntimeError: only two tickets"):
            triple.prepare("b")


def test_three_functions_are_told_to_abort_what_they_may_have_prepared(tmp_path: Path) -> None:
    office = Ticket()
    with closing(office.open(tmp_path)) as triple:
        triple.execute("a", "seat")
        triple.prepare("a")
    with closing(office.open(tmp_path)) as triple:
        assert triple.known() == {"a"}
        triple.abort("a")
        triple.abort("a")
        assert triple.known() == frozenset()
    assert not office.reserved
    assert not office.sold
