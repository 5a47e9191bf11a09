"""The workers, and what is done to them."""

import heapq
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, Self, get_args

from benchmarks.engine import ROOT
from benchmarks.faults.evidence import ANSWERS, GROUPS, JOB, POINTS, Point
from benchmarks.faults.worker import Orders
from benchmarks.leadership.island import Islands
from electorate.cli.supervisor import Child, Supervisor, free_ports

NODES = 3
PORT = 7400
"""Of the first node in a network namespace; the next one there has the next port."""
LASTS_S = {"kill": (0.0, 1.0), "stop": (0.05, 2.0), "cut": (0.2, 3.0), "members": (0.0, 0.0)}
OFTEN = {"kill": 1, "stop": 2, "cut": 2, "members": 2}
"""How often each kind comes, relative to the others."""
FRESH_NS = 200_000_000
"""Who was in office so long ago is taken for the leader."""
PATIENCE_S = 10.0
CHANGE_S = 60.0
"""A change of members has to be made within this time, whatever else happens meanwhile."""
ANSWER_S = 20.0
"""A worker that has not answered by then was cut off: another one is asked."""
AGAIN_S = 0.3
FAULT_S = 20.0
"""So long a fault may take on the average, or something hangs."""
TAIL = 4_000


Kind = Literal["kill", "stop", "cut", "members"]
Whom = Literal["leader", "other"]
Way = Literal["", "both", "to", "from", "half"]
"""What is cut: what goes to a node, what comes from it, both, or half of the nodes from others."""
Change = Literal["remove", "add", "replace"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Fault(NamedTuple):
    """Something is done to a process, and undone after a while."""

    kind: Kind
    whom: Whom
    lasts_s: float
    rest_s: float
    """How long until the next fault; if that is shorter, two processes are hurt at once."""
    way: Way = ""

    @property
    def called(self) -> str:
        """Under which words it is counted."""
        return " ".join(filter(None, (self.kind, self.whom, self.way)))


def planned(seed: int, number: int, kinds: Collection[Kind] = ("kill", "stop")) -> Iterator[Fault]:
    """So many faults, by lot."""
    chance = Random(seed)
    drawn = [kind for kind in KINDS if kind in kinds for _ in range(OFTEN[kind])]
    for _ in range(number):
        kind = chance.choice(drawn)
        lasts_s = chance.uniform(*LASTS_S[kind])
        whom: Whom = chance.choice(("leader", "leader", "other"))
        rest_s = chance.uniform(0, lasts_s + 0.6)
        ways: tuple[Way, ...] = ("both", "both", "to", "from", "half")
        yield Fault(kind, whom, lasts_s, rest_s, chance.choice(ways) if kind == "cut" else "")


class Blow(NamedTuple):
    """A fault as it happened."""

    at_ns: int
    fault: Fault
    name: str
    token: int
    """The token of the leader at that time; 0 if nobody was."""
    change: str = ""
    """What was done to the members."""

    @property
    def called(self) -> str:
        """Under which words it is counted."""
        return f"members, {self.change}" if self.change else self.fault.called


class Asked(NamedTuple):
    """A change of the members that is under way."""

    change: Change
    name: str
    words: str
    """What a member is told."""
    since: float


class Order(NamedTuple):
    """What a member was told last, of which nothing has come yet."""

    number: int
    since: float
    process: Child


class Hung(Exception):
    """Something has not come about in a time within which it must."""


class Fleet:
    """The processes of one run; when it ends, none is left."""

    def __init__(
        self,
        folder: Path,
        mutant: str | None = None,
        *,
        nodes: int = NODES,
        record: Path | None = None,
        islands: Islands | None = None,
        is_wide: bool = False,
    ) -> None:
        self.blows: list[Blow] = []
        self.complaints: list[str] = []
        """What no fault excuses: a process that ends by itself, an office that stays vacant."""
        self.changes: list[float] = []
        """How long each change of the members took, in seconds."""
        self._folder = folder
        self._mutant = mutant
        self._record = record
        self._islands = islands
        self._is_wide = is_wide
        self._names = map(_name, count())
        self._slots: dict[str, int] = {}
        """Which namespace each process has."""
        self._addresses: dict[str, str] = {}
        self._had: set[str] = set()
        founders = [next(self._names) for _ in range(nodes)]
        for name in founders:
            self._settle_down(name)
        self._members = list(founders)
        """The names of the present members, as far as is known here."""
        self._founders = [self._place(name) for name in founders]
        self._joined: set[str] = set()
        self._processes = Supervisor[str]()
        self._due: list[tuple[float, int, str, Callable[[str], None]]] = []
        self._numbers = count()
        self._changes: Iterator[Change] = cycle(("remove", "add", "replace"))
        self._asked: Asked | None = None
        self._order: Order | None = None
        self._leaving: dict[str, float] = {}
        """Members that were removed, and until when they have to end."""
        self._lost: dict[str, set[tuple[int, int]]] = {}
        """What each cut that lasts loses."""
        self._deadline = time.monotonic() + PATIENCE_S + FAULT_S

    def __enter__(self) -> Self:
        try:
            for name in self._members:
                self._start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End every process, stopped or not, and wait until it is gone."""
        self._processes.stop()

    # --- what is done to them ---

    def strike(self, fault: Fault) -> None:
        """Do it to somebody who is well; the end of it comes by itself, later."""
        self._deadline += FAULT_S
        change = ""
        if fault.kind == "members":
            self._await_change()
            change = next(self._changes)
        name, token = self._victim("other" if change == "add" else fault.whom)
        now_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self.blows.append(Blow(now_ns, fault, name, token, change))
        if fault.kind == "kill":
            self._processes[name].kill()
            self._later(fault.lasts_s, name, self._start)
        elif fault.kind == "stop":
            self._processes[name].signal(signal.SIGSTOP)
            self._later(fault.lasts_s, name, self._resume)
        elif fault.kind == "cut":
            self._cut(name, fault.way)
            self._later(fault.lasts_s, name, self._heal)
        else:
            self._begin_change(change, name)
        self._pass(fault.rest_s)

    def _resume(self, name: str) -> None:
        self._processes[name].signal(signal.SIGCONT)

    def _cut(self, name: str, way: Way) -> None:
        assert self._islands is not None
        companions = [other for other in self._members if other != name]
        side = {name, *companions[: len(self._members) // 2 - 1]} if way == "half" else {name}
        here = {self._slots[each] for each in side}
        there = set(self._slots.values()) - here
        out = {(one, other) for one in here for other in there}
        back = {(other, one) for one, other in out}
        self._lost[name] = {"from": out, "to": back}.get(way, out | back)
        self._islands.lose(set().union(*self._lost.values()))

    def _heal(self, name: str) -> None:
        assert self._islands is not None
        del self._lost[name]
        self._islands.lose(set().union(*self._lost.values()))

    # --- members ---

    def _begin_change(self, change: str, name: str) -> None:
        now = time.monotonic()
        if change == "remove":
            self._asked = Asked("remove", name, f"remove {name}", now)
        elif change == "add":
            name = next(self._names)
            self._settle_down(name)
            self._joined.add(name)
            self._start(name)
            self._asked = Asked("add", name, f"add {self._place(name)}", now)
        else:
            self._processes[name].kill()
            shutil.rmtree(self._folder / name)
            self._joined.add(name)
            self._start(name)
            self._asked = Asked("replace", name, f"replace {name} {self._place(name)}", now)

    def _see_to_change(self) -> None:
        """Ask a member for the change, and another one if that fails or does not answer."""
        if self._asked is None:
            return
        now = time.monotonic()
        if now - self._asked.since > CHANGE_S:
            raise Hung(f"nobody could {self._asked.words} within {CHANGE_S:.0f} s")
        if self._order is None:
            well = [name for name in self._well() if name != self._asked.name]
            if well:
                number = next(self._numbers)
                process = self._processes[well[number % len(well)]]
                self._order = Order(number, now, process)
                process.order(f"{number} {self._asked.words}")
        else:
            number, since, process = self._order
            answer, name = self._answer(number), self._asked.name
            is_gone = f"{name!r} is no member;" in answer
            if is_gone and self._asked.change == "replace":
                # Whoever was asked before has removed it, and could not add the new one.
                self._asked = self._asked._replace(words=f"add {self._place(name)}")
                self._order = None
            elif answer == "done" or is_gone or f"{name} is a member already" in answer:
                self._end_change()
            elif not process.is_running or now - since > (AGAIN_S if answer else ANSWER_S):
                self._order = None

    def _end_change(self) -> None:
        assert self._asked is not None
        self.changes.append(time.monotonic() - self._asked.since)
        change, name = self._asked.change, self._asked.name
        self._asked = self._order = None
        if change == "remove":
            self._members.remove(name)
            self._leaving[name] = time.monotonic() + PATIENCE_S
        elif change == "add":
            self._members.append(name)

    def _await_change(self) -> None:
        """Wait until no change is under way, and whoever was removed has gone."""
        while self._asked is not None or self._leaving:
            self._pass(0.05)

    def _answer(self, number: int) -> str:
        """What came of an order; empty if nothing is known yet."""
        path = self._folder / ANSWERS
        lines = path.read_text().splitlines() if path.exists() else []
        found = [line.split(maxsplit=1)[1] for line in lines if line.split()[0] == str(number)]
        return found[-1] if found else ""

    # --- what becomes of them ---

    def _look_for_deaths(self) -> None:
        for name, process in self._processes.items():
            code = process.code
            if name in self._leaving:
                self._look_for_end(name, process)
            elif self._is_being_removed(name) and code == 0:
                pass  # It has heard of it before whoever was asked for it has said so.
            elif code not in (None, -signal.SIGKILL):
                self.complaints.append(f"{name} ({process.pid}) has ended by itself: {name}.log")
                self._start(name)

    def _is_being_removed(self, name: str) -> bool:
        return self._asked is not None and self._asked[:2] == ("remove", name)

    def _look_for_end(self, name: str, process: Child) -> None:
        """See whether a node that was removed has ended, as it should."""
        is_over = time.monotonic() > self._leaving[name]
        if process.is_running and not is_over:
            return
        if process.code != 0:
            how = "has not ended" if process.is_running else "has ended otherwise"
            self.complaints.append(f"{name} ({process.pid}) was removed and {how}: {name}.log")
        self._processes.bury(name)
        del self._leaving[name], self._slots[name]

    def settle(self) -> None:
        """Bring everybody back, and wait until somebody leads again, and all are in one team."""
        self._deadline += CHANGE_S + 5 * PATIENCE_S
        while self._due:
            self._pass(0.02)
        self._await_change()
        if self.await_leader() is None:
            self.complaints.append(f"nobody leads {PATIENCE_S:.0f} s after everybody is back")
        if self._is_wide and not self._await_team():
            self.complaints.append(f"no team of all {2 * PATIENCE_S:.0f} s after all are back")

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

    def _await_team(self) -> bool:
        """Wait until one group has all members; whether it comes to that."""
        deadline = time.monotonic() + 2 * PATIENCE_S
        everybody = ",".join(sorted(self._members))
        while time.monotonic() < deadline:
            now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            said = [line.split() for line in _tail(self._folder / GROUPS)]
            teams = {team for at, *_, team in said if now - int(at) < 2 * FRESH_NS}
            if teams == {everybody}:
                return True
            self._pass(0.1)
        return False

    def _well(self) -> list[str]:
        """Members that nothing is being done to."""
        hurt = {name for _, _, name, _ in self._due}
        changing = {self._asked.name} if self._asked is not None else set()
        return sorted(set(self._members) - hurt - changing)

    def _victim(self, whom: str) -> tuple[str, int]:
        while True:
            leader = self.await_leader()
            well = set(self._well())
            lead = {leader.name} if leader is not None else set()
            wanted = well & lead if whom == "leader" else well - lead
            for name in sorted(wanted or (well if leader is None else ())):
                return name, leader.token if leader is not None else 0
            self._pass(0.02)

    def _last(self) -> Point | None:
        """The last word of anybody in office."""
        found = [line.split() for line in _tail(self._folder / JOB / POINTS)]
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
            self._see_to_change()
            if time.monotonic() > self._deadline:
                raise Hung(f"{len(self.blows)} faults took more than {FAULT_S:.0f} s each")
            left = until - time.monotonic()
            if left <= 0:
                return
            next_s = self._due[0][0] - time.monotonic() if self._due else left
            time.sleep(max(0.0, min(left, next_s, 0.05 if self._asked else left)))

    def _later(self, seconds: float, name: str, act: Callable[[str], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), name, act))

    # --- processes ---

    def _settle_down(self, name: str) -> None:
        """Give a node an address that no other has, or had: for a while members remember those."""
        slot = min({*range(len(self._slots) + 1)} - {*self._slots.values()})
        host = "127.0.0.1" if self._islands is None else self._islands.host(slot)
        ports = free_ports(len(self._addresses) + 1) if self._islands is None else count(PORT)
        new = (address for port in ports if (address := f"{host}:{port}") not in self._had)
        self._slots[name], self._addresses[name] = slot, next(new)
        self._had.add(self._addresses[name])

    def _place(self, name: str) -> str:
        return f"{name}@{self._addresses[name]}"

    def _start(self, name: str) -> None:
        joins = name in self._joined
        members = [self._place(each) for each in self._members if each != name]
        orders = Orders(
            self._place(name),
            members if joins else self._founders,
            str(self._folder),
            self._mutant,
            None if self._record is None else str(self._record),
            joins,
            self._is_wide,
        )
        where = [] if self._islands is None else self._islands.prefix(self._slots[name])
        words = [*where, sys.executable, "-m", "benchmarks.faults.worker", orders.text()]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _paths()))}
        log = self._folder / f"{name}.log"
        self._processes.start(name, words, log=log, cwd=ROOT, env=env)


def _name(number: int) -> str:
    """a, b, …, z, a1, b1, …"""
    return f"{chr(ord('a') + number % 26)}{number // 26 or ''}"


def _tail(path: Path) -> list[str]:
    """The last whole lines of a file."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        begin = max(0, path.stat().st_size - TAIL)
        file.seek(begin)
        return file.read().decode().splitlines()[1 if begin else 0 :]


def _paths() -> list[Path]:
    return [ROOT / "src", ROOT]
