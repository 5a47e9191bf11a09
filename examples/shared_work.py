"""Shared work: a group shares out a job; groups that merge throw out duplicates and join the rest.

Source: "Coordinator Election", lecture notes of Carnegie Mellon University, the last paragraph of
"The Invitation Algorithm": coordinators see to it that participants work on different portions of a
problem, and a merge of groups throws out duplicate work and assembles the partial results.
Needs: nothing for the results: what was done is saved, and joined whenever groups merge. For an end
of it: whatever Invitation, which runs inside, needs for a single group.

It is a protocol over another protocol, and a program that runs it:

    python examples/shared_work.py           in the simulator, where time is virtual
    python examples/shared_work.py --real    the same five nodes on TCP, in real time
    electorate check examples/shared_work.py:SharedWork --nodes 2 --rule items=2
"""

import argparse
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from electorate.core import (
    Assumption,
    CancelTimer,
    Effect,
    Event,
    Lift,
    Machine,
    Members,
    Message,
    NodeId,
    Received,
    Result,
    Rules,
    Send,
    SetTimer,
    Span,
    Stable,
    Standing,
    State,
    Status,
    T,
    TimedOut,
    Timer,
    Timing,
    Value,
)
from electorate.net.clock import now_ms
from electorate.net.config import NodeConfig
from electorate.net.thread import NodeThread
from electorate.protocols.invitation import Group, Invitation, InvitationRules
from electorate.simulate.bench import Bench, Subject
from electorate.simulate.fault import Partition
from electorate.simulate.scenario import Faults, Scenario
from electorate.trace import Cut, Delivered, Fired, Healed, Setting, Start, Step, Trace
from electorate.trace.merge import merged, rerun
from electorate.trace.record import Took, parse_entry

# --- the protocol ---


class Part(Value):
    """What came of one item, and who did it."""

    item: int
    result: int
    by: NodeId


Parts = frozenset[Part]


class Report(Message):
    """I am in your group and have nothing to do. This is what I know to be done."""

    group: Group
    parts: Parts


class Order(Message):
    """This is all that we know to be done. Do this item next, if there is one left."""

    group: Group
    item: int | None
    parts: Parts


class Wait(StrEnum):
    """The timers."""

    REPORTS = "reports"  # whoever is in my new group has told me what it knows
    EFFORT = "effort"  # the item is done
    AGAIN = "again"  # my leader would have answered my report by now
    OVERDUE = "overdue"  # whoever has been given an item would have done it by now


class SharedWorkRules(Rules):
    """What may be varied."""

    inner: InvitationRules = InvitationRules()
    items: int = 36
    reports: Span = 2 * T
    effort: Span = 4 * T
    again: Span = 4 * T
    overdue: Span = 3 * T
    """On top of the effort."""


Inner = TypeVar("Inner", bound=State)
Kept = TypeVar("Kept", bound=Stable)


class SharedWorkStable(Stable, Generic[Kept]):
    """What survives a crash."""

    inner: Kept
    parts: Parts = frozenset()


class SharedWorkState(State, Generic[Inner, Kept]):
    """One node's part in the work."""

    stable: SharedWorkStable[Kept]
    inner: Inner
    group: Group | None = None
    """The group that I work in; None while work rests."""
    briefed: bool = False
    """Whether I know what my group knows."""
    item: int | None = None
    """What I am doing."""
    given: frozenset[tuple[NodeId, int]] = frozenset()
    """If I lead: who is doing what."""


Local = SharedWorkState[Any, Any]


