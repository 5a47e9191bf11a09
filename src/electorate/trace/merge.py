"""Records of single nodes, re-run and merged into one trace of the whole run.

Clocks of different nodes need not agree: a receipt is placed after its sending because it names
the message, and otherwise events are placed by the time that their own node gave them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from electorate.core import (
    Asked,
    Machine,
    NodeId,
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
from electorate.trace.record import Ended, Entry, Lived, RecordError, Scribe, Took
from electorate.trace.setting import Clock, Connections, Setting, Start
from electorate.trace.step import (
    Crashed,
    Delivered,
    Fired,
    Happening,
    Lost,
    Pressed,
    Recovered,
    Saw,
    Step,
    Trace,
    TurnRecord,
)

Name = tuple[NodeId, int, NodeId, int]
"""A message: its sender, the sender's life, its receiver, its number."""


class Occurrence(NamedTuple):
    """One entry of a record, re-run."""

    node: NodeId
    life: int
    at: float
    entry: Entry
    event: Any
    before: State | None
    turn: Turn | None
    kept: Stable | None = None
    """What was saved before; of an ended life nothing is said."""


def rerun(machine: Machine[Any], entries: Sequence[Entry]) -> list[Occurrence]:
    """Take a record's events again; a RecordError says where it does not come out the same."""
    turns, scribe = Turns(machine), Scribe(machine)
    found: list[Occurrence] = []
    state: State | None = None
    node = life = 0
    for number, entry in enumerate(entries, start=1):
        match entry:
            case Lived():
                node, life = entry.node, entry.incarnation
                event: Any = None
                kept = scribe.stable(entry)
                turn: Turn | None = turns.boot(node, kept)
            case Took():
                if state is None:
                    raise RecordError(f"entry {number}: an event before any boot")
                event, kept = scribe.event(entry), state.stable
                turn = turns.step(state, event)
            case Ended():
                event = turn = kept = None
        if turn is not None and not isinstance(entry, Ended) and text_of(turn.state) != entry.state:
            raise RecordError(
                f"entry {number} of node {node}: the record says {entry.state}, "
                f"re-running it gives {text_of(turn.state)}"
            )
        before = None if isinstance(entry, Lived) else state
        found.append(Occurrence(node, life, entry.at, entry, event, before, turn, kept))
        state = None if turn is None else turn.state
    return found


