"""Reading what nodes wrote down, re-running every instance of it, and making one run of one."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from electorate.cli.error import UsageError
from electorate.cli.protocol import find
from electorate.core import Machine, NodeId, ProtocolError, Send
from electorate.core.turn import Sample, SampledTurns
from electorate.protocols.mandate.admission import AdmissionState
from electorate.trace import Setting, Trace
from electorate.trace.merge import (
    ClockId,
    Clocks,
    Differs,
    Merger,
    Occurrence,
    Rerun,
    free,
    is_held,
)
from electorate.trace.record import (
    Booted,
    Gap,
    Line,
    RecordError,
    RecordFile,
    Ruled,
    Took,
    series_in,
)
from electorate.trace.word import listed, with_names

TURNS_MAX = 20_000
LISTED_MAX = 40
"""So many instances are listed for people; `--json` has them all."""


def is_record(path: Path) -> bool:
    """Whether the file, or a file in the folder, was written by a node."""
    if path.is_dir():
        return True
    try:
        with path.open("rb") as file:
            return file.readline(64).startswith((b'{"type":"host"', b'{"type":"booted"'))
    except OSError:
        return False


class Course:
    """What one instance went through at one node, re-run."""

    def __init__(self, turns: "RecordedMachines") -> None:
        self._rerun = Rerun(turns.turns)
        self.events = 0
        self.lives = 0
        self.first: tuple[ClockId, float] | None = None
        self.last: tuple[ClockId, float] | None = None
        self.difference = ""
        """How the re-run differed; from there on nothing is re-run."""
        self.ruled: list[tuple[ClockId, float, str]] = []
        """Which machine it ran, and from when on."""

    @property
    def clusters(self) -> list[str]:
        """The machines that it ran."""
        return self._rerun.clusters

    def take(self, line: Line) -> Occurrence | None:
        """Re-run a line."""
        if self.difference:
            return None
        if isinstance(line.entry, Ruled):
            self.ruled.append(((line.host.node, line.clock), line.entry.at, line.entry.cluster))
        try:
            found = self._rerun.take(line)
        except Differs as error:
            self.difference = str(error)
            return None
        if found is not None:
            self.events += isinstance(found.entry, Took)
            self.lives += isinstance(found.entry, Booted)
            self.last = ((found.node, found.clock), found.at)
            self.first = self.first or self.last
        return found


class RecordedMachines:
    """The machines that records name, each built once."""

    def __init__(self) -> None:
        sample = Sample()
        self.turns = cache(lambda text: SampledTurns(self._machine(text), TURNS_MAX, sample))

    def _machine(self, text: str) -> Machine[Any]:
        try:
            setting = Setting.parse(text)
        except ValueError as error:
            raise RecordError(str(error)) from None
        return find(setting.protocol).machine(setting)


class Memories:
    """The memories by which members know each other, to tell nodes of one name apart."""

    def __init__(self) -> None:
        self._own: defaultdict[NodeId, set[str]] = defaultdict(set)
        """The memories with which a member lived, by its number."""
        self._last: dict[NodeId, AdmissionState] = {}

    def see(self, node: NodeId, state: AdmissionState) -> None:
        """Take in what a directory knows after an event."""
        self._last[node] = state
        self._own[state.number].add(state.memory(state.number))

    def strangers(self) -> dict[NodeId, set[NodeId]]:
        """Members that others know by a memory which is not in their record, and who those are."""
        found: defaultdict[NodeId, set[NodeId]] = defaultdict(set)
        for node, state in self._last.items():
            for number in state.known.keys() & self._own.keys():
                if state.memory(number) not in {"", *self._own[number]}:
                    found[number].add(node)
        return found


class Merged(NamedTuple):
    """One instance, all nodes in one run."""

    instance: str
    machine: Machine[Any]
    trace: Trace
    doubts: list[str]
    """Why this run is not wholly known; none if it is."""
    is_one: bool
    """Whether all nodes ran one machine all the time, which the simulator can play."""
    first_views: Mapping[int, frozenset[NodeId]]
    """What a node saw right after it had booted, by the step of its boot."""


class Records:
    """The records of one run, every instance of every node re-run."""

    def __init__(self, paths: Sequence[Path], instance: str | None = None) -> None:
        self.names: dict[NodeId, str] = {}
        self.nodes: list[NodeId] = []
        self.courses: dict[str, dict[NodeId, Course]] = {}
        self.notes: list[str] = []
        """What is missing."""
        self._machines = RecordedMachines()
        self._clocks = Clocks()
        self._wanted = instance
        self._kept: dict[NodeId, list[Occurrence]] = {}
        self._gaps: list[Gap] = []
        self._memories = Memories()
        told: set[str] = set()
        for file in [each for path in paths for each in _series(path)]:
            # A node that is about to join does not know yet which cluster that is.
            told |= {host.cluster for host in self._read(file) if host.cluster}
        # Before it was founded, a cluster was known by what its full id begins with.
        clusters = {each for each in told if not any(is_begun(each, other) for other in told)}
        if len(clusters) > 1:
            raise UsageError(f"the records are of {len(clusters)} different clusters")
        if not self.nodes:
            raise UsageError("there is not one whole line in these records")
        if instance is not None and instance not in self.courses:
            near = get_close_matches(instance, self.courses, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {self.few()}"
            raise UsageError(f"no instance {instance!r} in these records: {hint}")
        self._clocks.settle()
        firsts = [self._clocks.at(*c.first) for c in self._every() if c.first is not None]
        self._zero = min(firsts, default=0.0)
        self.notes += map(self._told_gap, self._gaps)
        self._strangers = self._memories.strangers()
        self.notes += sorted(self._told_stranger(*each) for each in self._strangers.items())

    def _read(self, file: RecordFile) -> list[Any]:
        try:
            for line in file.lines():
                self._take(line)
        except RecordError as error:
            raise UsageError(str(error)) from None
        if not file.nodes:
            self.notes.append(f"{file.path.name} has no whole line")
            return []
        for node in file.nodes:
            if node in self.nodes:
                raise UsageError(f"{file.path}: there is another record of node {node}")
            self.nodes.append(node)
        self.names |= file.names
        self._gaps += file.gaps
        return file.hosts

    def _take(self, line: Line) -> None:
        instance, node = line.instance, line.host.node
        at_nodes = self.courses.setdefault(instance, {})
        course = at_nodes.get(node) or at_nodes.setdefault(node, Course(self._machines))
        found = course.take(line)
        if found is None:
            return
        self._clocks.see(instance, found)
        if found.turn is not None and isinstance(found.turn.state, AdmissionState):
            self._memories.see(node, found.turn.state)
        if self._wanted is None and len(self.courses) > 1:
            self._kept.clear()  # None of several is told unless one is named.
        elif self._wanted in (None, instance):
            self._kept.setdefault(node, []).append(found)

    def _told_gap(self, gap: Gap) -> str:
        begin, name = self._clocks.at((gap.node, gap.clock), gap.begin), self.called(gap.node)
        told = f"the record of {name} has a gap from {_seconds(begin - self._zero)} on"
        if gap.end is not None:
            clock, at = gap.end
            end = self._clocks.at((gap.node, clock), at) - self._zero
            told = f"{told.removesuffix(' on')} to {_seconds(end)}"
        if gap.missing is not None:
            first, last = gap.missing
            lives = f"life {first} is" if first == last else f"lives {first} to {last} are"
            told += f", {lives} not in it"
        return f"{told}: what {name} did then is not known"

    def _told_stranger(self, member: NodeId, others: set[NodeId]) -> str:
        name = self.called(member)
        return (
            f"{listed(sorted(map(self.called, others)))} knew {name} by another memory than {name} "
            "has in its record: these are records of different runs, or some of that one is missing"
        )

    def _every(self) -> Iterator[Course]:
        return (course for at_nodes in self.courses.values() for course in at_nodes.values())

    def called(self, node: NodeId) -> str:
        """What people call a node."""
        return self.names.get(node, f"node {node}")

    def named(self, text: str) -> str:
        """A text that speaks of nodes by their names."""
        return with_names(text, self.names)

    @property
    def events(self) -> int:
        """How many events were re-run."""
        return sum(course.events for course in self._every())

    @property
    def lives(self) -> int:
        """How many boots there were."""
        return sum(course.lives for course in self._every())

    @property
    def differences(self) -> list[str]:
        """Everything that the re-run gave differently."""
        return [self.named(each.difference) for each in self._every() if each.difference]

    @property
    def end(self) -> float:
        """When the last thing happened, in milliseconds since the first boot of all."""
        return self._span(self._every())[1]

    # --- what is said of them ---

    def summary(self) -> str:
        """How much there is, and whether the re-run gave the same."""
        counts = (
            _count(len(self.nodes), "node"),
            _count(len(self.courses), "instance"),
            f"{_count(self.events, 'event')} in {_count(self.lives, 'life', 'lives')}",
        )
        broken = self.differences
        each = f"{len(broken)} came out differently" if broken else "each led to the recorded state"
        return f"{', '.join(counts)}: {each}"

    def table(self) -> list[str]:
        """The instances, one in a line."""
        rows = [("instance", "nodes", "lives", "events", "from..to")]
        for name in self._names()[:LISTED_MAX]:
            courses = self.courses[name].values()
            begin, end = self._span(courses)
            events, lives = sum(c.events for c in courses), sum(c.lives for c in courses)
            where = f"{begin / 1000:.3f}s..{end / 1000:.3f}s"
            rows.append((name, str(len(courses)), str(lives), f"{events:,}", where))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for name, *numbers, where in rows:
            cells = [cell.rjust(w) for cell, w in zip(numbers, widths[1:-1], strict=True)]
            lines.append("  ".join(["", name.ljust(widths[0]), *cells, where]))
        more = len(self.courses) - LISTED_MAX
        return [*lines, f"  … and {more:,} more; --json lists them all"] if more > 0 else lines

    def as_data(self) -> dict[str, object]:
        """The same as data; times in milliseconds since the first boot."""
        return {
            "nodes": [{"id": node, "name": self.names.get(node)} for node in sorted(self.nodes)],
            "events": self.events,
            "lives": self.lives,
            "same": not self.differences,
            "differences": self.differences,
            "notes": self.notes,
            "instances": [self._instance_object(name) for name in self._names()],
        }

    def _instance_object(self, name: str) -> dict[str, object]:
        courses = self.courses[name]
        begin, end = self._span(courses.values())
        return {
            "name": name,
            "nodes": sorted(courses),
            "lives": sum(course.lives for course in courses.values()),
            "events": sum(course.events for course in courses.values()),
            "from_ms": round(begin, 3),
            "to_ms": round(end, 3),
            "same": not any(course.difference for course in courses.values()),
        }

    def _span(self, courses: Iterable[Course]) -> tuple[float, float]:
        """When these began and ended, in milliseconds since the first boot of all."""
        seen = [c for c in courses if c.first is not None]
        firsts = [self._clocks.at(*c.first) - self._zero for c in seen if c.first is not None]
        lasts = [self._clocks.at(*c.last) - self._zero for c in seen if c.last is not None]
        return min(firsts, default=0.0), max(lasts, default=0.0)

    def _names(self) -> list[str]:
        """All instances, the tenth after the ninth."""
        parts = {name: re.split(r"(\d+)", name) for name in self.courses}
        return sorted(
            parts, key=lambda name: [p.zfill(20) if p.isdecimal() else p for p in parts[name]]
        )

    def few(self) -> str:
        """Some of the instances, by their names."""
        names = self._names()
        return listed([*names[:5], f"{len(names) - 5} more"] if len(names) > 6 else names)

    # --- one of them as a run ---

    def merged(self) -> Merged | None:
        """The instance that was asked for, or the only one, as one run.

        None if there are several, or if its re-run differed.
        """
        name = self._wanted or next(iter(self.courses), None)
        if name is None or (self._wanted is None and len(self.courses) > 1):
            return None
        courses = self.courses[name]
        if any(course.difference for course in courses.values()):
            return None
        setting, is_one = _joint([text for c in courses.values() for text in c.clusters])
        records = {node: self._clocks.shifted(self._kept.get(node, [])) for node in courses}
        everything = [o for record in records.values() for o in record]
        taken = (o.entry for o in everything if isinstance(o.entry, Took))
        senders = {entry.sender for entry in taken if entry.sender is not None}
        setting = setting.closed({*courses, *senders, *_receivers(everything)})
        machine = find(setting.protocol).machine(setting)
        absent = set(setting.ids) - set(self.nodes)
        unseen = absent & senders | {gap.node for gap in self._gaps}
        merger = Merger(free(setting), records, self._zero, unseen)
        try:
            trace = merger.trace()
        except (RecordError, ProtocolError) as error:
            wrong = f"the records of {name} do not fit together: {error}"
            why = "; they may be of different runs" if self._strangers else ""
            raise UsageError(self.named(wrong) + why) from None
        self._note_missing(absent, merger)
        doubts = [*self._doubts(trace, merger)]
        return Merged(name, machine, trace, doubts, is_one, merger.first_views)

    def machine_at(self, instance: str, node: NodeId, until: float) -> str:
        """The machine that a node ran at this moment, in milliseconds since the first boot."""
        found = ""
        for clock, at, cluster in self.courses[instance][node].ruled:
            # Times of steps are rounded to milliseconds, those of these lines are not.
            if not found or self._clocks.at(clock, at) - self._zero <= until + 0.5:
                found = cluster
        return found

    def _note_missing(self, absent: set[NodeId], merger: Merger) -> None:
        for node in sorted(absent):
            self.notes.append(f"there is no record of {self.called(node)}")
        for sender in sorted({name[0] for name in merger.strays} - absent):
            count = sum(name[0] == sender for name in merger.strays)
            what = _count(count, "message")
            verb = "is" if count == 1 else "are"
            self.notes.append(f"{what} of {self.called(sender)} {verb} not in its record")

    def _doubts(self, trace: Trace, merger: Merger) -> Iterator[str]:
        if merger.strays:
            yield "messages were received that no record shows to have been sent"
        if self._strangers:
            yield "the records may be of different runs"
        if self._gaps or any(map(is_held, trace.steps)):
            yield "the records begin in the middle, or have a gap"
        for node in sorted(merger.surprises):
            yield f"{self.called(node)} booted with something else than its last life had saved"


def _series(path: Path) -> list[RecordFile]:
    files = series_in(path) if path.is_dir() else [path]
    if not files:
        below = sorted(each for each in path.glob("*/") if series_in(each))
        hint = f"; did you mean {below[0]}?" if below else ""
        raise UsageError(f"no records (*.jsonl) in {path}{hint}")
    return [RecordFile(file) for file in files]


def _joint(texts: Sequence[str]) -> tuple[Setting, bool]:
    """One setting for machines that may differ in members, ranks and rules; do they agree?"""
    settings = [Setting.parse(text) for text in dict.fromkeys(texts)]
    ids = tuple(sorted({node for setting in settings for node in setting.ids}))
    ranks: dict[NodeId, int] = {}
    for setting in settings:
        ranks |= dict(zip(setting.ids, setting.attributes, strict=False))
    attributes = tuple(ranks.get(node, 0) for node in ids) if ranks else ()
    return replace(settings[-1], ids=ids, attributes=attributes), len(settings) == 1


def _receivers(occurrences: Iterable[Occurrence]) -> Iterator[NodeId]:
    """The nodes to which something was sent."""
    for turn in (o.turn for o in occurrences if o.turn is not None):
        yield from (effect.to for effect in turn.effects if isinstance(effect, Send))


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.3f}s"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def is_begun(cluster: str, other: str) -> bool:
    """Whether the other one may be this cluster once it was founded."""
    (first, _, pace), (full, _, other_pace) = cluster.partition("/"), other.partition("/")
    return pace == other_pace and full.startswith(f"{first}.")
