"""The benchmark of transactions: what it counts, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.engine import ROOT
from benchmarks.table import Place
from benchmarks.transactions import BEGIN, END, Pair, as_markdown, quantile_ms, rows
from benchmarks.transfer import Run
from tests.benchmarks.test_failover import children
from tests.runtime.cluster import wait_until
from tests.runtime.process import is_running, on_linux

TRANSACTIONS = [sys.executable, "-m", "benchmarks.transactions"]
PLACE = Place("today", "a machine", 0.0, (), ())


def run(rate: int, seconds: float = 1.0, aborted: int = 0) -> Run:
    """So many in a second, of 1, 2, 3 … ms."""
    return Run(seconds, tuple(ms / 1000 for ms in range(1, round(rate * seconds) + 1)), aborted)


def test_of_a_hundred_the_fiftieth_and_the_ninety_ninth_are_told() -> None:
    assert quantile_ms(run(100), 0.5) == pytest.approx(50)
    assert quantile_ms(run(100), 0.99) == pytest.approx(99)
    assert quantile_ms(run(1), 0.99) == pytest.approx(1)


def test_every_rate_is_compared_with_the_floor_beside_it_and_medians_are_told() -> None:
    pairs = [Pair(run(50), run(100)), Pair(run(100), run(20, aborted=20)), Pair(run(80), run(80))]
    [row] = rows({8: pairs, 16: []})
    assert (row.clients, row.repeats, row.rate, row.rate_min, row.rate_max) == (8, 3, 80, 20, 100)
    assert (row.floor_rate, row.ratio, row.aborted) == (80, 1.0, 0.0)
    assert row.p50_ms == pytest.approx(40)


def test_what_was_not_measured_has_no_line() -> None:
    text = as_markdown(PLACE, {"sqlite": {1: [Pair(run(10), run(5))], 2: []}, "postgres": {}}, 3)
    assert "**SQLite**: one run of 3 s" in text
    assert "PostgreSQL" not in text
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 3


def test_the_page_has_marks_for_the_tables() -> None:
    page = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
    assert page.index(BEGIN) < page.index(END)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short, and open to the user that PostgreSQL runs as."""
    with TemporaryDirectory(prefix="e-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", KINDS)
def test_it_measures_transactions_beside_the_floor(folder: Path, kind: str) -> None:
    words = ["--kind", kind, "--clients", "1,3", "--seconds", "0.3", "--repeats", "1", "--json"]
    done = subprocess.run(
        [*TRANSACTIONS, *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["kinds"][kind]["rows"]
    assert [row["clients"] for row in found] == [1, 3]
    assert all(row["rate"] > 0 and row["floor_rate"] > 0 and row["ratio"] > 0 for row in found)
    assert list(folder.iterdir()) == []


@on_linux
@pytest.mark.timeout(60)
def test_whoever_ends_it_early_gets_what_was_measured_and_no_process_is_left(
    folder: Path,
) -> None:
    words = ["--kind", "sqlite", "--clients", "1", "--seconds", "0.2", "--repeats", "1000"]
    process = subprocess.Popen(
        [*TRANSACTIONS, *words, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert process.stderr is not None
    try:
        assert "1 clients, 1 of 1000" in process.stderr.readline()
        members = children(process.pid)
        assert len(members) == 2
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 3
    assert err.splitlines()[-1] == "transactions: interrupted"
    [row] = json.loads(out)["kinds"]["sqlite"]["rows"]
    assert row["rate"] > 0
    wait_until(lambda: not any(map(is_running, members)))
    assert list(folder.iterdir()) == []


def test_a_number_of_clients_that_makes_no_sense_is_refused() -> None:
    for words in (["--clients", "0"], ["--clients", "1,65"], ["--seconds", "never"]):
        done = subprocess.run(
            [*TRANSACTIONS, *words], capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert done.returncode == 2
        assert "must be" in done.stderr
