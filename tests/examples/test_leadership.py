"""The examples of leadership, as processes: somebody leads, is hurt, and another takes over."""

import re
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from electorate.bank.server import Server
from examples.standby import FencedRow, Stale, postgres_row, sqlite_row
from tests.examples.troupe import Troupe
from tests.net.cluster import wait_until
from tests.script import ROOT

EXAMPLES = ("worker.py", "scheduler.py", "standby.py", "threads.py", "witness.py")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short_and_needs_public_names_only(name: str) -> None:
    text = (ROOT / "examples" / name).read_text()
    assert len(text.splitlines()) < 120
    assert re.findall(r"^.*(?:import|from) .*electorate.*$", text, re.M) == ["import electorate"]
    assert not re.search(r"\b(?:term|node|election)\._", text)


@pytest.mark.parametrize(
    ("example", "works"),
    [
        ("worker.py", "step 2 of term {}"),
        ("scheduler.py", "reports sent in term {}"),
        ("threads.py", "thread 4 works in term {}"),
    ],
)
def test_another_takes_over_from_who_is_killed(tmp_path: Path, example: str, works: str) -> None:
    with Troupe(example, tmp_path, "a", "b", "c") as troupe:
        first = troupe.await_word(works.format(1))
        troupe.kill(first)
        others = [name for name in troupe.names if name != first]
        second = troupe.await_word(works.format(2), *others)
        assert set(troupe.end().values()) == {0}
        assert "Traceback" not in "".join(map(troupe.said, others))
        assert works.format(2) not in troupe.said(next(name for name in others if name != second))


def test_a_witness_lets_the_other_of_two_go_on(tmp_path: Path) -> None:
    with Troupe("witness.py", tmp_path, "a", "b", "witness") as troupe:
        first = troupe.await_word("works in term 1", "a", "b")
        troupe.await_word(f"{first} leads, token 1", "witness")
        troupe.kill(first)
        second = troupe.await_word("works in term 2", *{"a", "b"} - {first})
        troupe.await_word(f"{second} leads, token 2", "witness")
        assert set(troupe.end().values()) == {0}
        told = troupe.said("witness").splitlines()
        wanted = [f"witness: {first} leads, token 1", "witness: nobody leads"]
        assert told[-3:] == [*wanted, f"witness: {second} leads, token 2"]


def test_a_primary_that_wakes_up_late_is_refused(tmp_path: Path) -> None:
    with Troupe("standby.py", tmp_path, "a", "b", "c") as troupe:
        first = troupe.await_word("wrote 2 with token 1")
        troupe.signal(first, signal.SIGSTOP)
        others = [name for name in troupe.names if name != first]
        troupe.await_word("with token 2", *others)
        troupe.signal(first, signal.SIGCONT)
        troupe.await_word("token 1 is refused: a later primary has written", first)
        assert set(troupe.end().values()) == {0}
        assert "Traceback" not in "".join(map(troupe.said, troupe.names))
    (value, token) = sqlite3.connect(tmp_path / "shared.db").execute(
        "select value, token from state"
    ).fetchone()
    said = "".join(map(troupe.said, troupe.names))
    assert (value, token) == (len(re.findall("wrote", said)), 2)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[FencedRow, FencedRow]]:
    """The same row as two processes see it."""
    if request.param == "sqlite":
        path = str(tmp_path / "rows.db")
        yield sqlite_row(path), sqlite_row(path)
    else:
        with Server("app") as server:
            conninfo = server.conninfo("app")
            one, other = postgres_row(conninfo), postgres_row(conninfo)
            yield one, other
            one._connection.close()
            other._connection.close()


def test_a_row_takes_no_token_that_is_smaller_than_one_it_has_seen(
    rows: tuple[FencedRow, FencedRow],
) -> None:
    old, new = rows
    old.write(10, token=3)
    old.write(11, token=3)
    new.write(20, token=5)
    with pytest.raises(Stale, match="token 3 is refused: a later primary has written"):
        old.write(12, token=3)
    assert old.read() == new.read() == 20


@pytest.mark.postgres
def test_the_same_primary_with_its_row_in_postgresql(tmp_path: Path) -> None:
    with Server("app") as server:
        conninfo = server.conninfo("app")
        with Troupe("standby.py", tmp_path, "a", "b", "c", words=(conninfo,)) as troupe:
            first = troupe.await_word("wrote 1 with token 1")
            troupe.kill(first)
            troupe.await_word("with token 2", *{"a", "b", "c"} - {first})
            assert set(troupe.end().values()) == {0}
        wait_until(lambda: not (tmp_path / "shared.db").exists())
