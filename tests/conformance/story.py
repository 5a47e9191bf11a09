"""The story of a run: the lives of all probes, as their states tell them.

A driver says only which states its nodes went through, and when. What a node was handed is read
off the state (its last fact), and what it ordered is what the machine orders in that case.
"""

from functools import cache
from typing import NamedTuple

from electorate.core import Asked, Effect, Event, NodeId, Received, State, Turns
from electorate.trace import (
    Connections,
    Crashed,
    Paused,
    Recovered,
    Resumed,
    Setting,
    Start,
    Step,
    Trace,
)
from tests.conformance.probe import (
    Kept,
    Note,
    ProbeState,
    Speak,
    echoes_of,
    event_of,
    find,
)


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
    due: State
    """The state that it should have led to."""
    effects: tuple[Effect, ...]


class Life:
    """The turns of one node from a boot to a crash."""

    def __init__(self, turns: Turns, node: NodeId, opened: float) -> None:
        self.node = node
        self.opened = opened
        """Since when messages may reach this life."""
        self.moments: list[Moment] = []
        self.crashed = False
        self.unsaved = 0
        """How many of its last turns the crash may have kept from being saved, all or none."""
        self._turns = turns

    def take(self, order: float, at: float, state: ProbeState, before: ProbeState | None) -> None:
        """Add a turn that led to this state."""
        event = event_of(state.facts[-1]) if state.facts else None
        if event is None or before is None:
            due = self._turns.boot(self.node, state.kept)
        else:
            due = self._turns.step(before, event)
        self.moments.append(Moment(order, at, event, before, state, due.state, due.effects))

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


class Pause(NamedTuple):
    """A node stood still."""

    node: NodeId
    order: float
    order_end: float
    at: float
    at_end: float


class Departure(NamedTuple):
    """A note that left, and what was durable at its sender by then."""

    sender: NodeId
    note: Note
    durable: Kept | None


class Run:
    """One run of a cluster of probes, and what may be expected of it."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.turns = turns_of(setting)
        self.lives: list[Life] = []
        self.departures: list[Departure] = []
        self.trace: Trace | None = None
        """The driver's own record."""
        self.problem = "there is no record"
        """Why there is none."""
        self.timed = True
        """Whether the driver's clock says when a turn was."""
        self.stepped = True
        """Whether the driver steps from one happening to the next: none comes late of itself."""
        self.pauses: list[Pause] = []
        self.grain = 0.0
        """The driver's clock is off by at most this."""
        self.saving = 0.0
        """How long the driver takes to save."""
        self.mishaps = False
        """Whether messages may be lost or doubled on their way."""
        self.torn: list[tuple[int, ...]] = []
        """Of speeches that a crash fell into: how many notes to each other node left."""

    @property
    def dies(self) -> bool:
        """Whether messages die with their connection."""
        return self.setting.connections is Connections.DIE

    def lives_of(self, node: NodeId) -> list[Life]:
        """The lives of one node, in their order."""
        return [life for life in self.lives if life.node == node]

    def begin(self, node: NodeId, opened: float) -> Life:
        """A life begins."""
        life = Life(self.turns, node, opened)
        self.lives.append(life)
        return life


@cache
def turns_of(setting: Setting) -> Turns:
    """The turns of a probe, worked out apart from any driver."""
    return Turns(setting.machine(*find(setting.protocol)))


def told(trace: Trace) -> Run:
    """The story in the record of a driver that steps from one state to the next."""
    return _Teller(trace).run


class _Teller:
    """Goes through a trace."""

    def __init__(self, trace: Trace) -> None:
        self.run = Run(trace.setting)
        self.run.trace = trace
        self._present: dict[NodeId, Life] = {}
        self._paused: dict[NodeId, tuple[int, Step]] = {}
        if trace.setting.start is Start.BOOT:
            for node in trace.setting.ids:
                self._begin(node)
        for number, step in enumerate(trace.steps):
            self._tell(number, step)
        for node in list(self._paused):
            self._resume(node, len(trace.steps), trace.steps[-1])

    def _begin(self, node: NodeId) -> None:
        """What a node goes through before a run begins: boot, first view, echoes."""
        life = self._present[node] = self.run.begin(node, -1.0)
        turns = self.run.turns
        told = turns.life(node, None, frozenset(self.run.setting.ids))
        echoes = echoes_of(told[0].effects)
        while echoes:
            told.append(turns.step(told[-1].state, Received(node, echoes.pop(0))))
            echoes += echoes_of(told[-1].effects)
        before = None
        for turn in told:
            life.take(-1.0, 0.0, _probe(turn.state), before)
            before = _probe(turn.state)

    def _tell(self, number: int, step: Step) -> None:
        match step.happening:
            case Crashed(node):
                self._crash(node, number, step)
            case Recovered(node):
                self._present[node] = self.run.begin(node, number)
            case Paused(node):
                self._paused[node] = number, step
            case Resumed(node):
                self._resume(node, number, step)
        for place, turn in enumerate(step.turns):
            life = self._present[turn.node]
            before = None if turn.before is None else _probe(turn.before)
            life.take(number + place / 1000, step.at, _probe(turn.after), before)
            if turn.sent is not None:
                self._crash(turn.node, number, step)
                if life.moments[-1].event == Asked(Speak()):
                    self.run.torn.append(tuple(count for _, count in turn.sent))

    def _crash(self, node: NodeId, number: int, step: Step) -> None:
        self._present.pop(node).crashed = True
        if node in self._paused:
            self._resume(node, number, step)

    def _resume(self, node: NodeId, number: int, step: Step) -> None:
        order, began = self._paused.pop(node)
        self.run.pauses.append(Pause(node, order, number, began.at, step.at))


def _probe(state: State) -> ProbeState:
    assert isinstance(state, ProbeState)
    return state