class SharedWork(Machine[Local]):
    """Invitation forms the groups; here a group's leader hands out items, one at a time."""

    state_type = SharedWorkState
    stable_type = SharedWorkStable
    rules_type = SharedWorkRules
    messages = (Report, Order)
    timers = tuple(Timer(wait) for wait in Wait)
    promises = ("A3", "A2")
    assumptions = (
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.NO_PARTITION,
    )

    rules: SharedWorkRules

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.lift = Lift(Invitation(members, timing, self.rules.inner))
        self.lift.declare(self)

    def boot(self, me: NodeId, stable: SharedWorkStable[Any] | None) -> Result[Local]:
        inner, effects = self.lift.boot(me, stable)
        kept = SharedWorkStable(inner.stable, stable.parts if stable else frozenset())
        return self._look(SharedWorkState(me, kept, inner), effects)

    def step(self, s: Local, event: Event) -> Result[Local]:
        match event:
            case Received(j, message) if not self._makes_sense(j, message):
                return s, []

            case Received(j, Report(group, parts)) if group == s.group and group[0] == s.me:
                knowing = _knowing(s, parts)
                return self._hand_out(knowing, j) if s.briefed else (knowing, [])
            case TimedOut(Wait.REPORTS) if s.group is not None and s.group[0] == s.me:
                return self._begin(s)
            case Received(j, Order(group, item, parts)) if group == s.group and group[0] == j:
                return self._obey(replace(_knowing(s, parts), briefed=True), item)
            case TimedOut(Wait.EFFORT) if s.item is not None:
                done = Part(s.item, self.result(s.item), s.me)
                return self._next(_knowing(replace(s, item=None), frozenset({done})))
            case TimedOut(Wait.AGAIN) if s.group is not None:
                return self._next(s)
            case TimedOut(Wait.OVERDUE) if s.group is not None:
                forgotten = replace(s, given=frozenset())
                return self._next(forgotten) if s.item is None else (forgotten, [])
        return self._look(*self.lift.step(s, event))

    def view(self, s: Local) -> Standing:
        view = self.lift.view(s)
        if view.status is Status.NORMAL and not s.briefed:
            return replace(view, status=Status.REORGANIZATION)
        return view

    def result(self, item: int) -> int:
        """The work itself: how many primes there are in one hundred of numbers."""
        numbers = range(max(2, 100 * (item - 1) + 1), 100 * item + 1)
        return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in numbers)

    def _look(self, s: Local, effects: list[Effect]) -> Result[Local]:
        """See whether the election has moved me from one group to another, or to none yet."""
        view = self.lift.view(s)
        group: Group | None = s.inner.group if view.status is Status.NORMAL else None
        if group == s.group:
            return s, effects
        # Whatever I was doing is dropped: in the new group it may be somebody else's.
        dropped = [CancelTimer(wait) for wait in Wait] if s.group is not None else []
        moved = SharedWorkState(s.me, s.stable, s.inner, group)
        if group is None:
            return moved, [*effects, *dropped]
        if group[0] != s.me:
            state, begun = self._next(moved)
        elif s.inner.followers:
            state, begun = moved, [self._set(Wait.REPORTS)]
        else:
            state, begun = self._begin(moved)
        return state, [*effects, *dropped, *begun]

    def _begin(self, s: Local) -> Result[Local]:
        """I know what my group has done: give everybody in it something else to do."""
        state, effects = replace(s, briefed=True), []
        for j in (s.me, *sorted(s.inner.followers)):
            state, more = self._hand_out(state, j)
            effects += more
        return state, effects

    def _next(self, s: Local) -> Result[Local]:
        """Look for something to do: ask my leader, or myself if I lead."""
        assert s.group is not None
        if s.group[0] == s.me:
            return self._hand_out(s, s.me)
        return s, [Send(s.group[0], Report(s.group, s.stable.parts)), self._set(Wait.AGAIN)]

    def _hand_out(self, s: Local, j: NodeId) -> Result[Local]:
        """Give a node an item that nobody has done and nobody is doing."""
        assert s.group is not None
        others = frozenset((node, item) for node, item in s.given if node != j)
        taken = {part.item for part in s.stable.parts} | {item for _, item in others}
        # Groups that do not know of each other begin in different places, to do less work twice.
        items, place = self.rules.items, self.members.ids.index(s.me)
        first = place * items // len(self.members.ids)
        order = ((first + k) % items + 1 for k in range(items))
        item = next((item for item in order if item not in taken), None)
        given = replace(s, given=others if item is None else others | {(j, item)})
        patience = (self.rules.effort + self.rules.overdue).of(self.timing)
        overdue = [] if item is None else [SetTimer(Wait.OVERDUE, patience)]
        if j == s.me:
            state, effects = self._obey(given, item)
            return state, [*effects, *overdue]
        return given, [Send(j, Order(s.group, item, s.stable.parts)), *overdue]

    def _obey(self, s: Local, item: int | None) -> Result[Local]:
        """Do this item, or ask for another one later if some are left."""
        if s.item is not None:
            return s, []
        if item is not None:
            return replace(s, item=item), [CancelTimer(Wait.AGAIN), self._set(Wait.EFFORT)]
        is_over = len(s.stable.parts) == self.rules.items
        return s, [CancelTimer(Wait.AGAIN) if is_over else self._set(Wait.AGAIN)]

    def _makes_sense(self, j: NodeId, message: Message) -> bool:
        """Whether a message can be from a node that keeps the rules."""
        items: set[int] = set()
        match message:
            case Order(_, item, parts):
                items = {part.item for part in parts} | ({item} if item is not None else set())
            case Report(_, parts):
                items = {part.item for part in parts}
        return j in self.members.ids and items <= set(range(1, self.rules.items + 1))

    def _set(self, wait: Wait) -> SetTimer:
        span: Span = getattr(self.rules, wait)
        return SetTimer(wait, span.of(self.timing))


