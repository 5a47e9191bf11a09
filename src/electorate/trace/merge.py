"""Records of single nodes, re-run and merged into one trace of a whole run.

Clocks of different nodes need not agree: a receipt is put after its sending because it names the
message, and otherwise events are ordered by the times that their own nodes gave them. The processes
of one machine share a clock. Where a message seems to arrive before it was sent, the clocks are of
different machines: then each is shifted so that the quickest messages took the same time there and
back.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from electorate.core import (
    Asked,
    NodeId,
    ProtocolError,
    Received,
    Send,
    Stable,
    State,
    TimedOut,
    Turn,
    Turns,
    Viewed,
    text_of,
)
from electorate.core.codec import json_of
from electorate.trace.happening import (
    Crashed,
    Delivered,
    Fired,
    Happening,
    Lost,
    Placed,
    Recovered,
    Requested,
    Saw,
    Step,
    Trace,
    TurnRecord,
)
from electorate.trace.record import (
    Booted,
    Ended,
    EventReader,
    Held,
    HostLife,
    Letterhead,
    Line,
    OfInstance,
    RecordError,
    Ruled,
    Took,
    digest_of,
)
from electorate.trace.setting import Clock, Connections, Setting, Start

Name = tuple[NodeId, int, NodeId, int]
"""The name of a message: its sender, the life of the sender's host, its receiver, its number."""


class Differs(RecordError):
    """A record that gives something else when it is re-run."""


class Occurrence(NamedTuple):
    """One entry of a record, re-run."""

    node: NodeId
    life: int
    """The incarnation of its host."""
    at: float
    entry: OfInstance
    event: Any
    before: State | None
    turn: Turn | None
    kept: Stable | None = None
    """What was saved before; unknown once the life has ended."""
    clock: int = 0
    gap: bool = False
    """Whether it is unknown what happened to this instance right before."""


class Rerun:
    """Re-runs what one instance took at one node, line by line."""

    def __init__(self, turns_of: Callable[[str], Turns]) -> None:
        self._turns_of = turns_of
        self._state: State | None = None
        self._number = 0
        self._host: HostLife | None = None
        self.clusters: list[str] = []
        """The machines that it ran, one after the other."""

    def take(self, line: Line) -> Occurrence | None:
        """The result of a line; Differs says what was recorded instead."""
        self._number += 1
        entry, before = line.entry, self._state
        if isinstance(entry, Ruled):
            self._rule(entry.cluster)
            return None
        if not self.clusters:
            raise RecordError(f"{line.where}: no line before says which machine this is")
        event, kept, turn = self._turn(line, entry)
        if isinstance(entry, Held) and not line.gap and before is not None:
            if turn is not None and turn.state != before:
                raise self._otherwise(line, None, before)
            return None  # It stands where the file before has left it.
        if isinstance(entry, Booted | Held):
            before = None
        self._state = None if turn is None else turn.state
        host = line.host
        gap = line.gap and host is not self._host
        self._host = host
        return Occurrence(
            host.node, host.incarnation, entry.at, entry, event, before, turn, kept, line.clock, gap
        )

    def _rule(self, cluster: str) -> None:
        if self.clusters[-1:] != [cluster]:
            self.clusters.append(cluster)
            self._turns = self._turns_of(cluster)
            self._digest = digest_of(self._turns.machine)
            self._reader = EventReader(self._turns.machine)

    def _turn(self, line: Line, entry: OfInstance) -> tuple[Any, Stable | None, Turn | None]:
        """The event in an entry, what was saved before it, and what it leads to."""
        event: Any = None
        try:
            match entry:
                case Held():
                    return None, None, Turn(self._reader.state(entry), ())
                case Booted():
                    kept = self._reader.stable(entry)
                    turn = self._turns.boot(line.host.node, kept)
                case Took():
                    if self._state is None:
                        raise RecordError(f"{line.where}: an event before any boot")
                    event, kept = self._reader.event(entry), self._state.stable
                    turn = self._turns.step(self._state, event)
                case _:
                    return None, None, None
        except msgspec.DecodeError as error:
            raise RecordError(f"{line.where}: {error}") from None
        except ProtocolError as error:
            raise self._otherwise(line, event, str(error)) from None
        if self._digest(turn.state) != entry.digest:
            raise self._otherwise(line, event, turn.state)
        return event, kept, turn

    def _otherwise(self, line: Line, event: Any, found: object) -> Differs:
        host, at, what = line.host, line.entry.at, text_of(event)
        if event is None:
            what = "what the next file begins with" if isinstance(line.entry, Held) else "its boot"
        return Differs(
            f"{line.where}: entry {self._number} of {line.instance} at node "
            f"{host.name or host.node}, {at:.3f} ms on its clock: {what} led to another state "
            f"than the re-run, which gives {text_of(found)}"
        )


