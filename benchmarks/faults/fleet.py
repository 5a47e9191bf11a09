"""The workers, and what is done to them."""

import heapq
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

from benchmarks.engine import ROOT
from benchmarks.faults.change import MemberChanges
from benchmarks.faults.disk import SmallDisks, fill, free
from benchmarks.faults.evidence import GROUPS, JOB, JOURNAL, OPEN, Note, Point, tail
from benchmarks.faults.load import LoadWatch
from benchmarks.faults.network import RelayedNetwork, Way
from benchmarks.faults.plan import Change, Fault
from benchmarks.faults.relay import Shape
from benchmarks.faults.shim import Disguise
from benchmarks.faults.worker import Orders
from electorate.cli.supervisor import Child, Supervisor, free_ports

NODES = 3
PORT = 7400
"""Of the first node in a network namespace; the next one there has the next port."""
FRESH_NS = 200_000_000
"""Who was in office so long ago is taken for the leader."""
PATIENCE_S = 10.0
CHANGE_S = 60.0
"""A change of members has to be made within this time, whatever else happens meanwhile."""
OPEN_S = 60.0
"""After that time no transaction may be open any more."""
ENDING_S = 30.0
"""So long after its disk was ill a process may still end because of it."""
COMPLAINTS_MAX = 20
AGAIN_S = 0.5
"""So long after it has ended something that is no member is started again."""
FAULT_S = 20.0
"""So long a fault may take on the average, or something hangs."""
DRIFT_PPM = 9_500
"""A little less than the pace allows a clock to be off."""
HOUR_S = 3_600.0
FOREVER = float("inf")
DISK_S = 0.05
"""So long a disk is ill before something is to be written to it."""
WRITING_S = 0.05
"""Within that time after it was given up, an office is claimed, and that written down."""


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

    @property
    def row(self) -> str:
        """In which row of the table it is."""
        return " ".join(filter(None, (self.fault.kind, self.fault.way or self.change)))


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
        network: RelayedNetwork | None = None,
        disks: SmallDisks | None = None,
        library: Path | None = None,
        is_wide: bool = False,
        more: int = 0,
        transfers: bool = False,
    ) -> None:
        self.blows: list[Blow] = []
        self.complaints: list[str] = []
        """What no fault excuses: a process that ends by itself, an office that stays vacant."""
        self.folder = folder
        self.network = network
        self._mutant = mutant
        self._record = record
        self._disks = disks
        self._library = library
        self._is_wide = is_wide
        self._more = more
        self._journal = Note(folder / JOURNAL)
        self._names = map(_name, count())
        self.slots: dict[str, int] = {}
        """Which namespace each process has."""
        self._addresses: dict[str, str] = {}
        self._had: set[str] = set()
        self.disguises: dict[str, Disguise] = {}
        founders = [self.next_name() for _ in range(nodes)]
        for name in founders:
            self.settle_down(name)
        self.members = list(founders)
        """The names of the present members, as far as is known here."""
        self._founders = [self.place(name) for name in founders]
        self._accounts = founders if transfers else []
        self.joined: set[str] = set()
        self.processes = Supervisor[str]()
        self._due: list[tuple[float, int, str, Callable[[str], None]]] = []
        self._numbers = count()
        self.changes = MemberChanges(self)
        self._lost: dict[int, set[Way]] = {}
        """What each cut that lasts loses."""
        self._shaped: dict[int, dict[Way, Shape]] = {}
        self._ill: dict[str, float] = {}
        """Whose disk is ill, and until when its process may end because of that."""
        self._fallen: set[str] = set()
        self._beside: dict[str, list[str]] = {}
        """Processes that are no members, and their commands."""
        self._deadline = time.monotonic() + PATIENCE_S + FAULT_S
        self._load = LoadWatch(
            self._pids,
            lambda since_ns: self.tell("busy", since=since_ns),
        )

    def __enter__(self) -> Self:
        self.tell("members", lists=[self.members])
        self._load.start()
        try:
            for name in self.members:
                self.start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End every process, stopped or not, and wait until it is gone."""
        self._load.stop()
        self.processes.stop()
        self.tell("over")

    def _pids(self) -> list[int]:
        relay = [] if self.network is None else [self.network.pid]
        return [*relay, *(process.pid for _, process in self.processes.items())]

    def tell(self, what: str, **said: object) -> None:
        """Note in the journal what was done, or has become of somebody."""
        at = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self._journal.add(json.dumps({"at": at, "what": what, **said}))

    def allow(self, seconds: float) -> None:
        """Have so much more time until something counts as hanging."""
        self._deadline += seconds

    def complain(self, text: str, *, is_late: bool = False) -> None:
        """Note something that no fault excuses. What is late, a busy machine may excuse."""
        self.complaints.append(text)
        self.tell("complaint", text=text, is_late=is_late)
        if len(self.complaints) == COMPLAINTS_MAX:
            raise Hung(f"{len(self.complaints)} complaints: it makes no sense to go on")

    # --- what is done to them ---

    def strike(self, fault: Fault) -> None:
        """Do it to somebody who is well; the end of it comes by itself, later."""
        self.allow(FAULT_S)
        change: Change | None = None
        if fault.kind == "members":
            self.changes.await_none()
            change = next(self.changes.order)
        name, token = self._victim("other" if change == "add" else fault.whom)
        now_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        blow = Blow(now_ns, fault, name, token, change or "")
        self.blows.append(blow)
        self.tell("fault", called=blow.row, name=name, plan=fault._asdict())
        if change:
            self.changes.begin(change, name)
        else:
            getattr(self, f"_{fault.kind}")(name, fault)
        self.pass_time(fault.rest_s)

    def _kill(self, name: str, fault: Fault) -> None:
        self.kill(name)
        self.later(fault.lasts_s, name, self.start)

    def _stop(self, name: str, fault: Fault) -> None:
        self.pause(name)
        self.later(fault.lasts_s, name, self.resume)

    def kill(self, name: str) -> None:
        """End a process at once."""
        self.processes[name].kill()
        self.tell("down", name=name)

    def pause(self, name: str) -> None:
        """Have a process stand still."""
        self.processes[name].signal(signal.SIGSTOP)
        self.tell("stopped", name=name)

    def resume(self, name: str) -> None:
        """Have it go on."""
        self.tell("going", name=name)
        self.processes[name].signal(signal.SIGCONT)

    # --- the network ---

    def _cut(self, name: str, fault: Fault) -> None:
        companions = [other for other in self.members if other != name]
        side = {name, *companions[: len(self.members) // 2 - 1]} if fault.way == "half" else {name}
        here = {self.slots[each] for each in side}
        there = self._nodes() - here
        out = {(one, other) for one in here for other in there}
        back = {(other, one) for one, other in out}
        self.lose({"from": out, "to": back}.get(fault.way, out | back), fault.lasts_s, name)

    def _partial(self, name: str, fault: Fault) -> None:
        """Lose links so that only some nodes, or none but one, still hear a majority."""
        others = [other for other in sorted(self.members) if other != name]
        Random(fault.lot).shuffle(others)
        hub = others[0]
        if fault.way == "chain":
            line = [name, *others]
            kept = {frozenset(each) for each in pairwise(line)}
        elif fault.way == "constrained":  # As below, and the victim is quite alone.
            kept = {frozenset((hub, other)) for other in others[1:]}
        else:  # Quorum loss: everybody hears the hub, and nobody hears anybody else.
            kept = {frozenset((hub, other)) for other in {name, *others} - {hub}}
        lost = {
            (self.slots[one], self.slots[other])
            for one in self.members
            for other in self.members
            if one != other and frozenset((one, other)) not in kept
        }
        self.lose(lost, fault.lasts_s, name)

    def _nodes(self) -> set[int]:
        """Where nodes are. Whoever is beside them is never cut off: that would only help them."""
        return {slot for name, slot in self.slots.items() if name not in self._beside}

    def lose(self, ways: set[Way], lasts_s: float, name: str) -> None:
        """Lose what goes these ways, for so long."""
        number = next(self._numbers)
        self._lost[number] = ways
        self._connect()
        self.later(lasts_s, name, lambda _: self._heal(self._lost, number))

    def _shape(self, name: str, fault: Fault, shape: Shape) -> None:
        number = next(self._numbers)
        mine = self.slots[name]
        others = self._nodes() - {mine}
        ways = [(mine, other) for other in others] + [(other, mine) for other in others]
        self._shaped[number] = dict.fromkeys(ways, shape)
        self._connect()
        self.later(fault.lasts_s, name, lambda _: self._heal(self._shaped, number))

    def _delay(self, name: str, fault: Fault) -> None:
        self._shape(name, fault, Shape(delay=fault.amount))

    def _reorder(self, name: str, fault: Fault) -> None:
        self._shape(name, fault, Shape(jitter=fault.amount))

    def _loss(self, name: str, fault: Fault) -> None:
        self._shape(name, fault, Shape(loss=fault.amount))

    def _reset(self, name: str, fault: Fault) -> None:
        self._shape(name, fault, Shape(reset=fault.amount))

    def _bandwidth(self, name: str, fault: Fault) -> None:
        self._shape(name, fault, Shape(bandwidth=fault.amount))

    def _heal(self, of: dict[int, set[Way]] | dict[int, dict[Way, Shape]], number: int) -> None:
        before = self._links()
        del of[number]
        self._connect(before)

    def _connect(self, before: tuple[set[Way], set[Way]] | None = None) -> None:
        """Have the network be as it is to be. The journal never says that more is lost than is."""
        assert self.network is not None
        lost, poor = self._links()
        if before is not None:
            self._tell_links(lost & before[0], poor | before[1])
        shaped = {way: shape for each in self._shaped.values() for way, shape in each.items()}
        self.network.become(lost, shaped)
        self._tell_links(lost, poor)

    def _links(self) -> tuple[set[Way], set[Way]]:
        lost = {way for ways in self._lost.values() for way in ways}
        return lost, {way for ways in self._shaped.values() for way in ways}

    def _tell_links(self, lost: Collection[Way], poor: Collection[Way]) -> None:
        names = {slot: name for name, slot in self.slots.items()}

        def named(ways: Collection[Way]) -> list[tuple[str, str]]:
            return [(names[a], names[b]) for a, b in ways if a in names and b in names]

        self.tell("links", lost=named(lost), poor=named(poor))

    # --- disks and clocks ---

    def _full(self, name: str, fault: Fault) -> None:
        self._sicken(name)
        fill(self.folder / name)
        self.later(
            fault.lasts_s, name, lambda _: self._cure(name, lambda: free(self.folder / name))
        )

    def _readonly(self, name: str, fault: Fault) -> None:
        self._sicken(name)
        shown = self.disguises[name]
        shown.refuse_writes(refused=True)
        end = lambda: shown.refuse_writes(refused=False)  # noqa: E731
        self.later(fault.lasts_s, name, lambda _: self._cure(name, end))

    def _slow(self, name: str, fault: Fault) -> None:
        self._sicken(name)
        shown = self.disguises[name]
        shown.slow_down(fault.amount)
        self.later(fault.lasts_s, name, lambda _: self._cure(name, lambda: shown.slow_down(0)))

    def _sicken(self, name: str) -> None:
        self.tell("ill", name=name)
        self._ill[name] = FOREVER
        # Where all is calm nobody writes, and would never notice: have others come into office.
        self.later(DISK_S, name, lambda _: self._have_written())

    def _have_written(self) -> None:
        """Have the leader give up its office: whoever is next writes, and so do its voters."""
        last = self._last()
        if last is not None and last.name in self.members:
            self.processes[last.name].order("yield")

    def _cure(self, name: str, end: Callable[[], None]) -> None:
        end()
        self._ill[name] = time.monotonic() + ENDING_S
        self.tell("well", name=name)
        if name in self._fallen:
            self._fallen.remove(name)
            self.start(name)

    def _power(self, name: str, fault: Fault) -> None:
        # The power goes in the middle of writing, if the lot falls so: syncs take a while.
        chance, shown = Random(fault.lot), self.disguises[name]
        shown.slow_down(WRITING_S)
        self._have_written()
        time.sleep(chance.uniform(0, 2 * WRITING_S))
        self.kill(name)
        shown.slow_down(0)
        undone = shown.cut_power(fault.way, chance)
        self.tell("power", name=name, undone=undone)
        self.later(fault.lasts_s, name, self.start)

    def _clock(self, name: str, fault: Fault) -> None:
        shown = self.disguises[name]
        if fault.way == "wall":
            shown.add_to_wall((fault.amount - 0.5) * 100 * HOUR_S)
            return
        sign = 1 if fault.way == "quick" else -1
        shown.go(sign * round(fault.amount * DRIFT_PPM))
        self.later(fault.lasts_s, name, lambda _: shown.go(0))

    # --- what becomes of them ---

    def _look_for_deaths(self) -> None:
        for name, process in self.processes.items():
            if name not in self._fallen and not self.changes.explains(name, process):
                self._look_for_death(name, process)

    def _look_for_death(self, name: str, process: Child) -> None:
        code = process.code
        if code in (None, -signal.SIGKILL):
            return
        self.tell("down", name=name)
        if name in self._beside:
            self._fallen.add(name)
            self.later(AGAIN_S, name, lambda _: self._start_beside(name))
        elif name not in self.slots:
            self._fallen.add(name)  # A copy: it was refused, perhaps. The log says so.
        elif self._ill.get(name, 0.0) < time.monotonic():
            how = f"has ended by itself ({code}): {name}.log"
            self.complain(f"{name} ({process.pid}) {how}")
            self.start(name)
        elif self._ill[name] == FOREVER:
            self._fallen.add(name)  # It is started again once its disk is well.
        else:
            self.start(name)

    def settle(self) -> None:
        """Bring everybody back, and wait until somebody leads again, and all are in one team."""
        self.allow(CHANGE_S + 5 * PATIENCE_S)
        while self._due:
            self.pass_time(0.02)
        self.changes.await_none()
        while not all(self.processes[name].is_running for name in self.members):
            self.pass_time(0.05)  # Somebody has ended just now, and is started again.
        if self.await_leader() is None:
            self.complain(f"nobody leads {PATIENCE_S:.0f} s after everybody is back", is_late=True)
        if self._is_wide and not self._await_team():
            self.complain(f"no team of all {2 * PATIENCE_S:.0f} s after all are back", is_late=True)
        if self._accounts:
            self._await_ends()

    def await_leader(self) -> Point | None:
        """Who leads; None if it takes too long until anybody does."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            last = self._last()
            now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            if last is not None and now - last.at_ns < FRESH_NS:
                return last
            self.pass_time(0.02)
        return None

    def _await_team(self) -> bool:
        """Wait until one group has all members; whether it comes to that."""
        deadline = time.monotonic() + 2 * PATIENCE_S
        everybody = ",".join(sorted(self.members))
        while time.monotonic() < deadline:
            now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            said = [line.split() for line in tail(self.folder / GROUPS)]
            teams = {team for at, *_, team in said if now - int(at) < 2 * FRESH_NS}
            if teams == {everybody}:
                return True
            self.pass_time(0.1)
        return False

    def _await_ends(self) -> None:
        """Have no more transfers begin, and wait until none is open."""
        self.allow(OPEN_S)
        began = time.monotonic()
        since = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        while time.monotonic() - began < OPEN_S:
            for name in self._accounts:  # Again and again: one may have been started meanwhile.
                self.processes[name].order("finish")
            self.pass_time(0.2)
            lines = [line.split() for line in tail(self.folder / OPEN)]
            said = {name: number for at, name, number in lines if int(at) > since + 10**9}
            if said == dict.fromkeys(self._accounts, "0"):
                return
        self.complain(
            f"transactions are open {OPEN_S:.0f} s after all are back: {said}", is_late=True
        )

    def well(self) -> list[str]:
        """Members that nothing is being done to."""
        hurt = {name for _, _, name, _ in self._due}
        return sorted(set(self.members) - hurt - self.changes.concerned())

    def _victim(self, whom: str) -> tuple[str, int]:
        while True:
            leader = self.await_leader()
            well = set(self.well())
            lead = {leader.name} if leader is not None else set()
            wanted = well & lead if whom == "leader" else well - lead
            for name in sorted(wanted or (well if leader is None else ())):
                return name, leader.token if leader is not None else 0
            self.pass_time(0.02)

    def _last(self) -> Point | None:
        """The last word of anybody in office."""
        found = [line.split() for line in tail(self.folder / JOB / "points.txt")]
        points = [Point(int(at), int(token), name, int(pid)) for at, token, name, pid in found]
        return max(points, default=None)

    def pass_time(self, seconds: float) -> None:
        """Let time go by, and end what is due."""
        until = time.monotonic() + seconds
        while True:
            while self._due and self._due[0][0] <= time.monotonic():
                _, _, name, act = heapq.heappop(self._due)
                act(name)
            self._look_for_deaths()
            self.changes.see_to()
            if time.monotonic() > self._deadline:
                raise Hung(f"{len(self.blows)} faults took more than {FAULT_S:.0f} s each")
            left = until - time.monotonic()
            if left <= 0:
                return
            next_s = self._due[0][0] - time.monotonic() if self._due else left
            time.sleep(max(0.0, min(left, next_s, 0.05)))

    def later(self, seconds: float, name: str, act: Callable[[str], None]) -> None:
        """Do this to somebody after a while."""
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), name, act))

    # --- processes ---

    def next_name(self) -> str:
        """A name that nobody had."""
        return next(self._names)

    def settle_down(self, name: str) -> None:
        """Give a node an address that no other has, or had: for a while members remember those."""
        slot = min({*range(len(self.slots) + 1)} - {*self.slots.values()})
        host = "127.0.0.1" if self.network is None else self.network.host(slot)
        ports = free_ports(len(self._addresses) + 1) if self.network is None else count(PORT)
        new = (address for port in ports if (address := f"{host}:{port}") not in self._had)
        self.slots[name], self._addresses[name] = slot, next(new)
        self._had.add(self._addresses[name])
        data = self.folder / name
        if self._disks is not None:
            self._disks.mount(data)
        if self._library is not None:
            self.disguises[name] = Disguise(self._library, name, data, self.folder)

    def place(self, name: str) -> str:
        """The name and the address of a node."""
        return f"{name}@{self._addresses[name]}"

    def wipe(self, name: str) -> None:
        """Remove all that a node has kept; its folder may be a disk, and stays."""
        for path in (self.folder / name).iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def start(self, name: str, *, data: Path | None = None, at: str | None = None) -> None:
        """Start the process of a node; with a copy of its data, one beside it that goes for it.

        The copy may be in the namespace of another, `at`, and then has the address there.
        """
        joins = name in self.joined
        members = [self.place(each) for each in self.members if each != name]
        orders = Orders(
            self.place(name) if at is None else self._place_at(name, at),
            members if joins or at is not None else self._founders,
            str(self.folder),
            str(data or self.folder / name),
            self._mutant,
            None if self._record is None or data is not None else str(self._record),
            joins,
            self._is_wide,
            self._more,
            self._accounts,
        )
        where = [] if self.network is None else self.network.prefix(self.slots[at or name])
        words = [*where, sys.executable, "-m", "benchmarks.faults.worker", orders.text()]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
        if name in self.disguises and data is None:
            env |= self.disguises[name].environment
        called = name if data is None else f"{name}-copy"
        self.tell("up", name=called)
        log = self.folder / f"{called}.log"
        self.processes.start(called, words, log=log, cwd=ROOT, env=env)

    def _place_at(self, name: str, other: str) -> str:
        """The place of a node as it is where another one is."""
        assert self.network is not None
        port = self._addresses[name].rpartition(":")[2]
        return f"{name}@{self.network.host(self.slots[other])}:{port}"

    def run_beside(self, name: str, words: list[str]) -> None:
        """Run something that is no member, in a place of its own, again whenever it has ended.

        It reads in FAULTS_MEMBERS where the founders are, and in FAULTS_HOST where it is itself.
        """
        self._beside[name] = words
        if self.network is not None:
            self.slots[name] = min({*range(len(self.slots) + 1)} - {*self.slots.values()})
        self._start_beside(name)

    def _start_beside(self, name: str) -> None:
        self._fallen.discard(name)
        host, where = "127.0.0.1", list[str]()
        if self.network is not None:
            host, where = self.network.host(self.slots[name]), self.network.prefix(self.slots[name])
        env = {**os.environ, "FAULTS_MEMBERS": ",".join(self._founders), "FAULTS_HOST": host}
        self.tell("beside", name=name)
        log = self.folder / f"{name}.log"
        self.processes.start(name, [*where, *self._beside[name]], log=log, env=env)

    def leave(self, name: str) -> None:
        """Forget a node that is gone for good."""
        self.processes.bury(name)
        del self.slots[name]
        with suppress(KeyError):
            del self._ill[name]


def _name(number: int) -> str:
    """a, b, …, z, a1, b1, …"""
    return f"{chr(ord('a') + number % 26)}{number // 26 or ''}"
