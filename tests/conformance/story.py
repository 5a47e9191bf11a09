"""The story of a run: the lives of all probes, as their states tell them.

A driver says only which states its nodes went through, and when. What a node was handed is read
off the state (its last fact), and what it ordered is what the machine orders in that case.
"""

from collections.abc import Iterator
from typing import NamedTuple

from electorate.core import Effect, Event, NodeId, Received, Viewed
from electorate.trace import (
    Connections,
    Crashed,
    Paused,
    Recovered,
    Resumed,
    Setting,
    Start,
    Trace,
)
from tests.conformance.probe import Kept, Note, Probe, ProbeState, echoes_of, event_of, find


class Moment(NamedTuple):
    """One turn of a node."""

    order: float
    """Its place among all turns of the run."""
    at: float
    """The driver's clock when the event was taken up."""
    event: Event | None
    """None for a boot."""
    before: ProbeState | None
    state: ProbeState
    due: ProbeState
    """The state that it should have led to."""
    effects: tuple[Effect, ...]


class Life:
    """The turns of one node from a boot to a crash."""

    def __init__(self, machine: Probe, node: NodeId, opened: float) -> None:
        self.node = node
        self.opened = opened
        """Since when messages may reach this life."""
        self.moments: list[Moment] = []
        self.crashed = False
        self.unsaved = False
        """Whether the crash may have come before its last turn was saved."""
        self._machine = machine

    def take(self, order: float, at: float, state: ProbeState, before: ProbeState | None) -> None:
        """Add a turn that led to this state."""
        event = event_of(state.facts[-1]) if state.facts else None
        if event is None or before is None:
            due, effects = self._machine.boot(self.node, state.kept)
        else:
            due, effects = self._machine.step(before, event)
        self.moments.append(Moment(order, at, event, before, state, due, tuple(effects)))

    @property
    def kept(self) -> Kept | None:
        """What it booted with."""
        return self.moments[0].state.kept

    @property
    def number(self) -> int:
        """Which life of its node it takes itself for."""
        return self.moments[0].state.stable.life

    def __str__(self) -> str:
        return f"life {self.number} of node {self.node}"


class Departure(NamedTuple):
    """A note that left, and what was durable at its sender by then."""

    sender: NodeId
    note: Note
    durable: Kept | None


class Run:
    """One run of a cluster of probes, and what may be expected of it."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        machine = setting.machine(*find(setting.protocol))
        assert isinstance(machine, Probe)
        self.machine = machine
        self.lives: list[Life] = []
        self.departures: list[Departure] = []
        self.trace: Trace | None = None
        """The driver's own record."""
        self.timed = True
        """Whether the driver's clock says when a turn was."""
        self.keeps_time = True
        """Whether a timer that is due fires at once, unless its node is paused."""
        self.pauses: list[tuple[NodeId, float, float]] = []
        self.grain = 0.0
        """The driver's clock is off by at most this."""
        self.saving = 0.0
        """How long the driver takes to save."""
        self.doubles = False
        self.loses = False

    @property
    def dies(self) -> bool:
        """Whether messages die with their connection."""
        return self.setting.connections is Connections.DIE

    def lives_of(self, node: NodeId) -> list[Life]:
        """The lives of one node, in their order."""
        return [life for life in self.lives if life.node == node]

    def begin(self, node: NodeId, opened: float) -> Life:
        """A life begins."""
        life = Life(self.machine, node, opened)
        self.lives.append(life)
        return life


def told(trace: Trace) -> Run:
    """The story in the record of a driver that steps from one state to the next."""
    run = Run(trace.setting)
    run.trace = trace
    present: dict[NodeId, Life] = {}
    paused: dict[NodeId, int] = {}
    if trace.setting.start is Start.BOOT:
        for node in trace.setting.ids:
            life = present[node] = run.begin(node, -1.0)
            before = None
            for state in first_states(run.machine, node):
                life.take(-1.0, 0.0, state, before)
                before = state
    for number, step in enumerate(trace.steps):
        match step.happening:
            case Crashed(node):
                present.pop(node).crashed = True
            case Recovered(node):
                present[node] = run.begin(node, number)
            case Paused(node):
                paused[node] = step.at
            case Resumed(node):
                run.pauses.append((node, paused.pop(node), step.at))
        for place, turn in enumerate(step.turns):
            life = present[turn.node]
            assert isinstance(turn.after, ProbeState)
            assert turn.before is None or isinstance(turn.before, ProbeState)
            life.take(number + place / 1000, step.at, turn.after, turn.before)
            if turn.sent is not None:
                present.pop(turn.node).crashed = True
    return run


def first_states(machine: Probe, node: NodeId) -> Iterator[ProbeState]:
    """What a node goes through before anything happens to it: boot, first view, echoes."""
    state, effects = machine.boot(node, None)
    yield state
    coming: list[Event] = [Viewed(frozenset(machine.members.ids))]
    coming += (Received(node, echo) for echo in echoes_of(effects))
    while coming:
        state, effects = machine.step(state, coming.pop(0))
        coming += (Received(node, echo) for echo in echoes_of(effects))
        yield state
