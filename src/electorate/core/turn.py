"""The driver's port: verified, memoised turns of one machine.

Every driver takes its turns here. What a machine returns is checked once per (state, event),
so that a faulty protocol file is told apart from a broken claim: it raises, forgets, mutates,
rolls dice or writes to strangers, and the error names the protocol, the state and the event.
"""

from collections.abc import Callable
from typing import Any

from electorate.core.effect import CancelTimer, Effect, Send, SetTimer
from electorate.core.event import Event, Viewed
from electorate.core.machine import Machine
from electorate.core.standing import Standing
from electorate.core.value import NodeId, Stable, State, Value, text_of

TURNS_MAX = 1_000_000
"""A memo that has grown this large is started afresh: it saves time, nothing depends on it."""


class ProtocolError(Exception):
    """A protocol file broke the contract."""

    def __init__(self, machine: Machine[Any], where: str, problem: str) -> None:
        super().__init__(f"{type(machine).__name__}: {problem} ({where})")


class Turn(Value):
    """What came of one event: the new state, and orders in the order to carry them out."""

    state: State
    effects: tuple[Effect, ...]


class Turns:
    """The turns of one machine, each computed and verified once."""

    def __init__(self, machine: Machine[Any]) -> None:
        self.machine = machine
        self.calls = 0
        self._steps: dict[tuple[State, Event], Turn] = {}
        self._views: dict[State, Standing] = {}
        self._timers = frozenset(timer.name for timer in machine.timers)

    def boot(self, me: NodeId, stable: Stable | None) -> Turn:
        """The first turn of a life."""
        where = f"boot of node {me} with stable {text_of(stable)}"
        return self._verified(where, stable, lambda: self.machine.boot(me, stable))

    def step(self, state: State, event: Event) -> Turn:
        """The turn that `event` leads to in `state`."""
        known = self._steps.get((state, event))
        if known is None:
            if len(self._steps) >= TURNS_MAX:
                self._steps.clear()
            where = f"state {text_of(state)}, event {text_of(event)}"
            known = self._verified(where, state, lambda: self.machine.step(state, event))
            self._steps[state, event] = known
        return known

    def view(self, state: State) -> Standing:
        """What the application sees in `state`."""
        known = self._views.get(state)
        if known is None:
            where = f"state {text_of(state)}, view"
            try:
                known = self.machine.view(state)
            except Exception as error:
                raise self._fault(where, _raised("view", error)) from error
            if not isinstance(known, Standing):
                raise self._fault(where, f"view returned {known!r} instead of a Standing")
            if len(self._views) >= TURNS_MAX:
                self._views.clear()
            self._views[state] = known
        return known

    def life(self, me: NodeId, stable: Stable | None, alive: frozenset[NodeId]) -> list[Turn]:
        """A boot and, where the machine uses views, the view that follows it."""
        booted = self.boot(me, stable)
        if not self.machine.uses_views:
            return [booted]
        return [booted, self.step(booted.state, Viewed(alive))]

    def _verified(self, where: str, given: object, run: Callable[[], object]) -> Turn:
        """Run a handler twice and hold both results against the contract."""
        self.calls += 1
        before = text_of(given)
        results: list[Turn] = []
        for _ in range(2):
            try:
                result = run()
            except Exception as error:
                raise self._fault(where, _raised("the handler", error)) from error
            if text_of(given) != before:
                raise self._fault(where, f"the handler changed its input, now {text_of(given)}")
            results.append(self._shaped(where, result))
        if results[0] != results[1]:
            raise self._fault(where, "called twice, the handler answered differently")
        return results[0]

    def _shaped(self, where: str, result: object) -> Turn:
        match result:
            case (state, list() | tuple() as effects):
                pass
            case _:
                raise self._fault(where, f"returned {result!r} instead of (state, effects)")
        if not isinstance(state, self.machine.state_type):
            wanted = self.machine.state_type.__qualname__
            raise self._fault(where, f"returned the state {state!r}, which is not a {wanted}")
        if not isinstance(state.stable, self.machine.stable_type):
            raise self._fault(where, f"state.stable is {state.stable!r}")
        for effect in effects:
            self._verify_effect(where, effect)
        try:
            hash((state, *effects))
        except TypeError as error:
            raise self._fault(where, f"returned something that can change: {error}") from None
        return Turn(state, tuple(effects))

    def _verify_effect(self, where: str, effect: object) -> None:
        match effect:
            case Send(to, _) if to not in self.machine.members.ids:
                raise self._fault(where, f"sends to {to!r}, which is not a member")
            case Send(_, message) if type(message) not in self.machine.messages:
                raise self._fault(where, f"sends {message!r}, which is not a declared message")
            case SetTimer(timer) | CancelTimer(timer) if timer not in self._timers:
                raise self._fault(where, f"uses the timer {timer!r}, which is not declared")
            case SetTimer(timer, after, jitter) if not _is_duration(after, jitter):
                raise self._fault(where, f"sets {timer} to {after!r} with jitter {jitter!r}")
            case Send() | SetTimer() | CancelTimer():
                return
            case _:
                raise self._fault(where, f"returned the effect {effect!r}")

    def _fault(self, where: str, problem: str) -> ProtocolError:
        return ProtocolError(self.machine, where, problem)


def _is_duration(*numbers: object) -> bool:
    return all(isinstance(number, int) and number >= 0 for number in numbers)


def _raised(what: str, error: Exception) -> str:
    return f"{what} raised {type(error).__name__}: {error}"
