"""The keys of `electorate up`, pressed in a pseudo-terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.cluster import wait_until
from tests.runtime.process import is_running, on_linux

PATIENCE_S = 20.0
WORDS = ["up", "--nodes", "3", "--T", "60", "--beat", "30", "--timeout", "250"]

pytestmark = [on_linux, pytest.mark.timeout(60)]


class Terminal:
    """A screen that is only read, and a keyboard."""

    def __init__(self, folder: Path) -> None:
        self._master, self.slave = pty.openpty()
        termios.tcsetwinsize(self.slave, (40, 120))
        self.before = termios.tcgetattr(self.slave)
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "electorate.cli.main", *WORDS],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(folder), "TERM": "xterm", "COLUMNS": "120"},
        )

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def look(self, pattern: str) -> re.Match[str]:
        """Wait until something can be read on what was printed since the last look."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self.seen, re.DOTALL)) is None:
            assert time.monotonic() < deadline, f"never saw {pattern!r} in {self.seen[-2000:]}"
            self._read()
        self.seen = self.seen[found.end() :]
        return found

    def await_end(self) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it never ended"
            self._read()
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self.slave)

    def _read(self) -> None:
        if select.select([self._master], [], [], 0.05)[0]:
            text = os.read(self._master, 65536).decode(errors="replace")
            self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    try:
        opened.look("all follow node 1")
        yield opened
    finally:
        opened.close()


def test_every_key_does_what_it_says_and_the_terminal_is_put_back(terminal: Terminal) -> None:
    assert termios.tcgetattr(terminal.slave) != terminal.before
    nodes = [int(terminal.look(rf"│ +{n} │ +(\d+) │ normal")[1]) for n in (1, 2, 3)]

    terminal.press("k")
    terminal.look("all follow node 2")
    assert not is_running(nodes[0])
    terminal.press("r")
    terminal.look("all follow node 1")

    terminal.press("\x1b[C")  # the next node
    terminal.press("\x1b[D")  # and back
    terminal.press("p")
    terminal.look(r"│ +1 │[^│]*│ paused")
    terminal.look("all follow node 2")
    terminal.press("u")
    terminal.look("all follow node 1")

    terminal.press("c")
    terminal.look(r"│ +1 │[^│]*│ [a-z]+ \(cut off\)")
    terminal.look("all follow node 2")
    terminal.press("h")
    terminal.look("all follow node 1")

    terminal.press("3k")
    terminal.look(r"│ +3 │ +- │ down")
    terminal.press("q")
    assert terminal.await_end() == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before
    wait_until(lambda: not any(map(is_running, nodes)))


def test_ctrl_c_ends_it_and_the_terminal_is_put_back(terminal: Terminal) -> None:
    os.kill(terminal.process.pid, 2)
    assert terminal.await_end() == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before
    terminal.look(r"After [0-9.]+ s: all follow node 1; \d+ changes\.")
