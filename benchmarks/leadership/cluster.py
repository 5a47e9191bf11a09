"""Real processes: a cluster of a contender, what its applications say, and how it is hurt."""

import json
import os
import queue
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.engine import ROOT
from benchmarks.leadership.contender import Contender, Seat

PORTS = range(20_000, 32_000)
"""Below what the system itself gives to connections."""

BOUND = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
"""Should the benchmark itself be killed, nothing of it goes on."""


class Said(NamedTuple):
    """What an application said, and when."""

    seat: Seat
    what: str
    about: Any
    at_ns: int


class Silence(Exception):
    """Nothing came of it in time."""


def now_ns() -> int:
    """The clock that all processes of this machine share."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Cluster:
    """The nodes of a contender, each one process or more."""

    def __init__(
        self,
        contender: Contender,
        seats: list[Seat],
        prefix: Callable[[Seat], list[str]] = lambda _: [],
    ) -> None:
        self.contender = contender
        self.seats = seats
        self.terms = 0
        """How many terms were held so far."""
        self._prefix = prefix
        self._said: queue.Queue[Said] = queue.Queue()
        self._held: list[Said] = []
        """The terms that are not over, as far as their applications have said."""
        self._running: dict[Seat, list[subprocess.Popen[str]]] = {}
        self._stopping: list[threading.Thread] = []

    def start(self, seat: Seat) -> None:
        """Start a node, for the first time or again."""
        commands = self.contender.commands(seat, self.seats)
        seat.folder.mkdir(parents=True, exist_ok=True)
        self._held = [held for held in self._held if held.seat != seat]
        self._running[seat] = running = []
        for command in commands:
            is_application = command is commands[-1]
            whole = [*self._prefix(seat), *BOUND, *command]
            running.append(self._process(whole, is_application))
        threading.Thread(target=self._read, args=(seat, running[-1]), daemon=True).start()

    def _process(self, command: list[str], is_application: bool) -> "subprocess.Popen[str]":
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if is_application else quiet,
            stdout=subprocess.PIPE if is_application else quiet,
            stderr=None if os.environ.get("BENCH_LOUD") else quiet,
            text=True,
            cwd=ROOT,
            start_new_session=True,  # Ctrl-C is for the benchmark alone, which then cleans up.
        )

    def signal(self, seat: Seat, number: signal.Signals) -> None:
        """To every process of a node, the application last: its server may be what it leans on."""
        for process in self._running[seat]:
            process.send_signal(number)

    def kill(self, seat: Seat) -> None:
        """End every process of a node without a word."""
        self.signal(seat, signal.SIGKILL)

    def bury(self, seat: Seat) -> None:
        """Wait until a node that was killed is gone."""
        for process in self._running.pop(seat):
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def order(self, seat: Seat, words: str) -> None:
        """Tell an application something."""
        pipe = self._running[seat][-1].stdin
        assert pipe is not None
        pipe.write(words + "\n")
        pipe.flush()

    def processes(self, seat: Seat) -> list[int]:
        """Their ids."""
        return [process.pid for process in self._running[seat]]

    def stop(self) -> None:
        """End everything."""
        for seat in self._running:
            self.kill(seat)
        for seat in list(self._running):
            self.bury(seat)

    # --- what the applications say ---

    @property
    def leader(self) -> Said | None:
        """Whose application was the last to hold a term, of those that have not said it is over."""
        return max(self._held, key=lambda held: held.at_ns, default=None)

    def until(self, condition: Callable[[Said], bool], patience_s: float) -> Said:
        """Hear everything up to the first that answers this; Silence if none does in time."""
        deadline = time.monotonic() + patience_s
        while (left_s := deadline - time.monotonic()) > 0:
            with suppress(queue.Empty):
                said = self._hear(left_s)
                if condition(said):
                    return said
        raise Silence(f"nothing within {patience_s:g} s")

    def catch_up(self) -> None:
        """Hear everything that has been said by now."""
        with suppress(queue.Empty):
            while True:
                self._hear(0)

    def _hear(self, patience_s: float) -> Said:
        said = self._said.get(timeout=patience_s) if patience_s else self._said.get_nowait()
        if said.what == "held":
            self.terms += 1
            self._held.append(said)
        elif said.what == "over":
            self._held = [held for held in self._held if not _ends(said, held)]
        return said

    def _read(self, seat: Seat, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with suppress(ValueError, OSError):  # What a node leaves unfinished when it is killed.
            for line in process.stdout:
                self._said.put(Said(seat, *json.loads(line)))


def _ends(over: Said, held: Said) -> bool:
    """Whether a term is over by that; some say it with the number of the next."""
    return held.seat == over.seat and held.about <= over.about


@contextmanager
def cluster(
    contender: Contender,
    nodes: int,
    host: Callable[[int], str] = lambda _: "127.0.0.1",
    prefix: Callable[[Seat], list[str]] = lambda _: [],
) -> Iterator[Cluster]:
    """A cluster with empty folders that has not begun yet; nothing is left of it in the end."""
    folder = Path(tempfile.mkdtemp(prefix="electorate-leadership-"))
    ports = iter(free_ports(3 * nodes))
    seats = [
        Seat(f"n{number}", number, host(number), (next(ports), next(ports), next(ports)), folder)
        for number in range(nodes)
    ]
    made = Cluster(contender, [seat._replace(folder=folder / seat.name) for seat in seats], prefix)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports on which nobody listens at the moment."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise OSError("too few free ports")
