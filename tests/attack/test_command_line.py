"""The command line where its output goes nowhere, and where it is ended from outside."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from electorate.cli.main import COMMANDS
from electorate.cli.supervisor import free_ports
from tests.runtime.cluster import wait_until
from tests.script import ROOT

ELECTORATE = str(Path(sys.executable).with_name("electorate"))
CASES = [
    "--help",
    "--version",
    "certs --help",
    "check bully --crashes 0 --engine python",
    "costs bully --nodes 3..3",
    "graph path:3",
    "lecture",
    "node bully --id 1 --member 1@127.0.0.1:{port} --data {data}",
    "protocols bully --json",
    "replay bully_rpc/tie",
    "simulate bully --seeds 3 --json",
    "timeouts bully --lengths 1 --seeds 2 --nodes 3 --crashes 1",
    "tx --help",
    "up --nodes 1 --for 0.2 --json",
]
SLOWER = {
    "ascii": "lecture souto/13",
    "closed": "dossier examples/chang_roberts.py:ChangRoberts",
    "unread": "diagram two-phase --role coordinator",
}
"""Commands that take a second, each in one of these states only."""


@pytest.mark.parametrize(
    "state", [pytest.param("closed", marks=pytest.mark.slow), "unread", "ascii"]
)
def test_no_command_shows_a_traceback_wherever_its_output_goes(state: str, tmp_path: Path) -> None:
    of_own = {"port": free_ports(1)[0], "data": tmp_path / "data"}
    given = [words.format(**of_own) for words in (*CASES, SLOWER[state])]
    assert {words.split()[0] for words in (*CASES, *SLOWER.values())} >= set(COMMANDS)
    cases = [(state, words.split()) for words in given]
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack.streams", json.dumps(cases), str(tmp_path)],
        stdout=subprocess.PIPE,
        check=True,
        cwd=ROOT,
    )
    for words, (code, out, err) in zip(given, json.loads(done.stdout), strict=True):
        assert not re.search("Traceback|Exception|Error", err), (words, err)
        assert code in (0, 1, 3), (words, code, err)
        if state == "unread" and "--help" not in words:
            assert code != 0, (words, "nobody has read what it printed")
        assert out.isascii()
        if state == "ascii":
            assert out, words
            if "--json" in words.split():
                for line in out.splitlines():
                    json.loads(line)


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("{} lecture >&-", {0}),
        ("{} lecture >&- 2>&- <&-", {0}),
        ("{} lecture | head -1", {0, 3}),  # It may have written all before the pipe ends.
        ("PYTHONIOENCODING=ascii {} costs bully --nodes 3..3", {0}),
        ("{} lecture >/dev/full", {2}),
    ],
)
def test_it_is_the_same_from_a_shell(line: str, ends: set[int]) -> None:
    line = f"set -o pipefail; {line.format(ELECTORATE)}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.returncode in ends
    is_full = "/dev/full" in line
    assert done.stderr == ("electorate: No space left on device\n" if is_full else "")


@pytest.mark.parametrize(
    ("number", "to_all", "code"),
    [(signal.SIGTERM, False, 3), (signal.SIGINT, True, 3), (signal.SIGKILL, False, -9)],
    ids=["SIGTERM", "Ctrl-C", "kill -9"],
)
def test_a_simulation_leaves_no_workers_behind_however_it_ends(
    number: signal.Signals, to_all: bool, code: int, tmp_path: Path
) -> None:
    words = ["simulate", "bully", "--seeds", "10000000", "--workers", "2"]
    with (tmp_path / "out").open("w") as out:
        main = subprocess.Popen(
            [ELECTORATE, *words], stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait_until(lambda: len(workers(main.pid)) == 2, 60)
        left = set(workers(main.pid))
        os.killpg(main.pid, number) if to_all else main.send_signal(number)
        assert main.wait(60) == code
        wait_until(lambda: not left & set(in_session(main.pid)), 60)
    finally:
        for pid in in_session(main.pid):
            os.kill(pid, signal.SIGKILL)
        main.wait()
    if code == 3:
        assert "interrupted" in (tmp_path / "out").read_text()
        assert "Traceback" not in (tmp_path / "out").read_text()


def workers(session: int) -> list[int]:
    """The workers among the processes of a session."""
    return [pid for pid in in_session(session) if b"spawn_main" in cmdline(pid)]


def in_session(session: int) -> list[int]:
    """All processes of a session that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its_session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            found.append(int(folder.name))
    return found


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("simulate bully --seeds 400 --workers 4", 10),
        ("up --nodes 3 --for 0.1 --json", 10),
        ("node bully --id 1 --member 1@127.0.0.1:{port} --data {data}", 6),
    ],
)
def test_few_descriptors_give_a_clear_line(words: str, count: int, tmp_path: Path) -> None:
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (count, count))
    done = subprocess.run(
        [ELECTORATE, *words.format(port=free_ports(1)[0], data=tmp_path / "data").split()],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=few,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Too many open files" in done.stderr.splitlines()[-1]
    assert len(done.stderr.splitlines()) == 1
