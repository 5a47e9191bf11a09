"""The benchmark of failing leaders: what it counts, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.engine import ROOT
from benchmarks.failover import spread
from benchmarks.strike import Goal
from tests.runtime.cluster import wait_until
from tests.runtime.process import is_running, on_linux

FAILOVER = [sys.executable, "-m", "benchmarks.failover", "--json"]


def test_of_twenty_times_the_nineteenth_is_what_nineteen_in_twenty_keep() -> None:
    times = [float(ms) for ms in range(20, 0, -1)]
    assert spread([*times, None]) == {"median": 10, "p95": 19, "max": 20}
    assert spread([7.0]) == {"median": 7, "p95": 7, "max": 7}
    assert spread([None]) == {}


@pytest.mark.parametrize(
    ("name", "claims"),
    [("bully", ["A2"]), ("invitation", ["A2", "A4p"]), ("park", ["P2"]), ("park-literal", ["A2"])],
)
def test_agreement_is_what_the_protocol_promises(name: str, claims: list[str]) -> None:
    assert [claim.name for claim in Goal.of(name, 3).claims] == claims


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_early_gets_what_was_measured_and_no_process_is_left(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [*FAILOVER, "--nodes", "2", "--rounds", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        wait_until(lambda: len(children(process.pid)) == 2)
        nodes = children(process.pid)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 3
    assert err.splitlines()[-1] == "failover: interrupted"
    assert json.loads(out)["protocols"]["bully"]["without_agreement"] == 0
    wait_until(lambda: not any(map(is_running, nodes)))
    assert list(tmp_path.iterdir()) == []
