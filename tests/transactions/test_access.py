"""Who may have a database do what, and how much: the rest is refused at once, and says why."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from electorate.errors import Refused
from electorate.transactions.access import Access
from electorate.transactions.config import arguments
from electorate.transactions.postgres import Postgres
from electorate.transactions.resource import Answer, LogMark, Resource
from electorate.transactions.sqlite import Sqlite
from examples.bank.server import ADMIN, USER, Server

MOVE = {"move": "update account set balance = balance + ?", "look": "select 1"}


@pytest.mark.parametrize(
    ("access", "sender", "statement", "named", "is_near", "refused"),
    [
        (Access(), "atm", "select 1", False, True, ""),
        (Access(), "atm", "select 1", False, False, "atm may not run SQL here"),
        (Access(), "atm", "move", True, True, "no operation is called 'move' here"),
        (Access(operations=MOVE), "atm", "move", True, False, ""),
        (Access(operations=MOVE), "atm", "select 1", False, False, "atm may not run SQL"),
        (Access(operations=MOVE), "atm", "mvoe", True, False, "those known: look, move"),
        (Access(operations=MOVE, allow="sql"), "atm", "select 1", False, False, ""),
        (Access(operations=MOVE, allow={"atm": ["move"]}), "atm", "move", True, False, ""),
        (
            Access(operations=MOVE, allow={"atm": ["move"]}),
            "atm",
            "look",
            True,
            True,
            "atm may not call 'look'",
        ),
        (Access(operations=MOVE, allow={"atm": "sql"}), "b", "move", True, True, "b may not call"),
        (Access(allow=lambda name: "sql" if name == "a" else None), "a", "x", False, False, ""),
        (
            Access(allow=lambda name: "sql" if name == "a" else None),
            "b",
            "x",
            False,
            True,
            "b may not run SQL",
        ),
    ],
)
def test_what_a_member_may_do_is_for_the_participant_to_say(
    access: Access, sender: str, statement: str, named: bool, is_near: bool, refused: str
) -> None:
    if refused:
        with pytest.raises(Refused, match=refused):
            access.permitted(sender, statement, named=named, is_near=is_near)
    else:
        found = access.permitted(sender, statement, named=named, is_near=is_near)
        assert found == (access.operations[statement] if named else statement)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"seconds": 0}, "seconds is a number above 0, not 0"),
        ({"rows": True}, "rows is a number above 0"),
        ({"allow": "everything"}, "allow is 'sql'"),
        ({"allow": {"a": ["move"]}}, "a is allowed 'move', which is no operation here"),
        ({"allow": {"a": "move"}}, "a is allowed 'sql' or a list of operations, not 'move'"),
    ],
)
def test_an_access_that_makes_no_sense_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Access(**wrong)


def test_a_file_says_who_may_do_what(tmp_path: Path) -> None:
    path = tmp_path / "bank.toml"
    path.write_text("""
        [members.savings]
        address = "10.0.0.1:7400"
        database = "sqlite:savings.db"
        allow = { atm = ["move"], audit = "sql" }
        seconds = 5
        [members.savings.operations]
        move = "update account set balance = balance + ? where owner = ?"
        [members.atm]
        address = "10.0.0.2:7400"
    """)
    database = arguments(path, "savings")["database"]
    assert isinstance(database, Sqlite)
    assert database.access.permitted("atm", "move", named=True, is_near=False).startswith("update")
    assert database.access.seconds == 5
    path.write_text(path.read_text().replace("move =", "moves ="))
    with pytest.raises(
        ValueError, match=r"bank\.toml: savings: atm is allowed 'move', which is no"
    ):
        arguments(path, "savings")


Opener = Callable[[Access], Resource]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    found: list[Resource] = []

    def opened(access: Access) -> Resource:
        if request.param == "sqlite":
            found.append(Sqlite(tmp_path / "one.db", 0.2, access))
        else:
            server: Server = request.getfixturevalue("server")
            found.append(Postgres("savings", server.conninfo("savings"), 0.2, access))
        return found[-1]

    yield opened
    for each in found:
        each.close()


ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select"


def test_an_endless_query_ends_and_says_so(opener: Opener) -> None:
    db = opener(Access(seconds=0.3))
    with pytest.raises(Refused, match=r"stopped after 0\.3 s|statement timeout"):
        db.execute("a", f"{ENDLESS} count(*) from n", ())
    db.abort("a")
    assert db.execute("b", "select 1", ()) == Answer([(1,)], 1)


@pytest.mark.parametrize(
    ("access", "why"),
    [
        (Access(rows=1000), "the result has more than 1,000 rows"),
        (Access(size=20_000), "the result has more than 20,000 bytes"),
    ],
)
def test_an_endless_result_ends_and_says_so(opener: Opener, access: Access, why: str) -> None:
    db = opener(access)
    began = time.monotonic()
    with pytest.raises(Refused, match=why):
        db.execute("a", f"{ENDLESS} i from n", ())
    with pytest.raises(Refused):
        db.prepare("a")
    db.abort("a")
    assert db.execute("b", "select 1", ()) == Answer([(1,)], 1)
    assert time.monotonic() - began < 10


def test_what_is_cancelled_ends_at_once(opener: Opener) -> None:
    db = opener(Access())
    ended: list[str] = []

    def work() -> None:
        with pytest.raises(Refused) as error:
            db.execute("a", f"{ENDLESS} count(*) from n", ())
        ended.append(str(error.value))

    working = threading.Thread(target=work)
    working.start()
    deadline = time.monotonic() + 10
    while working.is_alive() and time.monotonic() < deadline:
        db.cancel("a")  # Again and again: it may not have begun yet.
        working.join(0.05)
    assert "given up" in ended[0]
    db.abort("a")


def test_one_that_changes_too_many_rows_is_stopped(tmp_path: Path) -> None:
    db = Sqlite(tmp_path / "one.db", access=Access(changes=1000))
    db.execute("a", "create table t (x)")
    with pytest.raises(Refused, match="changes more than 1,000 rows"):
        db.execute("a", f"insert into t {ENDLESS} i from n")
    db.abort("a")
    db.close()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("copy (select 1) to program 'true'", "runs programs there"),
        ("set statement_timeout = 0", "settings act beside the transaction"),
        ("declare c cursor for select 1", "a cursor is not needed"),
    ],
)
def test_postgres_refuses_what_acts_beside_the_transaction(
    postgres: Callable[..., Postgres], statement: str, why: str
) -> None:
    db = postgres()
    with pytest.raises(Refused, match=why):
        db.execute("a", statement)
    db.abort("a")


@pytest.mark.postgres
def test_postgres_counts_what_is_changed_and_gives_what_is_returned(
    postgres: Callable[..., Postgres],
) -> None:
    db = postgres()
    for statement, values, rows, count in (
        ("create table t (x int)", (), [], -1),
        ("insert into t values (%s), (%s)", (1, 2), [], 2),
        ("insert into t values (3) returning x", (), [(3,)], 1),
        ("with y as (select 2 as x) update t set x = t.x from y", (), [], 3),
        ("with y as (update t set x = 0 returning x) select * from y", (), [(0,)] * 3, 3),
        ("select x as into_ from t where x > %s", (5,), [], 0),
        ("select * into u from t", (), [], 3),
        ("delete from u where 'returning' <> ''", (), [], 3),
        ("select ' into ' || x from t where x > 5", (), [], 0),
        ("drop table u", (), [], -1),
    ):
        assert db.execute("a", statement, values) == Answer(rows, count), statement
    db.abort("a")


@pytest.mark.postgres
def test_postgres_warns_of_a_user_who_may_do_everything(
    server: Server, postgres: Callable[..., Postgres], caplog: pytest.LogCaptureFixture
) -> None:
    with closing(postgres()) as db:
        db.execute("a", "select 1")
    assert "superuser" not in caplog.text
    conninfo = server.conninfo("savings").replace(f"user={USER}", f"user={ADMIN}")
    with closing(Postgres("savings", conninfo)) as db:
        db.execute("a", "select 1")
    assert "savings is used as admin, who is a superuser" in caplog.text


@pytest.mark.postgres
def test_a_user_who_owns_nothing_and_may_do_little_is_enough(
    server: Server, postgres: Callable[..., Postgres]
) -> None:
    """As docs/transactions.md says."""
    conninfo = server.conninfo("savings").replace(f"user={USER}", f"user={ADMIN}")
    for statement in (
        "create table account (owner text primary key, balance bigint not null)",
        "insert into account values ('Ada', 500)",
        "create table electorate_committed (tx text primary key)",
        "create table electorate_log (store text, life bigint)",
        "create role clerk login",
        "grant usage on schema public to clerk",
        "grant select, insert, delete on electorate_committed, electorate_log to clerk",
        "grant select, update on account to clerk",
    ):
        with psycopg.connect(conninfo, autocommit=True) as admin:
            admin.execute(statement)
    conninfo = conninfo.replace(f"user={ADMIN}", "user=clerk")
    with closing(Postgres("savings", conninfo)) as db:
        assert db.belongs(LogMark("log", 1)) is None
        assert db.belongs(LogMark("log", 2)) == LogMark("log", 1)
        for tx, end in (("a", db.commit), ("b", db.abort)):
            db.execute(tx, "update account set balance = balance - 1")
            db.prepare(tx)
            assert db.prepared() == {tx}
            end(tx)
            db.forget(tx)
        assert db.execute("c", "select balance from account").value() == 499
    with psycopg.connect(conninfo.replace("user=clerk", f"user={ADMIN}"), autocommit=True) as admin:
        admin.execute("drop owned by clerk")
