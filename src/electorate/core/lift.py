"""One machine inside another: the mandate over any election, recovery over any election.

The outer machine keeps the inner state in a field of its own state and hands over the events
that are meant for it. The lift wraps the inner messages, requests and timers so that the two
never mix, also the timer that an inner Standing names in `until`; a `Viewed` is for both.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from electorate.core.effect import CancelTimer, Effect, Send, SetTimer
from electorate.core.event import Asked, Event, Received, TimedOut, Viewed
from electorate.core.machine import Machine, Result, Timer
from electorate.core.standing import Standing
from electorate.core.value import Message, NodeId, Request, Stable, State


class Lift:
    """Carries an inner machine across the border to the outer one."""

    def __init__(self, inner: Machine[Any], name: str = "inner") -> None:
        self.inner = inner
        self.prefix = f"{name}."
        self.messages: tuple[type[Message], ...] = ()
        self.requests: tuple[type[Request], ...] = ()
        if inner.messages:
            self.messages = (_wrapper(f"{name}.message", Message, "message", inner.messages),)
        if inner.requests:
            self.requests = (_wrapper(f"{name}.request", Request, "request", inner.requests),)
        self.timers = tuple(Timer(self.prefix + t.name, t.periodic) for t in inner.timers)

    def boot(self, me: NodeId, stable: Stable | None) -> Result[Any]:
        """Boot the inner machine; its effects are lifted."""
        state, effects = self.inner.boot(me, stable)
        return state, self.raised(effects)

    def step(self, state: State, event: Event) -> Result[Any]:
        """Let the inner machine take the event, if it is meant for it."""
        lowered = self.lowered(event)
        if lowered is None:
            return state, []
        state, effects = self.inner.step(state, lowered)
        return state, self.raised(effects)

    def view(self, state: State) -> Standing:
        """What the inner machine lets be seen; `until` names the lifted timer."""
        view = self.inner.view(state)
        if view.until is None:
            return view
        return msgspec.structs.replace(view, until=self.prefix + view.until)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        """The inner machine's open requests, wrapped."""
        if view.until is not None:
            view = msgspec.structs.replace(view, until=view.until.removeprefix(self.prefix))
        return tuple(self.requests[0](request) for request in self.inner.may_ask(view))

    def lowered(self, event: Event) -> Event | None:
        """The event as the inner machine knows it; None if it is the outer machine's own."""
        match event:
            case Received(sender, message) if isinstance(message, self.messages):
                return Received(sender, message.message)  # type: ignore[attr-defined]
            case Asked(request) if isinstance(request, self.requests):
                return Asked(request.request)  # type: ignore[attr-defined]
            case TimedOut(timer) if timer.startswith(self.prefix):
                return TimedOut(timer.removeprefix(self.prefix))
            case Viewed():
                return event
            case _:
                return None

    def raised(self, effects: Iterable[Effect]) -> list[Effect]:
        """The inner machine's orders as the driver will know them."""
        return [self._raise(effect) for effect in effects]

    def _raise(self, effect: Effect) -> Effect:
        match effect:
            case Send(to, message):
                return Send(to, self.messages[0](message))
            case SetTimer(timer, after, jitter):
                return SetTimer(self.prefix + timer, after, jitter)
            case CancelTimer(timer):
                return CancelTimer(self.prefix + timer)

    def silenced(self) -> list[Effect]:
        """Orders that stop the inner machine: all its timers are cancelled."""
        return [CancelTimer(timer.name) for timer in self.timers]


def _wrapper(name: str, kind: type[Any], field: str, inside: tuple[type[Any], ...]) -> type[Any]:
    """A message or request type that carries one of the inner ones, strictly decoded."""
    union = reduce(or_, inside)
    return msgspec.defstruct(name, [(field, union)], bases=(kind,), tag=name)