def rerun(lines: Iterable[Line], turns_of: Callable[[str], Turns]) -> list[Occurrence]:
    """Re-run everything that one instance took at one node."""
    again = Rerun(turns_of)
    return [found for line in lines if (found := again.take(line)) is not None]


class Numbering:
    """Gives every message that a re-run instance sends at one node the name that receipts use."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, NodeId]] = Counter()
        self._uncounted: set[int] = set()

    def sends(self, o: Occurrence) -> list[tuple[Send, Name | None]]:
        """What it sends to others, in order.

        Nothing has a name if the record begins in the middle of a life and does not say how much
        was sent before.
        """
        if isinstance(o.entry, Held):
            if o.entry.sent is None:
                self._uncounted.add(o.life)
            for to, count in (o.entry.sent or {}).items():
                self._counts[o.life, to] = count
        found: list[tuple[Send, Name | None]] = []
        for effect in () if o.turn is None else o.turn.effects:
            if isinstance(effect, Send) and effect.to != o.node:
                self._counts[o.life, effect.to] += 1
                name = (o.node, o.life, effect.to, self._counts[o.life, effect.to])
                found.append((effect, None if o.life in self._uncounted else name))
        return found


class Merger:
    """Puts the occurrences of all nodes in one order in which causes come first."""

    def __init__(
        self,
        setting: Setting,
        records: Mapping[NodeId, Sequence[Occurrence]],
        zero: float | None = None,
        unseen: Collection[NodeId] = (),
    ) -> None:
        self._setting = setting
        self._records = {node: _with_ends(node, records) for node in records}
        self._unseen = frozenset(unseen)
        everything = [o for record in self._records.values() for o in record]
        first = min((o.at for o in everything), default=0.0)
        self._zero = first if zero is None else zero
        self._received = {name for o in everything if (name := name_of(o)) is not None}
        self.strays = self._received - set(self._names())
        """Messages that were received, and that no record shows to have been sent."""
        self.surprises: set[NodeId] = set()
        """Nodes that once booted with something else than their last life had saved."""
        self._uses_views = any(isinstance(o.event, Viewed) for o in everything)
        self._sent: set[Name] = set()
        self._flying: defaultdict[tuple[NodeId, NodeId], list[Name]] = defaultdict(list)
        self._numbering = {node: Numbering() for node in self._records}
        self._stables: dict[NodeId, Stable | None] = {}
        self._lived: set[NodeId] = set()
        self._up: set[NodeId] = set()
        self._views: dict[NodeId, frozenset[NodeId]] = {}
        self.first_views: dict[int, frozenset[NodeId]] = {}
        """What a node saw right after it had booted, by the step of its boot."""
        self._latest: dict[NodeId, int] = {}
        self._steps: list[Step] = []

    def trace(self) -> Trace:
        """The run, as the simulator could play it with messages that take any time."""
        self._begin()
        for occurrence in self._ordered():
            self._place(occurrence)
        for node in self._up:
            self._tear(node)  # Whoever was killed in the middle of a step and never came back.
        while self._steps and self._steps[-1].happening.change.down:
            self._steps.pop()  # They were stopped together: the run is over, nobody failed.
        return Trace(self._setting, tuple(self._steps))

    def _names(self) -> Iterator[Name | None]:
        """Every message that a record shows to have been sent."""
        for record in self._records.values():
            numbering = Numbering()
            for occurrence in record:
                yield from (name for _, name in numbering.sends(occurrence))

    def _begin(self) -> None:
        """Nodes that had lived before the record begins are down, and remember that."""
        for node, record in sorted(self._records.items()):
            if record and isinstance(record[0].entry, Booted) and record[0].kept is not None:
                self._lived.add(node)
                self._stables[node] = record[0].kept
                kept = json_of(record[0].kept).decode()
                self._steps.append(Step(0, Placed(node, kept, is_up=False)))

    def _ordered(self) -> Iterator[Occurrence]:
        """The earliest occurrence whose cause has been placed, again and again."""
        queues = {node: list(reversed(record)) for node, record in self._records.items() if record}
        while queues:
            ready = [(q[-1].at, node) for node, q in queues.items() if self._is_ready(q[-1])]
            if not ready:
                raise RecordError("each record waits for a message that another sends later")
            _, node = min(ready)
            yield queues[node].pop()
            if not queues[node]:
                del queues[node]

    def _is_ready(self, occurrence: Occurrence) -> bool:
        name = name_of(occurrence)
        return name is None or name in self._sent or name in self.strays

    def _place(self, occurrence: Occurrence) -> None:
        node, turn = occurrence.node, occurrence.turn
        if turn is None:
            self._end(occurrence)
            return
        if isinstance(occurrence.entry, Held):
            self._hold(occurrence, occurrence.entry)
        boots = isinstance(occurrence.entry, Booted) and not occurrence.gap
        if boots and occurrence.kept != self._stables.get(node):
            self.surprises.add(node)
        self._stables[node] = turn.state.stable
        self._up.add(node)
        record = TurnRecord(node, occurrence.before, turn.state, turn.effects)
        happening = self._happening(occurrence)
        if happening is None:
            # The first view belongs to the boot, and a message to oneself to the turn before.
            place = self._latest[node]
            last = self._steps[place]
            self._steps[place] = Step(last.at, last.happening, (*last.turns, record))
        else:
            self._latest[node] = len(self._steps)
            self._add(occurrence, happening, record)
        sends = self._numbering[node].sends(occurrence)
        for loss in [self._sent_in_vain(node, *sent) for sent in sends]:
            if loss is not None:
                self._add(occurrence, loss)

    def _hold(self, occurrence: Occurrence, held: Held) -> None:
        """The record begins, or goes on after a gap, in the middle of a life."""
        node = occurrence.node
        self._lived.add(node)
        if held.alive is not None:
            self._views[node] = frozenset(held.alive)

    def _end(self, occurrence: Occurrence) -> None:
        """A life ends: between two steps, or before all turns of a step were taken."""
        if not self._tear(occurrence.node):
            self._add(occurrence, Crashed(occurrence.node))
        self._up.discard(occurrence.node)

    def _tear(self, node: NodeId) -> bool:
        """Whether the last step of a node was not taken to its end; then the trace says so."""
        place = self._latest[node]
        step = self._steps[place]
        sends = [e.to for turn in step.turns for e in turn.effects if isinstance(e, Send)]
        first_view = self._uses_views and isinstance(step.happening, Recovered)
        if len(step.turns) >= 1 + first_view + sends.count(node):
            return False
        *whole, last = step.turns
        left = Counter(e.to for e in last.effects if isinstance(e, Send) and e.to != node)
        torn = replace(last, sent=tuple(sorted(left.items())))
        self._steps[place] = Step(step.at, step.happening, (*whole, torn))
        return True

    def _sent_in_vain(self, node: NodeId, effect: Send, name: Name | None) -> Lost | None:
        """Send a message; one that nobody received is lost at once."""
        if name is None:
            return None
        to, waiting = effect.to, self._flying[node, effect.to]
        self._sent.add(name)
        if name in self._received:
            waiting.append(name)
            return None
        # Of a node whose record is missing, or has a gap, nobody knows what it received.
        return None if to in self._unseen else Lost(node, to, effect.message, place=len(waiting))

    def _happening(self, occurrence: Occurrence) -> Happening | None:
        node = occurrence.node
        match occurrence.event:
            case None if isinstance(occurrence.entry, Held):
                alive = self._views.get(node, frozenset())
                return Placed(node, bytes(occurrence.entry.state).decode(), True, alive)
            case None:
                first = node not in self._lived
                self._lived.add(node)
                return Recovered(node, first)
            case Received(sender, _) if sender == node:
                return None
            case Received(sender, message):
                name = name_of(occurrence)
                channel = self._flying[sender, node]
                if name not in self.strays and (not channel or channel.pop(0) != name):
                    raise RecordError(f"node {node} received messages of {sender} out of order")
                return Delivered(sender, node, message)
            case TimedOut(timer):
                return Fired(node, timer)
            case Viewed(alive):
                before = self._views.get(node)
                self._views[node] = alive
                latest = self._steps[self._latest[node]]
                if isinstance(latest.happening, Recovered) and len(latest.turns) == 1:
                    self.first_views[self._latest[node]] = alive
                    return None
                return Saw(node, alive, before or alive)
            case Asked(request):
                return Requested(node, request)
        raise RecordError(f"no such event: {occurrence.event!r}")

    def _add(self, occurrence: Occurrence, happening: Happening, *turns: TurnRecord) -> None:
        earliest = self._steps[-1].at if self._steps else 0
        at = max(earliest, round(occurrence.at - self._zero))
        self._steps.append(Step(at, happening, turns))


def _with_ends(node: NodeId, records: Mapping[NodeId, Sequence[Occurrence]]) -> list[Occurrence]:
    """A node's record in which every life but the last has an end.

    A crash writes nothing down. It is put where another node first missed this one, if that was
    between the last entry of the life and the first of the next, else after that last entry. Events
    are written down before their turns are saved; turns that the next life does not know of never
    were, for the crash came in between. An instance that was over, and never began anew, did not
    crash: nothing happened to it any more. Nor is a crash put where the record has a gap: how that
    life ended is unknown.
    """
    missed = [
        o.at
        for other, record in records.items()
        for o in record
        if other != node and isinstance(o.event, Viewed) and node not in o.event.alive
    ]
    ended: list[Occurrence] = []
    for occurrence in records[node]:
        if occurrence.turn is None and (not ended or ended[-1].turn is None):
            continue  # It was stopped before it had booted.
        begins = isinstance(occurrence.entry, Booted) and not occurrence.gap
        if begins:
            _forget_unsaved(ended, occurrence.kept)
        if begins and ended and ended[-1].turn is not None:
            last = ended[-1]
            between = [at for at in missed if last.at <= at <= occurrence.at]
            at = min(between, default=last.at)
            end = Ended(last.entry.i, at)
            ended.append(last._replace(at=at, entry=end, event=None, turn=None))
        ended.append(occurrence)
    if ended and isinstance(ended[-1].entry, Ended) and ended[-1].entry.over:
        ended.pop()
    return ended


def _forget_unsaved(ended: list[Occurrence], kept: Stable | None) -> None:
    """Take back the last turns of a life, up to the one that left what the next life found."""
    for back, occurrence in enumerate(reversed(ended)):
        if occurrence.turn is None:
            return
        if occurrence.turn.state.stable == kept:
            del ended[len(ended) - back :]
            return
        if isinstance(occurrence.entry, Booted | Held):
            if occurrence.kept == kept and isinstance(occurrence.entry, Booted):
                del ended[len(ended) - back - 1 :]
            return


def name_of(occurrence: Occurrence) -> Name | None:
    """The message that was received, if it was another node's."""
    entry = occurrence.entry
    if not isinstance(entry, Took) or entry.sender is None:
        return None
    match entry.letterhead:
        case Letterhead(incarnation, number):
            return (entry.sender, incarnation, occurrence.node, number)
    return None


