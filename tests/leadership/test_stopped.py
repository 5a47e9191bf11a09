"""A leader whose process is stopped for longer than its term finds out by its clock alone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.engine import ROOT
from electorate import Pace
from electorate.cli.fleet import free_ports
from tests.runtime.process import on_linux

LEADER = """
import os, signal, sys
from electorate import LeadershipLost, sync

name, folder, *members = sys.argv[1:]
with sync.Node(name, members, folder) as node:
    with node.election("x").lead() as term:
        term.check()
        print("leads", flush=True)
        sys.stdin.readline()
        # No other thread of this process runs from here until the term has been looked at.
        sys.setswitchinterval(3600)
        before = term.remaining()
        os.kill(os.getpid(), signal.SIGSTOP)
        told = term.lost.is_set()
        try:
            term.check()
            print("still leads")
        except LeadershipLost as error:
            print(f"{before > 0}, {told}, {error}", flush=True)
        sys.setswitchinterval(0.005)
    with node.election("x").lead(timeout=20) as term:
        print(f"leads again, token {term.token}", flush=True)
"""


@on_linux
def test_the_first_look_after_a_long_stop_says_that_the_term_is_over(tmp_path: Path) -> None:
    """Although nobody has told it so: no message was read, and the node's thread has not run."""
    members = [f"{n}@127.0.0.1:{port}" for n, port in zip("abc", free_ports(3), strict=True)]
    voter = LEADER.partition("    with node")[0] + "    sys.stdin.readline()\n"
    python = [sys.executable, "-c"]
    processes = {
        name: subprocess.Popen(
            [*python, LEADER if name == "a" else voter, name, str(tmp_path / name), *members],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abc"
    }
    leader = processes["a"]
    assert leader.stdin is not None
    assert leader.stdout is not None
    try:
        assert leader.stdout.readline() == "leads\n"
        leader.stdin.write("\n")
        leader.stdin.flush()
        _, status = os.waitpid(leader.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        time.sleep(Pace().lease + 0.1)
        leader.send_signal(signal.SIGCONT)
        assert leader.stdout.readline() == "True, False, term 1 of x is over\n"
        assert leader.stdout.readline() == "leads again, token 2\n"
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
