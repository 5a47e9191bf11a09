"""What no promise allows for: clocks that jump or stand still, folders that are wiped, put back,
copied, or lost by a disk that lies. Each is done to a cluster of its own; then it is told what
happened, and who noticed.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.faults.evidence import JOB, Evidence, journal
from benchmarks.faults.fleet import Fleet, Hung
from benchmarks.faults.ground import grounds
from benchmarks.faults.judge import BACK, OVERLAP, REUSED, STALE, Judgement, judged
from benchmarks.faults.plan import CUT, OutsideFault

NODES = 3
TWIN = "twin"
"""A place in the network where a copy may live."""
TWIN_OF = 0
"""The number of the node that is copied."""
ACROSS = "across a cut"
"""There the copy has the address of the original, too."""
WATCH_S = 4.0
CUT_S = 3.0
COPIES_S = 6.0
"""So long two copies are apart: both have to start first."""
PATIENT_S = 120.0
"""So long one of these may take; afterwards nobody leads, perhaps, and that is told."""
PPM = 1_000_000
LOUD = re.compile(r"^(\d+) (WARNING|ERROR|CRITICAL) (.*)$")
RAISED = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Stopped|Mismatch|Taken|Removed|Damaged)\b: .*)$")
VARIES = re.compile(r"\d+\.\d+\.\d+\.\d+:\d+|\b[0-9a-f]{8,}\b|\d+(?:\.\d+)?")


class OutsideRow(NamedTuple):
    """What came of one fault."""

    called: str
    amount: float
    happened: str
    noticed: list[str]
    """The loud lines of logs, each with who wrote it, most frequent first."""
    stale_taken: int
    """Old tokens that the fence took."""


def suffered(fault: OutsideFault, folder: Path, record: Path) -> OutsideRow:
    """Do it to a cluster of its own, and see."""
    folder.mkdir(parents=True)
    twin = TWIN_OF if fault.way == ACROSS else None
    needs = (fault.kind, "cut") if fault.kind in CUT else (fault.kind,)
    with (
        grounds(folder, needs, NODES + 1, fault.lot, twin) as ground,
        Fleet(
            folder, nodes=NODES, record=record, network=ground.network, library=ground.library
        ) as fleet,
    ):
        fleet.allow(PATIENT_S)
        fleet.await_leader()
        fleet.pass_time(1.0)  # What beginning brings about is over.
        try:
            getattr(_Deeds(fleet), fault.kind)(fault)
            fleet.pass_time(WATCH_S)
        except Hung as hung:
            fleet.tell("complaint", text=str(hung), is_late=True)
    found = judged(folder)
    begun = next((entry.at_ns for entry in journal(folder) if entry.what == "fault"), 0)
    stale = sum(each.kind == STALE for each in found.violations)
    return OutsideRow(
        fault.called, fault.amount, _told(folder, found), list(_noticed(folder, begun)), stale
    )


class _Deeds:
    """Everything that can be done, to this fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def _begin(self, fault: OutsideFault, names: list[str]) -> None:
        self._fleet.tell("fault", called=fault.called, name=" ".join(names), plan=fault._asdict())

    def _leader(self) -> str:
        leader = self._fleet.await_leader()
        return self._fleet.members[0] if leader is None else leader.name

    def _others(self, name: str) -> list[str]:
        return [other for other in self._fleet.members if other != name]

    def _victims(self, fault: OutsideFault) -> list[str]:
        leader = self._leader()
        others = self._others(leader)
        return {"leader": [leader], "other": others[:1]}.get(fault.way, [leader, others[0]])

    def _cut_off(self, name: str) -> None:
        fleet = self._fleet
        mine = fleet.slots[name]
        others = [fleet.slots[other] for other in self._others(name)]
        ways = {(mine, other) for other in others} | {(other, mine) for other in others}
        fleet.lose(ways, CUT_S, name)

    def standstill(self, fault: OutsideFault) -> None:
        """The machine of the leader stands still, and all its clocks with it."""
        name = self._leader()
        self._begin(fault, [name])
        self._fleet.pause(name)
        self._fleet.pass_time(fault.amount)
        shown = self._fleet.disguises[name]
        shown.add(-fault.amount)
        if fault.way.endswith("right"):
            shown.add_to_wall(fault.amount)
        self._fleet.resume(name)

    def jump(self, fault: OutsideFault) -> None:
        """Clocks jump, of a leader that is cut off or of those who have granted its term."""
        name = self._leader()
        self._begin(fault, [name])
        self._cut_off(name)
        victims = self._others(name) if fault.way.startswith("voters") else [name]
        for each in victims:
            self._fleet.disguises[each].add(-fault.amount if "back" in fault.way else fault.amount)
        self._fleet.pass_time(CUT_S)

    def fast(self, fault: OutsideFault) -> None:
        """Time passes at another speed for one side of a cut."""
        name = self._leader()
        self._begin(fault, [name])
        self._cut_off(name)
        is_leader = fault.way.startswith("leader")
        ppm = round(PPM * ((1 / fault.amount if is_leader else fault.amount) - 1))
        for each in [name] if is_leader else self._others(name):
            self._fleet.disguises[each].go(ppm)
        self._fleet.pass_time(CUT_S)

    def wiped(self, fault: OutsideFault) -> None:
        """Folders are emptied, and their nodes go on as if nothing were."""
        victims = self._victims(fault)
        self._begin(fault, victims)
        for name in victims:
            self._fleet.kill(name)
            self._fleet.wipe(name)
        for name in victims:
            self._fleet.start(name)

    def restored(self, fault: OutsideFault) -> None:
        """Folders are put back as they were some terms ago; if they are two, the third is away."""
        fleet, victims = self._fleet, self._victims(fault)
        for name in victims:
            fleet.kill(name)
            shutil.copytree(fleet.folder / name, fleet.folder / f"{name}.backup")
        for name in victims:
            fleet.start(name)
        self._change_leaders(3)
        self._begin(fault, victims)
        away = set(fleet.members) - set(victims) if len(victims) > 1 else set[str]()
        for name in [*victims, *away]:
            fleet.kill(name)
        for name in victims:
            fleet.wipe(name)
            shutil.copytree(
                fleet.folder / f"{name}.backup", fleet.folder / name, dirs_exist_ok=True
            )
            fleet.start(name)
        for name in away:
            fleet.later(1.5, name, fleet.start)

    def _change_leaders(self, times: int) -> None:
        for _ in range(times):
            name = self._leader()
            self._fleet.kill(name)
            self._fleet.pass_time(0.9)
            self._fleet.start(name)
            self._fleet.await_leader()
        self._fleet.pass_time(0.5)

    def copied(self, fault: OutsideFault) -> None:
        """The folder of the first node is copied, and both are run."""
        fleet, victim = self._fleet, self._fleet.members[TWIN_OF]
        one, other = self._others(victim)
        fleet.kill(victim)
        copy = fleet.folder / f"{victim}.copy"
        shutil.copytree(fleet.folder / victim, copy)
        fleet.settle_down(TWIN)
        self._begin(fault, [victim])
        if fault.way == ACROSS:
            here = {fleet.slots[one], fleet.slots[victim]}
            there = {fleet.slots[other], fleet.slots[TWIN]}
            ways = {(a, b) for a in here for b in there} | {(b, a) for a in here for b in there}
            fleet.lose(ways, COPIES_S, other)
        fleet.start(victim)
        fleet.start(victim, data=copy, at=TWIN)
        fleet.pass_time(COPIES_S)

    def lying(self, fault: OutsideFault) -> None:
        """A disk says that it has synced, and the power goes; if there are two, at both."""
        fleet, victims = self._fleet, self._victims(fault)
        for name in victims:
            fleet.disguises[name].lie(lies=True)
        self._change_leaders(2)
        self._begin(fault, victims)
        away = set(fleet.members) - set(victims) if len(victims) > 1 else set[str]()
        for name in [*victims, *away]:
            fleet.kill(name)
        for name in victims:
            fleet.disguises[name].lie(lies=False)
            fleet.disguises[name].cut_power("nothing", Random(fault.lot))
            fleet.start(name)
        for name in away:
            fleet.later(1.5, name, fleet.start)


