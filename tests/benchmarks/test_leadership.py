"""The benchmark of leadership: that it measures, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.engine import ROOT
from benchmarks.leadership.calm import Calm
from benchmarks.leadership.cluster import Cluster, Said
from benchmarks.leadership.contender import DEFAULTS, FAST, TRUSTING, Seat
from benchmarks.leadership.cost import Cost
from benchmarks.leadership.fault import Trial
from benchmarks.leadership.result import Result, as_markdown
from tests.benchmarks.test_failover import children
from tests.runtime.cluster import wait_until
from tests.runtime.process import is_running, on_linux

LEADERSHIP = [sys.executable, "-m", "benchmarks.leadership", "--json"]
KILLS = ["--system", "electorate", "--only", "kill", "--nodes", "3"]


@on_linux
def test_a_leader_that_is_killed_has_a_successor_within_the_time_that_its_term_can_last(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [*LEADERSHIP, *KILLS, "--trials", "2"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["failover"]
    assert [row["fault"] for row in rows] == ["kill"] * 3
    for row in rows:
        assert len(row["ms"]) == 2
        assert row["troubles"] == []
        assert 0 < row["median"] <= row["p95"] <= row["max"] < 10_000
    assert done.stderr.count(" of 2: ") == 6
    assert list(tmp_path.iterdir()) == []


@on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_early_gets_what_was_measured_and_no_process_is_left(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [*LEADERSHIP, *KILLS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        wait_until(lambda: len(children(process.pid)) == 3)
        nodes = children(process.pid)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 3, err
    assert err.splitlines()[-1] == "leadership: interrupted"
    assert json.loads(out)["nodes"] == 3
    wait_until(lambda: not any(map(is_running, nodes)))
    assert list(tmp_path.iterdir()) == []


def run(*options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*LEADERSHIP, *KILLS, *options], capture_output=True, text=True, cwd=ROOT, timeout=60
    )


def test_a_run_goes_on_after_what_was_written_down(tmp_path: Path) -> None:
    page = tmp_path / "measured.json"
    ours = [DEFAULTS, FAST, TRUSTING]
    before = Result.begun(3, ours, [], page)
    for each in ours:
        before.failover[each.title] = {"kill": [Trial(7.0), Trial(9.0)]}
    before.keep(page)
    done = run("--trials", "2", "--keep", str(page))
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["ms"] for row in json.loads(done.stdout)["failover"]] == [[7.0, 9.0]] * 3


def test_what_was_written_down_of_something_else_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "measured.json"
    Result.begun(4, [DEFAULTS], [], None).keep(page)
    done = run("--keep", str(page))
    told = f"leadership: {page} is of 4 nodes of electorate"
    assert (done.returncode, done.stderr.startswith(told)) == (2, True)
    page.write_text("{}", encoding="utf-8")
    done = run("--keep", str(page))
    told = f"leadership: {page} was not written by --keep: "
    assert (done.returncode, done.stderr.startswith(told)) == (2, True)


def test_whose_term_is_over_is_not_taken_for_the_leader(tmp_path: Path) -> None:
    """An application that was stopped may say late that it holds a term, and then that it ended."""
    seats = [Seat(name, 0, "127.0.0.1", (1, 2, 3), tmp_path) for name in "ab"]
    running = Cluster(DEFAULTS, seats)
    first, second = (Said(seat, "held", term, term) for term, seat in enumerate(seats, 5))
    for said in (first, second):
        running._said.put(said)
    running.catch_up()
    assert running.leader == second
    running._said.put(Said(seats[1], "over", 7, 7))  # PySyncObj tells the number of the next.
    running.catch_up()
    assert running.leader == first


def test_the_tables_tell_what_failed_and_what_was_left_out() -> None:
    result = Result(5, 0.5, ["electorate 1"], ["etcd: get it"], {}, {}, [])
    result.failover["ours"] = {
        "kill": [Trial(10.0), Trial(30.0), Trial(None, "no successor")],
        "cold": [Trial(1234.0)],
    }
    result.calm["ours"] = Calm(60.0, 2, 7)
    result.costs.append(("ours", Cost(3, 1, 1.5, 60.0, 2.25, 3.0, 31.0, None, 0, "odd")))
    lines = as_markdown(result).splitlines()
    assert "| ours | 20 / 30 / 30; 1 failed | 1,234 / 1,234 / 1,234 | 1 to 3 |" in lines
    assert "| ours |      60 |              7 |" in lines
    assert lines[-2:] == ["- Left out: etcd: get it", "- ours, SIGKILL: no successor"]
    (cost,) = [line for line in lines if line.endswith("odd |")]
    assert [cell.strip() for cell in cost.strip("|").split("|")] == (
        ["ours", "3", "1", "1.5", "2.2", "3.0", "31", "-", "0", "odd"]
    )
