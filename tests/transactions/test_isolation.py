"""How transactions are kept apart: what is stated, and histories that show it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from electorate.transactions.history import FIRST, DatabaseRow, History, Read, Write
from electorate.transactions.postgres import Postgres
from electorate.transactions.sqlite import Sqlite
from examples.bank.__main__ import main
from examples.bank.isolation import POSTGRES_READS, STORIES, Pair, anomalies, tried

A, B = DatabaseRow("savings", 1), DatabaseRow("checking", 1)


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


@pytest.mark.parametrize("story", STORIES)
def test_sqlite_is_serializable_across_databases(story: str, tmp_path: Path) -> None:
    assert "serializable, also across databases" in Sqlite.isolation
    (found,) = (each for each in anomalies("sqlite", tmp_path) if each.story == story)
    assert "has the database" in found.refused
    assert not found.is_anomaly


@pytest.fixture
def pair(postgres: Callable[..., Postgres]) -> Callable[[str], Pair]:
    return lambda reads: Pair(postgres("savings"), postgres("checking"), POSTGRES_READS[reads])


@pytest.mark.postgres
@pytest.mark.parametrize("story", STORIES)
def test_postgres_is_not_serializable_across_databases_if_reads_do_not_lock(
    pair: Callable[[str], Pair], story: str
) -> None:
    assert "serializable in each database; across databases if" in Postgres.isolation
    reads, _ = POSTGRES_READS
    found = tried(story, pair(reads), reads)
    assert not found.refused
    assert len(found.flaws) == 2


@pytest.mark.postgres
@pytest.mark.parametrize("story", STORIES)
def test_postgres_is_serializable_across_databases_if_reads_lock(
    pair: Callable[[str], Pair], story: str
) -> None:
    _, reads = POSTGRES_READS
    found = tried(story, pair(reads), reads)
    assert "lock timeout" in found.refused
    assert not found.is_anomaly


@pytest.mark.postgres
def test_a_command_shows_both_anomalies_and_what_repairs_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--anomalies", "--postgres", "--json"]) == 1
    found = msgspec.json.decode(capsys.readouterr().out)["tried"]
    assert [each["anomaly"] for each in found] == [True, False] * 2
    assert main(["--anomalies"]) == 0
    assert "0 of 2 were let through" in capsys.readouterr().out