def _knowing(s: Local, parts: Parts) -> Local:
    """The state with these parts joined to it: of two for the same item one is thrown out."""
    joined: dict[int, Part] = {}
    for part in sorted(s.stable.parts | parts, key=lambda part: (part.item, part.by)):
        joined.setdefault(part.item, part)
    return replace(s, stable=replace(s.stable, parts=frozenset(joined.values())))


# --- the program ---

IDS = (1, 2, 3, 4, 5)
SIDES = (frozenset({1, 2}), frozenset({3, 4, 5}))
APART, TOGETHER, END = 16, 36, 90
"""When the network falls apart, when it is whole again, and when a simulation is over; in T."""
REAL_T_MS = 50
PATIENCE_S = 60.0


class News(NamedTuple):
    """Something worth telling; of several in a row that begin alike only one line is made."""

    at: int
    text: str
    more: str = ""


def simulated(seed: int) -> Trace:
    """A run in the simulator; the seed decides how long each message takes."""
    T = Scenario().timing.T
    fault = Partition(APART * T, TOGETHER * T, tuple(SIDES[0]))
    scenario = Scenario(ids=IDS, start=Start.BOOT, faults=Faults(), listed=(fault,), safety=END * T)
    bench = Bench(Subject("shared-work", scenario), lambda _: (SharedWork, "sound"))
    return bench.run(seed, record=True).trace


def real() -> Trace:
    """A run on TCP: five nodes in this process, each of which writes down what happens to it."""
    setting = Setting("shared-work", IDS, timing=Timing(REAL_T_MS))
    machine = setting.machine(SharedWork, "sound")
    with TemporaryDirectory() as folder, ExitStack() as running:
        addresses = dict(zip(IDS, _free_addresses(len(IDS)), strict=True))
        records = {node: Path(folder) / f"{node}.jsonl" for node in IDS}
        threads: dict[NodeId, NodeThread] = {}
        for node in IDS:
            data = Path(folder) / str(node)
            config = NodeConfig(node, setting, addresses, data, records[node], first_wait_ms=5000)
            threads[node] = NodeThread(config, machine, lambda _: None)
            threads[node].start()
            running.callback(threads[node].stop)
        happened: list[Step] = []
        for at, is_whole in ((APART, False), (TOGETHER, True)):
            _wait(records[1], at)
            for node, thread in threads.items():
                other = next(side for side in SIDES if node not in side)
                cut = frozenset() if is_whole else other
                thread.call(setattr, thread.node.network, "cut", cut)
            kind = Healed if is_whole else Cut
            pairs = ((a, b) for a in SIDES[0] for b in SIDES[1])
            happened += (Step(at * REAL_T_MS, kind(a, b, both=True)) for a, b in pairs)
        deadline = time.monotonic() + PATIENCE_S
        while not all(map(_is_complete, records.values())) and time.monotonic() < deadline:
            time.sleep(0.1)
        running.close()
        for thread in threads.values():
            if thread.error is not None:
                raise thread.error
        entries = {
            node: [parse_entry(line, str(path)) for line in path.read_bytes().splitlines()]
            for node, path in records.items()
        }
        trace = merged(setting, {node: rerun(machine, found) for node, found in entries.items()})
    return replace(trace, steps=tuple(sorted((*trace.steps, *happened), key=lambda s: s.at)))


