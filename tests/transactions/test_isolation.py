"""How transactions are kept apart: what is stated, and histories that show it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from electorate.transactions.history import FIRST, History, Read, Row, Write
from electorate.transactions.postgres import Postgres
from electorate.transactions.resource import Refused, Resource
from electorate.transactions.sqlite import Sqlite

A, B = Row("savings", 1), Row("checking", 1)


def test_one_after_the_other_is_serializable() -> None:
    reads = [Read("audit", A, "first"), Read("audit", B, "first")]
    writes = [Write("first", A, FIRST), Write("first", B, FIRST), Write("second", A, "first")]
    assert History(reads, writes).flaws() == []


def test_a_version_that_nobody_committed_is_a_flaw() -> None:
    assert History([Read("r", A, "ghost")], []).flaws() == [
        "r saw savings 1 as ghost left it, which never committed"
    ]


def test_a_lost_update_is_a_flaw() -> None:
    writes = [Write("one", A, FIRST), Write("two", A, FIRST)]
    assert History([], writes).flaws() == [
        "2 transactions replaced the same version of savings 1, that of nobody"
    ]


def test_half_of_a_transaction_is_a_flaw() -> None:
    writes = [Write("move", A, FIRST), Write("move", B, FIRST)]
    flaws = History([Read("r", A, "move"), Read("r", B, FIRST)], writes).flaws()
    assert sorted(flaws) == [
        "move comes before r: r read its savings 1",
        "r comes before move: it read checking 1 as it was before move wrote it",
    ]


def test_a_circle_of_writes_is_a_flaw() -> None:
    writes = [
        Write("one", A, FIRST),
        Write("two", A, "one"),
        Write("two", B, FIRST),
        Write("one", B, "two"),
    ]
    assert len(History([], writes).flaws()) == 2


# --- real databases; what the two transactions do is woven together by hand ---

SETUP = (
    "create table account (id int primary key, balance int, writer text)",
    f"insert into account values (1, 500, '{FIRST}')",
)


class Pair:
    """Two databases, and what was seen and done there."""

    def __init__(self, savings: Resource, checking: Resource, lock: str) -> None:
        self.places = {"savings": savings, "checking": checking}
        self.reads: list[Read] = []
        self.writes: list[Write] = []
        self._lock = lock
        for db in self.places.values():
            for statement in SETUP:
                db.execute("setup", statement, ())
            db.prepare("setup")
            db.commit("setup")

    def read(self, tx: str, place: str) -> None:
        found = f"select writer from account where id = 1{self._lock}"
        writer = self.places[place].execute(tx, found, ()).value()
        self.reads.append(Read(tx, Row(place, 1), writer))

    def write(self, tx: str, place: str) -> None:
        db = self.places[place]
        old = db.execute(tx, "select writer from account where id = 1", ()).value()
        db.execute(tx, f"update account set balance = 0, writer = '{tx}' where id = 1", ())
        self.writes.append(Write(tx, Row(place, 1), old))

    def prepare(self, tx: str, *places: str) -> None:
        for place in places or self.places:
            self.places[place].prepare(tx)

    def commit(self, tx: str, *places: str) -> None:
        for place in places or self.places:
            self.places[place].commit(tx)

    @property
    def flaws(self) -> list[str]:
        return History(self.reads, self.writes).flaws()


def half_of_a_move_is_read(pair: Pair) -> None:
    """A reader comes when one database has committed, and the other has not heard of it yet."""
    pair.write("move", "savings")
    pair.write("move", "checking")
    pair.prepare("move")
    pair.commit("move", "savings")
    pair.read("audit", "savings")
    pair.read("audit", "checking")
    pair.prepare("audit")
    pair.commit("audit")
    pair.commit("move", "checking")


def each_reads_what_the_other_writes(pair: Pair) -> None:
    """Each database sees one of them before the other, but not the same one."""
    pair.read("one", "savings")
    pair.read("two", "checking")
    pair.write("one", "checking")
    pair.write("two", "savings")
    for tx in ("one", "two"):
        pair.prepare(tx)
        pair.commit(tx)


STORIES = pytest.mark.parametrize(
    "story", [half_of_a_move_is_read, each_reads_what_the_other_writes]
)


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Pair]:
    one, two = (Sqlite(tmp_path / name, wait_s=0.1) for name in ("savings.db", "checking.db"))
    with closing(one), closing(two):
        yield Pair(one, two, "")


@STORIES
def test_sqlite_is_serializable_across_databases(
    sqlite: Pair, story: Callable[[Pair], None]
) -> None:
    assert "serializable, also across databases" in Sqlite.isolation
    with pytest.raises(Refused, match="has the database"):
        story(sqlite)


@pytest.mark.postgres
@STORIES
def test_postgres_is_not_serializable_across_databases_if_reads_do_not_lock(
    postgres: Callable[..., Postgres], story: Callable[[Pair], None]
) -> None:
    assert "serializable in each database; across databases if" in Postgres.isolation
    pair = Pair(postgres("savings"), postgres("checking"), "")
    story(pair)
    assert len(pair.flaws) == 2


@pytest.mark.postgres
@STORIES
def test_postgres_is_serializable_across_databases_if_reads_lock(
    postgres: Callable[..., Postgres], story: Callable[[Pair], None]
) -> None:
    pair = Pair(postgres("savings"), postgres("checking"), " for share")
    with pytest.raises(Refused, match="lock timeout"):
        story(pair)