class Merger:
    """Puts the occurrences of all nodes in one order in which causes come first."""

    def __init__(self, setting: Setting, records: Mapping[NodeId, list[Occurrence]]) -> None:
        self._setting = setting
        self._records = {node: _with_ends(node, records) for node in records}
        everything = [o for record in self._records.values() for o in record]
        self._zero = min((o.at for o in everything), default=0.0)
        self._received = {name for o in everything if (name := _name_of(o)) is not None}
        self._uses_views = any(isinstance(o.event, Viewed) for o in everything)
        self._sent: set[Name] = set()
        self._flying: defaultdict[tuple[NodeId, NodeId], list[Name]] = defaultdict(list)
        self._numbers: defaultdict[tuple[NodeId, int, NodeId], int] = defaultdict(int)
        self._lived: set[NodeId] = set()
        self._views: dict[NodeId, frozenset[NodeId]] = {}
        self._latest: dict[NodeId, int] = {}
        self._steps: list[Step] = []

    def trace(self) -> Trace:
        """The run, as the simulator could play it with messages that take any time."""
        for occurrence in self._ordered():
            self._place(occurrence)
        while self._steps and isinstance(self._steps[-1].happening, Crashed):
            self._steps.pop()  # They were stopped together: the run is over, nobody failed.
        return Trace(self._setting, tuple(self._steps))

    def _ordered(self) -> Iterator[Occurrence]:
        """Always the earliest occurrence whose cause has been placed."""
        queues = {node: list(reversed(record)) for node, record in self._records.items() if record}
        while queues:
            ready = [(q[-1].at, node) for node, q in queues.items() if self._is_ready(q[-1])]
            if not ready:
                raise RecordError("a message was received that no record shows to have been sent")
            _, node = min(ready)
            yield queues[node].pop()
            if not queues[node]:
                del queues[node]

    def _is_ready(self, occurrence: Occurrence) -> bool:
        name = _name_of(occurrence)
        return name is None or name in self._sent

    def _place(self, occurrence: Occurrence) -> None:
        node, turn = occurrence.node, occurrence.turn
        if turn is None:
            self._end(occurrence)
            return
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
        lost = [self._sent_in_vain(occurrence, e) for e in turn.effects if isinstance(e, Send)]
        for loss in lost:
            if loss is not None:
                self._add(occurrence, loss)

    def _end(self, occurrence: Occurrence) -> None:
        """A life ends: between two steps, or before a step has had all its turns."""
        node, place = occurrence.node, self._latest[occurrence.node]
        step = self._steps[place]
        sends = [e.to for turn in step.turns for e in turn.effects if isinstance(e, Send)]
        first_view = self._uses_views and isinstance(step.happening, Recovered)
        if len(step.turns) == 1 + first_view + sends.count(node):
            self._add(occurrence, Crashed(node))
            return
        *whole, last = step.turns
        left = Counter(e.to for e in last.effects if isinstance(e, Send) and e.to != node)
        torn = replace(last, sent=tuple(sorted(left.items())))
        self._steps[place] = Step(step.at, step.happening, (*whole, torn))

    def _sent_in_vain(self, occurrence: Occurrence, effect: Send) -> Lost | None:
        """Bring a message on its way; one that nobody received is lost at once."""
        node, to = occurrence.node, effect.to
        if to == node:
            return None
        self._numbers[node, occurrence.life, to] += 1
        name = (node, occurrence.life, to, self._numbers[node, occurrence.life, to])
        self._sent.add(name)
        waiting = self._flying[node, to]
        if name not in self._received:
            return Lost(node, to, effect.message, place=len(waiting))
        waiting.append(name)
        return None

    def _happening(self, occurrence: Occurrence) -> Happening | None:
        node = occurrence.node
        match occurrence.event:
            case None:
                first = node not in self._lived
                self._lived.add(node)
                return Recovered(node, first)
            case Received(sender, _) if sender == node:
                return None
            case Received(sender, message):
                name = _name_of(occurrence)
                channel = self._flying[sender, node]
                if not channel or channel.pop(0) != name:
                    raise RecordError(f"node {node} received messages of {sender} out of order")
                return Delivered(sender, node, message)
            case TimedOut(timer):
                return Fired(node, timer)
            case Viewed(alive):
                before = self._views.get(node)
                self._views[node] = alive
                latest = self._steps[self._latest[node]]
                if isinstance(latest.happening, Recovered) and len(latest.turns) == 1:
                    return None
                return Saw(node, alive, before or alive)
            case Asked(request):
                return Pressed(node, request)
        raise RecordError(f"no such event: {occurrence.event!r}")

    def _add(self, occurrence: Occurrence, happening: Happening, *turns: TurnRecord) -> None:
        earliest = self._steps[-1].at if self._steps else 0
        at = max(earliest, round(occurrence.at - self._zero))
        self._steps.append(Step(at, happening, turns))


def _with_ends(node: NodeId, records: Mapping[NodeId, list[Occurrence]]) -> list[Occurrence]:
    """A node's record in which every life but the last has an end.

    A crash writes nothing down. It is placed where another node first missed this one, if that
    was between the last entry of the life and the first of the next, else after that last entry.
    An event is written down before its turn is saved; if the next life does not know of that
    turn, the crash came in between, and it never was, nor were the others of its wake-up.
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
        begins = isinstance(occurrence.entry, Lived)
        if begins:
            _forget_unsaved(ended, occurrence)
        if begins and ended and ended[-1].turn is not None:
            last = ended[-1]
            between = [at for at in missed if last.at <= at <= occurrence.at]
            at = min(between, default=last.at)
            ended.append(last._replace(at=at, entry=Ended(at), event=None, turn=None))
        ended.append(occurrence)
    return ended


def _forget_unsaved(ended: list[Occurrence], boot: Occurrence) -> None:
    """Drop the turns of a last wake-up that the next life does not know of."""
    if not ended or ended[-1].turn is None or ended[-1].turn.state.stable == boot.kept:
        return
    wake = _wake_of(ended[-1])
    unsaved = ended[:]
    while unsaved and unsaved[-1].turn is not None and _wake_of(unsaved[-1]) == wake:
        last = unsaved.pop()
        if not wake or isinstance(last.entry, Lived):
            break
    if last.kept == boot.kept:
        ended[:] = unsaved


def _wake_of(occurrence: Occurrence) -> int:
    return occurrence.entry.wake if isinstance(occurrence.entry, Took) else 0


def _name_of(occurrence: Occurrence) -> Name | None:
    entry = occurrence.entry
    if not isinstance(entry, Took) or entry.letterhead is None or entry.sender is None:
        return None
    head = entry.letterhead
    return (entry.sender, head.incarnation, occurrence.node, head.number)


def merged(setting: Setting, records: Mapping[NodeId, list[Occurrence]]) -> Trace:
    """One trace from the re-run records of all nodes, beginning with nobody started."""
    free = replace(
        setting, clock=Clock.UNBOUNDED, connections=Connections.OUTLIVE, start=Start.DOWN
    )
    return Merger(free, records).trace()
