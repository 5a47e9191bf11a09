"""What ends a search early is told alike by both engines: limits, and an impatient user."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.run import Run

ENGINES = ("python", "numba")
BIG = ("bully", "--nodes", "4", "--crashes", "2", "--recoveries", "2", "--claim", "A1")


@pytest.mark.parametrize("engine", ENGINES)
def test_too_many_states_are_an_unknown_verdict(electorate: Run, engine: str) -> None:
    ran = electorate("check", *BIG, "--states-max", "5000", "--engine", engine, "--json")
    assert ran.code == 3
    assert ran.object["verdict"] == "unknown"
    assert ran.object["reason"] == "more than 5,000 states (--states-max)"
    assert ran.object["states"] > 5000


@pytest.mark.parametrize("engine", ENGINES)
def test_too_little_memory_is_an_unknown_verdict(electorate: Run, engine: str) -> None:
    ran = electorate("check", *BIG, "--memory", "1M", "--engine", engine, "--json")
    assert ran.code == 3
    assert ran.object["reason"] == "more than 1.0 MiB of memory (--memory)"


def test_the_stable_phase_keeps_to_the_memory_too(electorate: Run) -> None:
    words = ("bully", "--crashes", "1", "--recoveries", "1", "--claim", "A2")
    ran = electorate("check", *words, "--memory", "1M", "--engine", "numba", "--json")
    assert ran.code == 3
    assert "of memory" in ran.object["reason"]


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_that_cannot_be_had_is_an_unknown_verdict(
    electorate: Run, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*given: object) -> None:
        raise MemoryError

    monkeypatch.setattr("electorate.check.effort.Memory.expect", exhausted)
    ran = electorate("check", *BIG, "--engine", engine, "--json")
    assert ran.code == 3
    assert ran.object["reason"] == "out of memory"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_that_never_stops_growing_ends_at_a_limit(electorate: Run, engine: str) -> None:
    words = ("--nodes", "1", "--from", "boot", "--states-max", "3000", "--engine", engine)
    ran = electorate("check", "tests/faulty/swells.py:Swells", *words, "--json")
    assert ran.code == 3
    assert ran.object["reason"] == "more than 3,000 states (--states-max)"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interruption_leaves_what_was_found_so_far(engine: str) -> None:
    words = [*BIG, "--engine", engine, "--json", "--states-max", "900000000"]
    words += ["--normal-max", "1000"]  # The time goes into the search, not into where it begins.
    main = "import sys; from electorate.cli.main import main; sys.exit(main())"
    ran = subprocess.Popen(
        [sys.executable, "-c", main, "check", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "200"},
        text=True,
    )
    try:
        # It is in the midst of the search once it has used some seconds of the processor.
        deadline = time.monotonic() + 120
        while _cpu_seconds(ran.pid) < 6 and time.monotonic() < deadline:
            time.sleep(0.1)
        ran.send_signal(signal.SIGINT)
        out, _ = ran.communicate(timeout=60)
    finally:
        ran.kill()
        ran.wait()
    found = json.loads(out)
    assert ran.returncode == 3
    assert (found["verdict"], found["reason"]) == ("unknown", "interrupted")
    assert found["states"] > 1000
    assert found["transitions"] > 1000


def _cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("text", ["", "0", "many", "-1G", "4X", "1.2.3G"])
def test_an_amount_of_memory_that_is_none_is_refused(electorate: Run, text: str) -> None:
    ran = electorate("check", "bully", f"--memory={text}")
    assert ran.code == 2
    assert "must be an amount of memory like 800M or 4G" in ran.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--graph", "blob:3"), "no graph 'blob': it is path, cycle, star, complete"),
        (("--graph", "path:0"), "must be a whole number from 1"),
        (("--graph", "1-9"), "1-9 is no link between two members"),
        (("--graph", "1-x"), "a node id is a whole number"),
        (("--drift", "2"), "must be at least 0 and below 1"),
        (("--drift", "much"), "drift is a number like 0.05"),
        (("--threads", "0"), "must be from 1 to 8"),
        (("--heals", "1"), "only links that are cut can heal"),
        (("--cuts", "1", "--order", "global"), "cuts need a channel for each pair"),
        (("--order", "set"), "it needs timing clocks or unbounded"),
        (("--order", "set", "--timing", "unbounded"), "never comes to rest: --from boot"),
        (("--from", "any", "--claim", "A1"), "from any only goals can be judged"),
    ],
)
def test_what_cannot_be_explored_is_one_clear_line(
    electorate: Run, words: tuple[str, ...], problem: str
) -> None:
    ran = electorate("check", "bully", *words)
    assert ran.code == 2
    assert problem in ran.err
    assert "Traceback" not in ran.err
