"""Records of single nodes, re-run and merged into one trace of the whole run.

Clocks of different nodes need not agree: a receipt is placed after its sending because it names
the message, and otherwise events are placed by the time that their own node gave them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from electorate.core import (
    Asked,
    Machine,
    Message,
    NodeId,
    Received,
    Send,
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
                turn: Turn | None = turns.boot(node, scribe.stable(entry))
            case Took():
                if state is None:
                    raise RecordError(f"entry {number}: an event before any boot")
                event = scribe.event(entry)
                turn = turns.step(state, event)
            case Ended():
                event = turn = None
        if turn is not None and not isinstance(entry, Ended) and text_of(turn.state) != entry.state:
            raise RecordError(
                f"entry {number} of node {node}: the record says {entry.state}, "
                f"re-running it gives {text_of(turn.state)}"
            )
        before = None if isinstance(entry, Lived) else state
        found.append(Occurrence(node, life, entry.at, entry, event, before, turn))
        state = None if turn is None else turn.state
    return found


class Merger:
    """Puts the occurrences of all nodes in one order in which causes come first."""

    def __init__(self, setting: Setting, records: Mapping[NodeId, list[Occurrence]]) -> None:
        self._setting = setting
        self._records = records
        self._zero = min((o.at for r in records.values() for o in r), default=0.0)
        self._sent: set[Name] = set()
        self._flying: defaultdict[tuple[NodeId, NodeId], list[tuple[Name, Message]]] = defaultdict(
            list
        )
        self._numbers: defaultdict[tuple[NodeId, int, NodeId], int] = defaultdict(int)
        self._up: set[NodeId] = set()
        self._lived: set[NodeId] = set()
        self._views: dict[NodeId, frozenset[NodeId]] = {}
        self._steps: list[Step] = []

    def trace(self) -> Trace:
        """The run, as the simulator could play it with messages that take any time."""
        for occurrence in self._ordered():
            self._place(occurrence)
        return Trace(self._setting, tuple(self._steps))

    def _ordered(self) -> Iterator[Occurrence]:
        """Always the earliest occurrence whose cause has been placed."""
        queues = {node: list(reversed(record)) for node, record in self._records.items() if record}
        while queues:
            ready = [(q[-1].at, node) for node, q in queues.items() if self._is_ready(q[-1])]
            if not ready:
                # A sender's record that was cut short: take its receipts as they come.
                ready = [(q[-1].at, node) for node, q in queues.items()]
            _, node = min(ready)
            yield queues[node].pop()
            if not queues[node]:
                del queues[node]

    def _is_ready(self, occurrence: Occurrence) -> bool:
        name = _name_of(occurrence)
        return name is None or name in self._sent or name[0] not in self._records

    def _place(self, occurrence: Occurrence) -> None:
        node = occurrence.node
        if isinstance(occurrence.entry, Ended | Lived) and node in self._up:
            self._up.discard(node)
            self._add(occurrence, Crashed(node), ())
        if occurrence.turn is None:
            return
        happening = self._happening(occurrence)
        turn = occurrence.turn
        record = TurnRecord(node, occurrence.before, turn.state, turn.effects)
        if happening is None:
            # The first view belongs to the boot, and a message to oneself to the turn before.
            last = self._steps[-1]
            self._steps[-1] = Step(last.at, last.happening, (*last.turns, record))
        else:
            self._add(occurrence, happening, (record,))
        for effect in turn.effects:
            if isinstance(effect, Send) and effect.to != node:
                self._numbers[node, occurrence.life, effect.to] += 1
                number = self._numbers[node, occurrence.life, effect.to]
                name = (node, occurrence.life, effect.to, number)
                self._sent.add(name)
                self._flying[node, effect.to].append((name, effect.message))

    def _happening(self, occurrence: Occurrence) -> Happening | None:
        node = occurrence.node
        match occurrence.event:
            case None:
                self._up.add(node)
                first = node not in self._lived
                self._lived.add(node)
                return Recovered(node, first)
            case Received(sender, _) if sender == node:
                return None
            case Received(sender, message):
                self._lose_overtaken(occurrence)
                return Delivered(sender, node, message)
            case TimedOut(timer):
                return Fired(node, timer)
            case Viewed(alive):
                before = self._views.get(node)
                self._views[node] = alive
                started = isinstance(self._steps[-1].happening, Recovered)
                if started and occurrence.before == self._steps[-1].turns[-1].after:
                    return None
                return Saw(node, alive, before or alive)
            case Asked(request):
                return Pressed(node, request)
        raise RecordError(f"no such event: {occurrence.event!r}")

    def _lose_overtaken(self, occurrence: Occurrence) -> None:
        """On a channel that keeps its order, what came before a receipt and never came is lost."""
        name = _name_of(occurrence)
        assert name is not None
        channel = self._flying[name[0], name[2]]
        while channel and channel[0][0] != name:
            _, message = channel.pop(0)
            self._add(occurrence, Lost(name[0], name[2], message), ())
        if not channel:
            raise RecordError(f"node {name[2]} received a message that {name[0]} never sent")
        channel.pop(0)

    def _add(
        self, occurrence: Occurrence, happening: Happening, turns: tuple[TurnRecord, ...]
    ) -> None:
        earliest = self._steps[-1].at if self._steps else 0
        at = max(earliest, round(occurrence.at - self._zero))
        self._steps.append(Step(at, happening, turns))


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