def _wait(record: Path, until: int) -> None:
    """Wait until so many T have passed since a node booted."""
    while not record.exists() or not record.stat().st_size:
        time.sleep(0.01)
    booted = parse_entry(record.read_bytes().splitlines()[0], str(record)).at
    time.sleep(max(0.0, (booted + until * REAL_T_MS - now_ms()) / 1000))


def _is_complete(record: Path) -> bool:
    """Whether the last thing that a node wrote down is that it knows everything."""
    lines = record.read_bytes().splitlines() if record.exists() else []
    entry = parse_entry(lines[-1], str(record)) if lines else None
    return isinstance(entry, Took) and entry.state.count("Part(") == SharedWorkRules().items


def _free_addresses(count: int) -> list[tuple[str, int]]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [("127.0.0.1", each.getsockname()[1]) for each in sockets]


def news_of(trace: Trace) -> Iterator[News]:
    """What is worth telling of a run."""
    thrown_out: set[Part] = set()
    for step in trace.steps:
        before: Any = step.turns[0].before if step.turns else None
        match step.happening:
            case Cut():
                yield News(step.at, "THE NETWORK FALLS APART: 1 2 | 3 4 5")
            case Healed():
                yield News(step.at, "THE NETWORK IS WHOLE AGAIN")
            case Fired(node, Wait.EFFORT):
                yield News(step.at, "done:", f"{before.item} by node {node}")
            case Delivered(node, _, Report() as report):
                yield from _joined(step.at, before, node, report, thrown_out)
        for turn in step.turns:
            was, now = turn.before, turn.after
            if isinstance(was, SharedWorkState) and isinstance(now, SharedWorkState):
                yield from _moved(step.at, was, now)


def _moved(at: int, before: Local, s: Local) -> Iterator[News]:
    """A node stops its work, or leads a new group."""
    if s.group == before.group:
        return
    if s.group is None:
        yield News(at, "work rests at node", str(s.me))
    elif s.group[0] == s.me:
        followers = _names(s.inner.followers)
        whom = f"leads {followers}" if followers else "works on its own"
        yield News(at, f"node {s.me} {whom}, in group {s.group}")


def _joined(at: int, s: Local, j: NodeId, report: Report, thrown_out: set[Part]) -> Iterator[News]:
    """What a leader learns from a node that reports to it for the first time."""
    if s.group != report.group or any(j == node for node, _ in s.given):
        return
    known = {part.item for part in s.stable.parts}
    new = {part.item for part in report.parts} - known
    twice = {part for part in report.parts - s.stable.parts if part.item in known} - thrown_out
    thrown_out |= twice
    if new:
        yield News(at, f"node {s.me} gets {_names(new)} from node {j}")
    if twice:
        items = _names(part.item for part in twice)
        yield News(at, f"node {s.me} has {items} already: what node {j} did is thrown out")


def story_of(trace: Trace) -> Iterator[str]:
    """A run, line by line, and what came of it."""
    for text, same in groupby(news_of(trace), key=lambda news: news.text):
        told = list(same)
        at = told[0].at / trace.setting.timing.T
        line = f"{text} {', '.join(dict.fromkeys(news.more for news in told))}".rstrip()
        yield fill(line, 96, initial_indent=f"{at:5.1f}T  ", subsequent_indent=8 * " ")
    yield ""
    last: dict[NodeId, Any] = {t.node: t.after for step in trace.steps for t in step.turns}
    for node, state in sorted(last.items()):
        parts: Parts = state.stable.parts
        primes = sum(part.result for part in parts)
        own = _names(part.item for part in parts if part.by == node)
        yield f"node {node} knows {len(parts)} results, {primes} primes; of its own: {own or None}"
    done: Counter[int] = Counter()
    for step in trace.steps:
        before: Any = step.turns[0].before if step.turns else None
        if isinstance(step.happening, Fired) and step.happening.timer == Wait.EFFORT:
            done[before.item] += 1
    twice = _names(item for item, times in done.items() if times > 1)
    yield f"{len(done)} items were done in {done.total()} goes; more than once: {twice or None}"


def _names(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Five nodes share out work.")
    parser.add_argument("--real", action="store_true", help="on TCP and in real time")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated network")
    options = parser.parse_args()
    for line in story_of(real() if options.real else simulated(options.seed)):
        print(line)


if __name__ == "__main__":
    main()
