"""Processes that we have started: heard, told, hurt, and none left in the end."""

import os
import signal
import sys
from pathlib import Path
from queue import SimpleQueue

import pytest

from electorate.cli.supervisor import Child, Supervisor, free_ports
from tests.runtime.process import is_running, on_linux

PATIENCE_S = 20.0
ECHO = """
import sys
for line in sys.stdin:
    print("heard", line, end="", flush=True)
    print("noted", line, end="", flush=True, file=sys.stderr)
print("the end", flush=True)
"""
HALF_A_WORD = """
import os, sys
print("whole", flush=True)
sys.stdout.write("half")
sys.stdout.flush()
os.kill(os.getpid(), 9)
"""
DEAF = "import time; print('up', flush=True); time.sleep(3600)"


class Heard:
    """What one child says, and how it ends."""

    def __init__(self, running: Supervisor[str], name: str, source: str, log: Path | None) -> None:
        self.lines: SimpleQueue[str] = SimpleQueue()
        self.codes: SimpleQueue[int] = SimpleQueue()
        words = [sys.executable, "-c", source]
        hear, ended = self.lines.put, self.codes.put
        self.child: Child = running.start(name, words, log=log, hear=hear, ended=ended)

    def next(self) -> str:
        return self.lines.get(timeout=PATIENCE_S)


def test_a_child_is_told_and_heard_and_its_errors_are_kept(tmp_path: Path) -> None:
    with Supervisor[str](PATIENCE_S) as running:
        echo = Heard(running, "echo", ECHO, tmp_path / "log")
        assert echo.child.order("one")
        assert echo.next() == "heard one"
        running["echo"].order("two")
    assert [echo.next(), echo.next()] == ["heard two", "the end"]
    assert echo.codes.get(timeout=PATIENCE_S) == 0
    assert (tmp_path / "log").read_text() == "noted one\nnoted two\n"


def test_a_child_that_was_killed_in_the_middle_of_a_word_has_not_said_it() -> None:
    with Supervisor[str]() as running:
        child = Heard(running, "it", HALF_A_WORD, None)
        assert child.codes.get(timeout=PATIENCE_S) == -signal.SIGKILL
        assert child.next() == "whole"
        assert child.lines.empty()


def test_who_has_ended_gets_no_order_and_no_signal() -> None:
    with Supervisor[str]() as running:
        child = Heard(running, "it", DEAF, None).child
        assert child.wait(0) is None
        child.kill()
        assert child.code == -signal.SIGKILL
        assert not child.order("anything")
        assert not child.signal(signal.SIGCONT)


@on_linux
def test_none_is_left_not_even_one_that_is_stopped_or_does_not_listen() -> None:
    with Supervisor[str](0.2) as running:
        deaf, stopped = (Heard(running, name, DEAF, None) for name in ("deaf", "stopped"))
        assert [deaf.next(), stopped.next()] == ["up", "up"]
        stopped.child.signal(signal.SIGSTOP)
        pids = [child.pid for _, child in running.items()]
    assert not any(map(is_running, pids))


@on_linux
def test_a_child_that_is_started_again_takes_the_place_of_the_first() -> None:
    with Supervisor[str]() as running:
        first = Heard(running, "it", DEAF, None).child
        second = Heard(running, "it", DEAF, None).child
        assert running["it"] is second
        assert not is_running(first.pid)
        running.bury("it")
        assert not dict(running.items())
    assert not is_running(second.pid)


@on_linux
def test_whoever_interrupts_a_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, pids = Child.__init__, []

    def interrupted(child: Child, *given: object) -> None:
        begin(child, *given)  # type: ignore[arg-type]
        pids.append(child.pid)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Child, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt), Supervisor[str]() as running:
        running.start("it", [sys.executable, "-c", DEAF])
    assert pids
    assert not any(map(is_running, pids))


def test_ports_that_are_free_are_different_ones() -> None:
    assert len(set(free_ports(20))) == 20
