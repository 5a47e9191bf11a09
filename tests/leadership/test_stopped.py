"""A leader whose process is stopped for longer than its term finds out by its clock alone."""

import os
import signal
import sys
import time
from pathlib import Path
from queue import SimpleQueue

from benchmarks.engine import ROOT
from electorate import Pace
from electorate.cli.supervisor import Supervisor, free_ports
from tests.runtime.process import on_linux

PATIENCE_S = 60.0
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
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    said: SimpleQueue[str] = SimpleQueue()
    with Supervisor[str]() as running:
        for name in "abc":
            source = LEADER if name == "a" else voter
            words = [sys.executable, "-c", source, name, str(tmp_path / name), *members]
            running.start(name, words, log=tmp_path / "log", hear=said.put, cwd=ROOT, env=env)
        leader = running["a"]
        assert said.get(timeout=PATIENCE_S) == "leads"
        assert leader.order("")
        _, status = os.waitpid(leader.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        time.sleep(Pace().lease + 0.1)
        leader.signal(signal.SIGCONT)
        assert said.get(timeout=PATIENCE_S) == "True, False, term 1 of x is over"
        assert said.get(timeout=PATIENCE_S) == "leads again, token 2"
