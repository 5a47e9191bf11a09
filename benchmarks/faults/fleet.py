"""Three workers, and what is done to them."""

import heapq
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, Self

from benchmarks.engine import ROOT
from benchmarks.faults.evidence import POINTS, Point
from electorate.cli.fleet import free_ports
from electorate.cli.interrupt import not_now

NAMES = ("a", "b", "c")
PAUSE_S = (0.05, 2.0)
DOWN_S = (0.0, 1.0)
FRESH_NS = 200_000_000
"""Who was in office so long ago is taken for the leader."""
PATIENCE_S = 10.0
TAIL = 400


Kind = Literal["kill", "stop"]
Whom = Literal["leader", "other"]


class Fault(NamedTuple):
    """A process is killed or stopped, and back after a while."""

    kind: Kind
    whom: Whom
    lasts_s: float
    rest_s: float
    """How long until the next fault; if that is shorter, two processes are hurt at once."""

    def __str__(self) -> str:
        return f"{self.kind} {self.whom} for {self.lasts_s:.2f} s"


def planned(seed: int, number: int) -> Iterator[Fault]:
    """So many faults, by lot."""
    chance = Random(seed)
    for _ in range(number):
        kind: Kind = chance.choice(("kill", "stop", "stop"))
        lasts_s = chance.uniform(*(DOWN_S if kind == "kill" else PAUSE_S))
        whom: Whom = chance.choice(("leader", "leader", "other"))
        yield Fault(kind, whom, lasts_s, chance.uniform(0, lasts_s + 0.6))


class Blow(NamedTuple):
    """A fault as it happened."""

    at_ns: int
    fault: Fault
    name: str
    token: int
    """The token of the leader at that time; 0 if nobody was."""


class Fleet:
    """The processes of one run; when it ends, none is left."""

    def __init__(self, folder: Path, mutant: str | None = None) -> None:
        self.blows: list[Blow] = []
        self.complaints: list[str] = []
        """What no fault excuses: a process that ends by itself, an office that stays vacant."""
        self._folder = folder
        self._mutant = mutant
        ports = free_ports(len(NAMES))
        self._members = [f"{n}@127.0.0.1:{p}" for n, p in zip(NAMES, ports, strict=True)]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._due: list[tuple[float, int, str, Callable[[str], None]]] = []
        self._numbers = count()

    def __enter__(self) -> Self:
        try:
            for name in NAMES:
                self._start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End every process, stopped or not, and wait until it is gone."""
        with not_now():
            for process in self._processes.values():
                process.kill()
            for process in self._processes.values():
                process.wait()
                if process.stdin is not None:
                    process.stdin.close()

    def strike(self, fault: Fault) -> None:
        """Do it to somebody who is well; the end of it comes by itself, later."""
        name, token = self._victim(fault.whom)
        self.blows.append(Blow(time.clock_gettime_ns(time.CLOCK_BOOTTIME), fault, name, token))
        if fault.kind == "kill":
            self._processes[name].kill()
            self._processes[name].wait()
            self._later(fault.lasts_s, name, self._start)
        else:
            self._processes[name].send_signal(signal.SIGSTOP)
            self._later(fault.lasts_s, name, self._resume)
        self._pass(fault.rest_s)

    def _look_for_deaths(self) -> None:
        for name, process in list(self._processes.items()):
            if process.poll() is not None and process.returncode != -signal.SIGKILL:
                self.complaints.append(f"{name} ({process.pid}) has ended by itself: {name}.log")
                self._start(name)

    def settle(self) -> None:
        """Bring everybody back, and wait until somebody leads again."""
        while self._due:
            self._pass(0.02)
        if self.await_leader() is None:
            self.complaints.append(f"nobody leads {PATIENCE_S:.0f} s after everybody is back")

    def await_leader(self) -> Point | None:
        """Who leads; None if it takes too long until anybody does."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            last = self._last()
            now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            if last is not None and now - last.at_ns < FRESH_NS:
                return last
            self._pass(0.02)
        return None

    def _victim(self, whom: str) -> tuple[str, int]:
        while True:
            leader = self.await_leader()
            well = set(NAMES) - {name for _, _, name, _ in self._due}
            lead = {leader.name} if leader is not None else set()
            wanted = well & lead if whom == "leader" else well - lead
            for name in sorted(wanted or (well if leader is None else ())):
                return name, leader.token if leader is not None else 0
            self._pass(0.02)

    def _last(self) -> Point | None:
        """The last word of anybody in office."""
        path = self._folder / POINTS
        if not path.exists():
            return None
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            lines = file.read().decode().splitlines()[1:]
        found = [line.split() for line in lines]
        points = [Point(int(at), int(token), name, int(pid)) for at, token, name, pid in found]
        return max(points, default=None)

    def _pass(self, seconds: float) -> None:
        """Let time go by, and end what is due."""
        until = time.monotonic() + seconds
        while True:
            while self._due and self._due[0][0] <= time.monotonic():
                _, _, name, act = heapq.heappop(self._due)
                act(name)
            self._look_for_deaths()
            left = until - time.monotonic()
            if left <= 0:
                return
            next_s = self._due[0][0] - time.monotonic() if self._due else left
            time.sleep(max(0.0, min(left, next_s)))

    def _later(self, seconds: float, name: str, act: Callable[[str], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), name, act))

    def _resume(self, name: str) -> None:
        self._processes[name].send_signal(signal.SIGCONT)

    def _start(self, name: str) -> None:
        words = [sys.executable, "-m", "benchmarks.faults.worker", name, str(self._folder)]
        words += [self._mutant or "-", *self._members]
        before = self._processes.get(name)
        if before is not None and before.stdin is not None:
            before.stdin.close()
        with not_now(), (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                words,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _paths()))},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for whoever started it, which ends it then.
            )


def _paths() -> list[Path]:
    return [ROOT / "src", ROOT]
