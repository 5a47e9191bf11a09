"""The judge: what the evidence of a run proves. It knows nothing of electorate.

    python -m benchmarks.faults.judge FOLDER

It believes two things only: the notes that workers made of when they were in office, by the one
clock of the machine, and the journal of what was done to them. A term is what one process noted
under one token; it lasted at least from its first note to its last.
"""

import json
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from benchmarks.faults.evidence import GROUPS, JOB, Entry, Evidence, Point, elections, journal, read
from benchmarks.faults.ledger import unbalanced

LEASE_NS = 560_000_000
"""So long a leader may go on without a word of a majority: the lease of the default pace, 550 ms,
by a clock that is a hundredth slow, and then a little."""
PROMISED_NS = 10_000_000_000
"""So long an office may be vacant while a majority is well."""
START_NS = 2_000_000_000
"""So long a process may take from its start until it is well."""
FOREVER = 1 << 62

OVERLAP = "overlap"
REUSED = "token reused"
BACK = "token going back"
STALE = "old token written"
ALONE = "leader without majority"
STUCK = "no leader"
ENDED = "unexpected"
LATE = "too late"
SPLIT = "transaction split"

K = TypeVar("K")
Span = tuple[int, int]


class Violation(NamedTuple):
    """Something that must not be."""

    kind: str
    at_ns: int
    text: str
    lasted_ns: int = 0
    """Of an overlap: from when the older term was seen again until it was seen last."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class JudgedTerm(NamedTuple):
    """What one process noted under one token."""

    first_ns: int
    last_ns: int
    token: int
    name: str
    pid: int

    def __str__(self) -> str:
        return f"{self.name} ({self.pid}) with token {self.token}"


class FaultRow(NamedTuple):
    """What came of all faults that are called the same."""

    faults: int
    terms: int
    wrong: dict[str, int]
    vacant_ms: float
    """The longest time without a leader while a majority was well."""


class Judgement(NamedTuple):
    """What a folder of evidence proves."""

    violations: list[Violation]
    doubts: list[str]
    """Why it proves less than it should, though nothing is wrong."""
    rows: dict[str, FaultRow]
    terms: int
    points: int
    taken: int
    refused: int
    stale: int
    """Stale writes that were taken where nobody looks at tokens."""
    vacant_ms: float
    busy_s: float
    """How long the machine was busy with other things: no promise about time is judged then."""
    elections: int


def judged(folder: Path, *, lease_ns: int = LEASE_NS, promised_ns: int = PROMISED_NS) -> Judgement:
    """Judge all that is in a folder."""
    found = elections(folder)
    entries = journal(folder)
    course = Course.of(entries)
    wrong: list[Violation] = []
    well = course.well()
    for name, evidence in found.items():
        for each in [
            *exclusion(evidence),
            *leaks(evidence),
            *alone(evidence, course, lease_ns),
            *stuck(evidence, well, course.busy, promised_ns),
        ]:
            wrong.append(each._replace(text=f"{name}: {each.text}"))
    job = found.get(JOB, Evidence([], [], [], []))
    vacant = vacancies(job, well)  # In the others work is done less often, so less is known.
    wrong += [*groups(folder, entries)]
    wrong += complaints(entries)
    # What was late on a busy machine proves nothing.
    late = [each for each in wrong if each.kind == LATE and course.was_busy(each.at_ns)]
    wrong = [each for each in wrong if each not in late]
    end_ns = entries[-1].at_ns if entries else 0
    wrong += [Violation(SPLIT, end_ns, text) for text in unbalanced(folder)]
    wrong.sort(key=lambda each: each.at_ns)
    return Judgement(
        wrong,
        [*doubts(job), *(f"{each}, on a busy machine" for each in late)],
        _rows(entries, found, wrong, vacant),
        sum(len(terms(each)) for each in found.values()),
        sum(len(each.points) for each in found.values()),
        sum(len(each.taken) for each in found.values()),
        sum(len(each.refused) for each in found.values()),
        sum(each.stale for each in found.values()),
        max((end - begin for begin, end in vacant), default=0) / 1e6,
        within(course.busy, 0, FOREVER) / 1e9,
        len(found),
    )


# --- terms ---


def terms(evidence: Evidence) -> list[JudgedTerm]:
    """The terms of an election, in the order in which they began."""
    found: dict[tuple[int, int], list[Point]] = defaultdict(list)
    for point in evidence.points:
        found[point.token, point.pid].append(point)
    return sorted(
        JudgedTerm(min(each).at_ns, max(each).at_ns, token, each[0].name, pid)
        for (token, pid), each in found.items()
    )


def exclusion(evidence: Evidence) -> Iterator[Violation]:
    """Terms that overlap, tokens that come twice, and tokens that do not rise."""
    seen: dict[tuple[int, int], list[int]] = defaultdict(list)
    for point in evidence.points:
        seen[point.token, point.pid].append(point.at_ns)
    going: list[JudgedTerm] = []
    highest: JudgedTerm | None = None
    owners: dict[int, JudgedTerm] = {}
    for term in terms(evidence):
        going = [each for each in going if each.last_ns >= term.first_ns]
        for each in going:
            # When the older one was seen again, and until when: it may have stood still meanwhile.
            times = seen[each.token, each.pid]
            again_ns = times[bisect_left(times, term.first_ns)]
            later_ms = (again_ns - term.first_ns) / 1e6
            text = f"{each} was in office {later_ms:.1f} ms after {term} was"
            yield Violation(OVERLAP, term.first_ns, text, each.last_ns - again_ns)
        owner = owners.setdefault(term.token, term)
        if owner.pid != term.pid:
            text = f"{owner} and {term} have the same token"
            yield Violation(REUSED, term.first_ns, text)
        if highest is not None and term.token < highest.token:
            later_ms = (term.first_ns - highest.first_ns) / 1e6
            text = f"{term} came into office {later_ms:.1f} ms after {highest}"
            yield Violation(BACK, term.first_ns, text)
        if highest is None or term.token > highest.token:
            highest = term
        going.append(term)


def leaks(evidence: Evidence) -> Iterator[Violation]:
    """What the fence should have refused."""
    # A write that is too late comes after the last note of its term.
    times = {(p.token, p.name, p.pid): p.at_ns for p in evidence.points}
    for one, other in pairwise(evidence.taken):
        at_ns = times.get((other.token, other.name, other.pid), 0)
        if other.token < one.token:
            yield Violation(STALE, at_ns, f"the fence took {other} after {one}")
        elif other.token == one.token and other != one:
            yield Violation(REUSED, at_ns, f"the fence took {other} after {one}")


def doubts(evidence: Evidence) -> list[str]:
    """Why it proves less than it should, though nothing is wrong."""
    found = []
    if evidence.tokens < 2:
        found.append("nobody ever took over")
    if not evidence.refused:
        found.append("no stale write was tried, so the fence had nothing to do")
    if not evidence.stale:
        found.append("no stale write was taken without a fence")
    return found


def complaints(entries: Sequence[Entry]) -> list[Violation]:
    """What whoever hurt the workers complains of."""
    return [
        Violation(LATE if each.said.get("is_late") else ENDED, each.at_ns, each.said["text"])
        for each in entries
        if each.what == "complaint"
    ]


def groups(folder: Path, entries: Sequence[Entry]) -> Iterator[Violation]:
    """Groups of the same leader with the same token, unless it was replaced meanwhile."""
    new = [(e.name, e.at_ns) for e in entries if e.said.get("called") == "members replace"]
    first: dict[tuple[str, int], Point] = {}
    for point in sorted(read(folder / GROUPS)):
        known = first.setdefault((point.name, point.token), point)
        if known.pid != point.pid:
            first[point.name, point.token] = point
            if not any(n == point.name and known.at_ns < at < point.at_ns for n, at in new):
                yield Violation(REUSED, point.at_ns, f"{known} and {point} led groups")


# --- who could reach whom ---


class Course(NamedTuple):
    """The journal, as what was so from when to when."""

    away: dict[str, list[Span]]
    """When a process did not run: it was down, or stopped."""
    ill: dict[str, list[Span]]
    """When its disk failed or was slow, or a process had just been started."""
    lost: dict[tuple[str, str], list[Span]]
    """When nothing came from one to the other."""
    poor: dict[tuple[str, str], list[Span]]
    """When it came late, or not all of it."""
    members: list[tuple[Span, list[frozenset[str]]]]
    """Which lists of members were in force: two of them while a change was under way."""
    busy: list[Span]
    """When the machine had much else to do."""
    end_ns: int

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> "Course":
        """Go through a journal."""
        away, ill = _Spans[tuple[str, str]](), _Spans[str]()
        lost, poor = _Spans[tuple[str, str]](), _Spans[tuple[str, str]]()
        members: list[tuple[Span, list[frozenset[str]]]] = []
        for at, what, said in entries:
            name = said.get("name", "")
            if what == "up":
                away.end((name, "down"), at)
                away.end((name, "stopped"), at)  # A new process does not stand still.
                ill.add(name, (at, at + START_NS))
            elif what == "going":
                away.end((name, "stopped"), at)
            elif what in ("down", "stopped"):
                away.begin((name, what), at)
            elif what == "ill":
                ill.begin(name, at)
            elif what == "well":
                ill.end(name, at)
            elif what == "links":
                lost.become({(one, other) for one, other in said["lost"]}, at)
                poor.become({(one, other) for one, other in said["poor"]}, at)
            elif what == "members":
                if members:
                    members[-1] = ((members[-1][0][0], at), members[-1][1])
                members.append(((at, FOREVER), [frozenset(each) for each in said["lists"]]))
        end_ns = entries[-1].at_ns if entries else 0
        causes = away.closed()
        gone: dict[str, list[Span]] = defaultdict(list)
        for (name, _), spans in causes.items():
            gone[name] += spans
        busy = [(int(said["since"]), at) for at, what, said in entries if what == "busy"]
        return cls(gone, ill.closed(), lost.closed(), poor.closed(), members, busy, end_ns)

    def lists(self, begin: int, end: int) -> list[frozenset[str]]:
        """Every list that was in force at some time between."""
        return [
            each for span, lists in self.members for each in lists if span[0] <= end > begin
            and span[1] >= begin
        ]  # fmt: skip

    def was_busy(self, at: int) -> bool:
        """Whether the machine was busy for half of what is promised before this, or longer."""
        return 2 * within(self.busy, at - PROMISED_NS, at) >= PROMISED_NS

    def cut_off(self, name: str, other: str) -> list[Span]:
        """When this one could not get an answer of the other."""
        ways = [*self.lost.get((name, other), ()), *self.lost.get((other, name), ())]
        return [*self.away.get(other, ()), *ways]

    def is_well(self, name: str, at: int) -> bool:
        """Whether it runs, and nothing ails it."""
        return not _within(self.away.get(name, ()), at) and not _within(self.ill.get(name, ()), at)

    def hears(self, name: str, other: str, at: int) -> bool:
        """Whether all that these two say to each other arrives as usual."""
        ways = ((name, other), (other, name))
        found = [
            *(self.lost.get(way, ()) for way in ways),
            *(self.poor.get(way, ()) for way in ways),
        ]
        return not any(_within(spans, at) for spans in found)

    def well(self) -> list[Span]:
        """When some member that was well could hear a majority that was well."""
        begin = self.members[0][0][0] if self.members else 0
        causes = (self.away, self.ill, self.lost, self.poor)
        spans = [span for cause in causes for each in cause.values() for span in each]
        spans += [span for span, _ in self.members]
        times = sorted(
            {begin, self.end_ns, *(t for s in spans for t in s if begin < t < self.end_ns)}
        )
        found: list[Span] = []
        for one, other in pairwise(times):
            if self._has_majority(one):
                joined = bool(found) and found[-1][1] == one
                found[-1:] = [(found[-1][0], other)] if joined else [*found[-1:], (one, other)]
        return found

    def _has_majority(self, at: int) -> bool:
        lists = [lists for (begin, end), lists in self.members if begin <= at < end][-1]
        everybody = frozenset[str]().union(*lists)
        well = {name for name in everybody if self.is_well(name, at)}
        return any(
            all(2 * len(each & heard) > len(each) for each in lists)
            for name in frozenset.intersection(*lists) & well
            for heard in [{o for o in well if o == name or self.hears(name, o, at)}]
        )


class _Spans(Generic[K]):
    """Spans of time, by what they are about."""

    def __init__(self) -> None:
        self._found: dict[K, list[Span]] = defaultdict(list)
        self._since: dict[K, int] = {}

    def begin(self, what: K, at: int) -> None:
        self._since.setdefault(what, at)

    def end(self, what: K, at: int) -> None:
        if what in self._since:
            self._found[what].append((self._since.pop(what), at))

    def add(self, what: K, span: Span) -> None:
        self._found[what].append(span)

    def become(self, now: set[K], at: int) -> None:
        """From now on it is so for these, and for no others."""
        for what in {*self._since} - now:
            self.end(what, at)
        for what in now:
            self.begin(what, at)

    def closed(self) -> dict[K, list[Span]]:
        """All spans; what goes on still goes on for ever."""
        for what in [*self._since]:
            self.end(what, FOREVER)
        return self._found


def _within(spans: Sequence[Span], at: int) -> bool:
    return any(begin <= at < end for begin, end in spans)


def alone(evidence: Evidence, course: Course, lease_ns: int) -> Iterator[Violation]:
    """Leaders that could not hear a majority for longer than a lease.

    A voter counts as heard if it ran at any time within the lease, and if the way there was open
    at any time, and the way back. That is lenient: what is found is wrong for certain.
    """
    points: dict[str, list[int]] = defaultdict(list)
    for point in evidence.points:
        points[point.name].append(point.at_ns)
    everybody = {each for _, lists in course.members for each in frozenset[str]().union(*lists)}
    for name, times in points.items():
        deaf: dict[int, set[str]] = defaultdict(set)
        for other in everybody - {name}:
            for begin, end in course.cut_off(name, other):
                low, high = bisect_left(times, begin + lease_ns), bisect_right(times, end)
                for at in times[low:high]:
                    deaf[at].add(other)
        for at, others in sorted(deaf.items()):
            lists = course.lists(at - lease_ns, at)
            heard = [2 * len(each - others) > len(each) for each in lists if name in each]
            if heard and not any(heard):
                text = f"{name} was in office, and had not heard {_words(others)} for a lease"
                yield Violation(ALONE, at, text)
                break  # One is enough for each name: a cut has many points.


def stuck(
    evidence: Evidence, well: Sequence[Span], busy: Sequence[Span], promised_ns: int
) -> Iterator[Violation]:
    """Offices that were vacant for longer than is promised, while the machine was not busy."""
    for begin, end in vacancies(evidence, well):
        free_ns = end - begin - within(busy, begin, end)
        if free_ns > promised_ns:
            text = f"none for {free_ns / 1e9:.1f} s, a majority was well"
            yield Violation(STUCK, begin, text)


def within(spans: Sequence[Span], begin: int, end: int) -> int:
    """How much of the time between these lies in spans that do not overlap."""
    return sum(max(0, min(end, last) - max(begin, first)) for first, last in spans)


def vacancies(evidence: Evidence, well: Sequence[Span]) -> list[Span]:
    """When nobody was in office though a majority was well, from each note to the next."""
    times = [point.at_ns for point in evidence.points]
    found = []
    for begin, end in well:
        inside = times[bisect_left(times, begin) : bisect_right(times, end)]
        found += list(pairwise([begin, *inside, end]))
    return found


# --- by fault ---


def _rows(
    entries: Sequence[Entry],
    found: dict[str, Evidence],
    wrong: Sequence[Violation],
    vacant: Sequence[Span],
) -> dict[str, FaultRow]:
    """What came about between each fault and the next, by what the fault is called."""
    blows = [(entry.at_ns, str(entry.said["called"])) for entry in entries if entry.what == "fault"]
    times = [at for at, _ in blows]

    def called(at: int) -> str:
        number = bisect_right(times, at) - 1
        return blows[number][1] if number >= 0 else "before the first"

    begun = Counter(called(term.first_ns) for each in found.values() for term in terms(each))
    errors: dict[str, Counter[str]] = defaultdict(Counter)
    for each in wrong:
        errors[called(each.at_ns)][each.kind] += 1
    longest: dict[str, int] = defaultdict(int)
    for begin, end in vacant:
        first = bisect_left(times, begin)  # The fault within it, or else the last one before it.
        what = blows[first][1] if first < len(times) and times[first] <= end else called(begin)
        longest[what] = max(longest[what], end - begin)
    number = Counter(what for _, what in blows)
    names = [*(["before the first"] if "before the first" in begun else []), *sorted(number)]
    return {
        name: FaultRow(number[name], begun[name], dict(errors[name]), longest[name] / 1e6)
        for name in names
    }


def _words(names: set[str]) -> str:
    return ", ".join(sorted(names))


def main() -> int:
    """Judge the folder that is named, once more; exit code 1 if something is wrong."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("judge: name one folder, as --keep of benchmarks.faults left it", file=sys.stderr)
        return 2
    found = judged(Path(sys.argv[1]))
    rows = {name: row._asdict() for name, row in found.rows.items()}
    violations = [str(each) for each in found.violations]
    print(json.dumps({**found._asdict(), "rows": rows, "violations": violations}))
    return 1 if found.violations else 0


if __name__ == "__main__":
    raise SystemExit(main())
