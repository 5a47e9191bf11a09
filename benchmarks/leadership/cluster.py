"""Real processes: a cluster of a contender, what its applications say, and how it is hurt."""

import json
import os
import queue
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.engine import ROOT
from benchmarks.leadership.contender import Contender, Seat
from electorate.cli.supervisor import Child, Supervisor, free_ports

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
        self._processes = Supervisor[tuple[Seat, int]]()
        """The last of a node is its application."""

    def start(self, seat: Seat) -> None:
        """Start a node, for the first time or again."""
        seat.folder.mkdir(parents=True, exist_ok=True)
        self._held = [held for held in self._held if held.seat != seat]
        commands = self.contender.commands(seat, self.seats)
        for place, command in enumerate(commands):
            self._processes.start(
                (seat, place),
                [*self._prefix(seat), *BOUND, *command],
                log=Path("/dev/stderr") if os.environ.get("BENCH_LOUD") else None,
                hear=partial(self._read, seat) if command is commands[-1] else None,
                cwd=ROOT,
            )

    def _of(self, seat: Seat) -> list[Child]:
        return [child for (owner, _), child in self._processes.items() if owner == seat]

    def signal(self, seat: Seat, number: signal.Signals) -> None:
        """To every process of a node, the application last: its server may be what it leans on."""
        for process in self._of(seat):
            process.signal(number)

    def kill(self, seat: Seat) -> None:
        """End every process of a node without a word."""
        self.signal(seat, signal.SIGKILL)

    def order(self, seat: Seat, words: str) -> None:
        """Tell an application something."""
        self._of(seat)[-1].order(words)

    def processes(self, seat: Seat) -> list[int]:
        """Their ids."""
        return [process.pid for process in self._of(seat)]

    def stop(self) -> None:
        """End everything."""
        self._processes.stop()

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

    def _read(self, seat: Seat, line: str) -> None:
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
