"""A simulated cluster whose hosts are compared with the ensemble, event by event.

What a host does with its register and with one of its elections is followed by a state of
`FirstStart`: every event that an instance takes is given to that part of it, and has to lead both
to the same state. What a wire brings comes to the ensemble as the sweep that tells a part.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from electorate.core import (
    Asked,
    Event,
    Lift,
    Machine,
    Members,
    NodeId,
    Received,
    Stable,
    State,
    TimedOut,
)
from electorate.leadership.election import PREFIX, Machines
from electorate.leadership.founding import FOUNDING, founding_machine
from electorate.leadership.register import MEMBERS, register_machine
from electorate.pace import Pace
from electorate.protocols.leadership import FirstStart
from electorate.testing.engine import SimulatedEngine
from electorate.trace.record import Letterhead

SWEEP = TimedOut("election.told")


class Otherwise(AssertionError):
    """A host does not do what the ensemble does."""


@dataclass
class Watch:
    """What the hosts of a cluster have done."""

    machine: FirstStart
    told: int = 0
    """How often a wire has brought something."""
    taken: int = 0
    """How many events were compared."""
    hosts: "dict[NodeId, WatchedHost]" = field(default_factory=dict)
    """The last life of each."""
    on_change: Callable[[NodeId], None] | None = None
    """Called at a host whose register has just saved another list."""

    def changed(self, node: NodeId) -> None:
        """Let who wants to know that the register of a node has saved another list."""
        if self.on_change is not None:
            asyncio.get_running_loop().call_soon(self.on_change, node)

    def expect_nobody_behind(self) -> None:
        """After a while in which nothing was saved, sweeps have told all elections everything."""
        for node, host in self.hosts.items():
            for name, state in host.elections.items():
                if self.machine.step(state, SWEEP)[0].election != state.election:
                    raise Otherwise(f"{name} at {node} was never told the list")


class WatchedHost:
    """In place of the recorder of a host: sees what all its instances go through."""

    failure = ""

    def __init__(self, watch: Watch, me: NodeId) -> None:
        self._watch = watch
        self._me = me
        self._founding: Any = None
        self._members: Any = None
        self.elections: dict[str, Any] = {}
        """Each with the register, as the ensemble has them."""
        watch.hosts[me] = self

    def instance(self, name: str, sent: Callable[[], Mapping[NodeId, int]]) -> "Watched":
        """The writer of an instance."""
        return Watched(self, name)

    def begin(self, *about: object) -> None:
        """A life begins."""

    def know(self, names: Mapping[NodeId, str]) -> None:
        """More is known about names."""

    def flush(self) -> None:
        """Something is about to leave the host."""

    def close(self) -> None:
        """It is over."""

    # --- what instances tell ---

    def booted(self, name: str, state: Any) -> None:
        """An instance begins a life; what it has to be told is due."""
        machine = self._watch.machine
        if name == FOUNDING:
            self._founding = state
        elif name == MEMBERS:
            self._members = state
            self.elections.clear()
        elif name.startswith(PREFIX):
            kept: Any = machine.stable_type
            kind: Any = machine.state_type
            parts = {"founding": self._founding, "members": self._members, "election": state}
            stable = kept(**{part: each.stable for part, each in parts.items()})
            self.elections[name] = kind(self._me, stable=stable, due=frozenset({1}), **parts)

    def halted(self, name: str) -> None:
        """A life of an instance has ended."""
        self.elections.pop(name, None)

    def took(self, name: str, event: Event, state: State, source: str | None) -> None:
        """An instance has taken this event, and come to that state."""
        if name == FOUNDING:
            self._founding = state
            for election in self.elections:
                self._compare(election, FOUNDING, event, state, source)
        elif name == MEMBERS:
            before, self._members = self._members.stable, state
            if before.inner.roster != self._members.stable.inner.roster:
                self._watch.changed(self._me)
            for election in self.elections:
                self._compare(election, "members", event, state, source)
        elif name in self.elections:
            self._compare(name, "election", event, state, source)

    def _compare(
        self, election: str, part: str, event: Event, state: State, source: str | None
    ) -> None:
        watch, before = self._watch, self.elections[election]
        lift = watch.machine.lifts[part]
        watch.taken += 1
        watch.told += source is not None
        if source is not None:
            after, _ = watch.machine.step(before, TimedOut(f"{part}.told"))
        else:
            after, _ = watch.machine.take(before, part, _raised(lift, event))
        if getattr(after, part) != state:
            how = "by a wire" if source else f"by {event}"
            raise Otherwise(f"{election} at {self._me}: {part} comes to another state {how}")
        self.elections[election] = after


class Watched:
    """The writer of one instance."""

    def __init__(self, host: WatchedHost, name: str) -> None:
        self._host = host
        self._name = name

    def ruled(self, machine: Machine[Any], cluster: str) -> None:
        """It runs this machine."""

    def booted(self, stable: Stable | None, state: State) -> None:
        """A life begins."""
        self._host.booted(self._name, state)

    def took(
        self,
        event: Event,
        state: State,
        letterhead: Letterhead | None = None,
        source: str | None = None,
    ) -> None:
        """An event was taken."""
        self._host.took(self._name, event, state, source)

    def halted(self) -> None:
        """The life ends as a crash would."""
        self._host.halted(self._name)

    def ended(self, *, over: bool) -> None:
        """The life ends."""
        self._host.halted(self._name)

    def go_on(self) -> None:
        """The next life of its host begins."""


def watching(watch: Watch) -> type[SimulatedEngine]:
    """Nodes of a simulated cluster whose hosts are watched."""

    class WatchedEngine(SimulatedEngine):
        def __init__(self, *told: Any, **more: Any) -> None:
            super().__init__(*told, **more)
            recorder: Any = WatchedHost(watch, self.me.id)
            self.host.recorder = recorder

    return WatchedEngine


def ensemble(pace: Pace) -> FirstStart:
    """What a node at this pace runs, as one machine."""
    rules: Any = FirstStart.form("sound")
    register, election = register_machine(pace), Machines(pace).of_elections.machine
    founding = founding_machine(pace)
    parts = {
        "founding": founding.rules,
        "members": register.rules,
        "election": election.rules,
    }
    return FirstStart(Members.open("highest"), pace.timing, type(rules)(**parts))


def _raised(lift: Lift, event: Event) -> Event:
    """The event as the ensemble knows it."""
    match event:
        case Received(sender, message):
            wrapped: Any = lift.messages[0]
            return Received(sender, wrapped(message))
        case Asked(request):
            return Asked(lift.request(request))
        case TimedOut(timer):
            return TimedOut(f"{lift.name}.{timer}")
    return event