def free(setting: Setting) -> Setting:
    """The setting of a merged run: no node is up at first, and messages may take any time."""
    return replace(
        setting, clock=Clock.UNBOUNDED, connections=Connections.OUTLIVE, start=Start.DOWN
    )


def merged(setting: Setting, records: Mapping[NodeId, Sequence[Occurrence]]) -> Trace:
    """One trace from the re-run records of all nodes, if nothing is missing in them."""
    merger = Merger(free(setting), records)
    if merger.strays:
        raise RecordError("a message was received that no record shows to have been sent")
    return merger.trace()


class Window(NamedTuple):
    """A part of a run, and the standings of the nodes that are up when it begins."""

    trace: Trace
    states: dict[NodeId, State]


def window(trace: Trace, begin: float, end: float) -> Window:
    """What happened from `begin` to `end`, in milliseconds; never before everything is known.

    A record whose oldest files are gone begins in the middle: what was before the last node's first
    known state is left out.
    """
    held = [n for n, step in enumerate(trace.steps) if is_held(step)]
    first = held[-1] + 1 if held else 0
    states: dict[NodeId, State] = {}
    inside: list[Step] = []
    for number, step in enumerate(trace.steps):
        if step.at > end:
            break
        if number >= first and step.at >= begin:
            inside.append(step)
            continue
        states.update({turn.node: turn.after for turn in step.turns})
        for node in (*step.torn, *step.happening.change.down):
            states.pop(node, None)
    return Window(Trace(trace.setting, tuple(inside)), states)