def _told(folder: Path, found: Judgement) -> str:
    """What happened, in words."""
    words = []
    overlaps = [each.lasted_ns / 1e6 for each in found.violations if each.kind == OVERLAP]
    if overlaps:
        words.append(f"an old leader went on for {max(overlaps):.0f} ms")
    for kind in (REUSED, BACK, STALE):
        times = sum(each.kind == kind for each in found.violations)
        words += [f"{times} × {kind}"] if times else []
    refused = len(Evidence.of(folder / JOB).refused)
    words += [f"the fence refused {refused}"] if refused else []
    words += [each.text for each in found.violations if each.kind == "unexpected"]
    last = max((point.at_ns for point in Evidence.of(folder / JOB).points), default=0)
    end = journal(folder)[-1].at_ns
    words += ["nobody leads in the end"] if end - last > 1_000_000_000 else []
    return "; ".join(words) or "nothing"


def _noticed(folder: Path, since_ns: int) -> Iterator[str]:
    """The loud lines since then, alike ones once."""
    seen: Counter[str] = Counter()
    first: dict[str, str] = {}
    for path in sorted(folder.glob("*.log")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            loud, raised = LOUD.match(line), RAISED.match(line)
            if loud is not None and int(loud[1]) < since_ns:
                continue
            text = loud[3] if loud is not None else raised[1] if raised is not None else ""
            if text:
                key = VARIES.sub("…", text)
                seen[key] += 1
                first.setdefault(key, f"{path.stem}: {text}")
    for key, times in seen.most_common():
        yield first[key] + (f" ({times} ×)" if times > 1 else "")
