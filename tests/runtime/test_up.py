"""`electorate up` from the outside: what it prints, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.cluster import wait_until
from tests.runtime.command import ended
from tests.runtime.process import is_running, on_linux

UP = [sys.executable, "-m", "electorate.cli.main", "up"]
QUICK = ["--T", "60", "--beat", "30", "--timeout", "250"]

pytestmark = [on_linux, pytest.mark.timeout(60)]


@contextmanager
def up(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run `electorate up` in a session of its own; temporary files go to `folder`."""
    process = subprocess.Popen(
        [*UP, *QUICK, *words],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert process.stdout is not None
    with process.stdout:
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def until_agreed(process: subprocess.Popen[str], nodes: int, leader: int) -> dict[int, int]:
    """Read changes until all nodes follow one; the processes that they run in."""
    assert process.stdout is not None
    told: dict[int, dict[str, Any]] = {}
    while [change["leader"] for change in told.values()] != [leader] * nodes:
        change = json.loads(process.stdout.readline())
        told[change["node"]] = change
    return {node: change["pid"] for node, change in told.items()}


def test_it_ends_after_the_given_time_with_what_came_of_it(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "3", "--json", "--for", "3") as process:
        out, _ = process.communicate(timeout=30)
    *changes, outcome = map(json.loads, out.splitlines())
    assert process.returncode == 0
    assert outcome.keys() == {"agreed", "leader", "nodes", "changes", "seconds"}
    assert (outcome["agreed"], outcome["leader"]) == (True, 1)
    assert outcome["nodes"] == {n: {"status": "normal", "leader": 1} for n in "123"}
    assert outcome["changes"] >= 6
    assert changes[0].keys() == {"at", "node", "pid", "what", "status", "leader"}
    assert list(tmp_path.iterdir()) == []


def test_it_says_with_its_exit_code_if_there_was_no_agreement(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "2", "--for", "0.01") as process:
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "no agreement" in out.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_all_its_nodes(tmp_path: Path, number: signal.Signals) -> None:
    # Tests may run under nohup, which has all their processes ignore that the terminal is gone.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with up(tmp_path, "--nodes", "2", "--json") as process:
        signal.signal(signal.SIGHUP, before)
        nodes = until_agreed(process, 2, 1).values()
        os.killpg(process.pid, number)
        out, _ = process.communicate(timeout=10)
        assert process.returncode == 0
    assert json.loads(out.splitlines()[-1])["agreed"] is True
    wait_until(lambda: not any(map(is_running, nodes)))
    assert list(tmp_path.iterdir()) == []


def test_when_it_is_killed_its_nodes_end_too_even_those_that_are_stopped(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "3", "--json") as process:
        nodes = until_agreed(process, 3, 1)
        os.kill(nodes[2], signal.SIGSTOP)
        process.kill()
        wait_until(lambda: not any(map(is_running, nodes.values())))


def test_a_node_that_somebody_else_kills_is_replaced(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "3", "--json") as process:
        nodes = until_agreed(process, 3, 1)
        os.kill(nodes[1], signal.SIGKILL)
        assert process.stdout is not None
        told: dict[int, dict[str, Any]] = {}
        while [told.get(n, {}).get("leader") for n in (2, 3)] != [2, 2]:
            change = json.loads(process.stdout.readline())
            told[change["node"]] = change
        assert told[1]["what"] == "down: SIGKILL"
        process.terminate()
        process.communicate(timeout=10)


def test_a_ring_is_led_by_the_best_attribute_and_closes_without_it(tmp_path: Path) -> None:
    words = ["--protocol", "ring-attribute", "--attribute", "2=9", "--nodes", "3", "--json"]
    with up(tmp_path, *words) as process:
        nodes = until_agreed(process, 3, 2)
        os.kill(nodes[2], signal.SIGKILL)
        assert process.stdout is not None
        told: dict[int, int | None] = {}
        while [told.get(n) for n in (1, 3)] != [3, 3]:
            change = json.loads(process.stdout.readline())
            told[change["node"]] = change["leader"]
        process.terminate()
        process.communicate(timeout=10)


def test_its_records_are_kept_where_it_is_told_to(tmp_path: Path) -> None:
    runs = tmp_path / "some" / "runs"
    with up(tmp_path, "--nodes", "2", "--json", "--record", str(runs)) as process:
        until_agreed(process, 2, 1)
        process.terminate()
        process.communicate(timeout=10)
    assert {"node-1.jsonl", "node-2.jsonl", "node-1", "node-2"} <= {p.name for p in runs.iterdir()}
    assert runs.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--for", "0"], "must be a number of seconds, not 0"),
        (["--for", "nan"], "must be a number of seconds, not nan"),
        (["--timeout", "30", "--beat", "30"], "--timeout must be longer than --beat"),
        (["--record", "/proc/nowhere"], "cannot keep records in /proc/nowhere"),
        (["--protocol", "bolly"], "did you mean bully?"),
    ],
)
def test_bad_usage_is_one_clear_line(words: list[str], reason: str) -> None:
    done = ended([*UP, *words])
    assert (done.code, len(done.err)) == (2, 1), done
    assert reason in done.err[0]


def test_durations_need_not_be_given_and_rules_that_deserve_it_are_warned_of() -> None:
    words = ["--protocol", "invitation-as-printed", "--rule", "check=2T", "--nodes", "2"]
    ran = subprocess.run([*UP, *words, "--for", "0.5", "--json"], capture_output=True, text=True)
    assert "Traceback" not in ran.stderr
    assert ran.stderr.count("mind that in invitation-as-printed the weakest of 2") == 1