def is_held(step: Step) -> bool:
    """Whether a record begins here, in the middle of a life."""
    return isinstance(step.happening, Placed) and step.happening.is_up


# --- clocks of different machines side by side ---

ClockId = tuple[NodeId, int]
"""A node, and how often its clock had begun anew."""

SAMPLE = 64
"""The first messages of a channel are looked at, and then one in this many."""
TOLERANCE_MS = 1.0
"""So much earlier a message may seem to arrive on one machine: times are rounded."""


class Clocks:
    """How far the clock of each node is off from that of the first one."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, Name], tuple[ClockId, float]] = {}
        self._got: dict[tuple[str, Name], tuple[ClockId, float]] = {}
        self._numbering: defaultdict[tuple[str, NodeId], Numbering] = defaultdict(Numbering)
        self._spans: dict[ClockId, tuple[float, float]] = {}
        self.shifts: dict[ClockId, float] = {}
        """What to add to a time, once `settle` was called."""

    def see(self, instance: str, o: Occurrence) -> None:
        """Take in what an instance did at a node, one thing after the other."""
        clock = (o.node, o.clock)
        first, last = self._spans.get(clock, (o.at, o.at))
        self._spans[clock] = (min(first, o.at), max(last, o.at))
        name = name_of(o)
        if name is not None and _is_sampled(name):
            self._got[instance, name] = (clock, o.at)
        for _, sent in self._numbering[instance, o.node].sends(o):
            if sent is not None and _is_sampled(sent):
                self._sent[instance, sent] = (clock, o.at)

    def settle(self) -> None:
        """Find the shifts: none if everything fits one clock."""
        delays: dict[tuple[ClockId, ClockId], float] = {}
        for name, (receiver, got) in self._got.items():
            if name in self._sent:
                sender, sent = self._sent[name]
                delays[sender, receiver] = min(
                    got - sent, delays.get((sender, receiver), got - sent)
                )
        self.shifts = dict.fromkeys(self._spans, 0.0)
        if any(delay < -TOLERANCE_MS for delay in delays.values()):
            self._spread(delays)
        self._line_up()

    def _spread(self, delays: dict[tuple[ClockId, ClockId], float]) -> None:
        """Go from clock to clock along the messages."""
        linked: defaultdict[ClockId, set[ClockId]] = defaultdict(set)
        for one, other in delays:
            linked[one].add(other)
            linked[other].add(one)
        waiting = sorted(self._spans)
        known: set[ClockId] = set()
        while waiting:
            todo = [next((c for c in waiting if linked[c] & known), waiting[0])]
            while todo:
                here = todo.pop()
                if here not in known:
                    known.add(here)
                    waiting.remove(here)
                for there in sorted(linked[here] - known):
                    ahead, back = delays.get((here, there)), delays.get((there, here))
                    ways = [way for way in (ahead, back and -back) if way is not None]
                    self.shifts[there] = self.shifts[here] - sum(ways) / len(ways)
                    known.add(there)
                    waiting.remove(there)
                    todo.append(there)

    def _line_up(self) -> None:
        """A clock that has begun anew goes on where the one before has ended, at the earliest."""
        for node, turn in sorted(self._spans):
            before, here = self._spans.get((node, turn - 1)), self._spans[node, turn]
            if before is not None:
                end = before[1] + self.shifts[node, turn - 1]
                self.shifts[node, turn] = max(self.shifts[node, turn], end - here[0])

    def shifted(self, record: Iterable[Occurrence]) -> list[Occurrence]:
        """A record, by the common clock."""
        return [o._replace(at=o.at + self.shifts.get((o.node, o.clock), 0.0)) for o in record]

    def at(self, clock: ClockId, at: float) -> float:
        """A time of a node, by the common clock."""
        return at + self.shifts.get(clock, 0.0)


def _is_sampled(name: Name) -> bool:
    return name[3] <= SAMPLE or name[3] % SAMPLE == 0
