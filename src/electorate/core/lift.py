"""One machine inside another: the mandate over any election, recovery over any election.

The outer machine keeps the inner state in a field of its own state, and the inner stable part
in a field of its own stable part. The lift moves events in and effects out, and wraps the inner
messages, requests and timers so that the two machines never mix them up, also the timer that an
inner Standing names in `until`. A `Viewed` is for both.

    class OuterStable(Stable, Generic[Kept]):
        inner: Kept

    class OuterState(State, Generic[Inner, Kept]):
        stable: OuterStable[Kept]
        inner: Inner

A protocol that runs over another one, whichever is put in, as in `ThreePhase.over(Bully)`, is an
`Over`. What `over` returns is a machine class like any other: it is built from members, timing and
rules, and its rules hold those of the inner machine, named `inner.guard`.
"""

from collections.abc import Hashable, Iterable, Mapping
from functools import cache, reduce
from operator import or_
from types import new_class
from typing import Any, ClassVar

import msgspec

from electorate.core.event import (
    Asked,
    CancelTimer,
    Effect,
    Event,
    Received,
    Send,
    SetTimer,
    TimedOut,
    Viewed,
)
from electorate.core.machine import Assumption, Machine, Result, S, Timer, Topic
from electorate.core.member import Members
from electorate.core.rule import Rules
from electorate.core.standing import Standing
from electorate.core.timing import Timing
from electorate.core.value import Message, NodeId, Request, Stable, State


class Lift:
    """Carries an inner machine across the border to the outer one.

    `name` is the field that holds the inner state and the inner stable part, and the prefix of the
    inner rules and timers.
    """

    def __init__(self, inner: Machine[Any], name: str = "inner") -> None:
        self.inner = inner
        self.name = name
        self.messages = _wrapped(f"{name}.message", Message, "message", inner.messages)
        self.requests = _wrapped(f"{name}.request", Request, "request", inner.requests)
        self.timers = tuple(Timer(self._outside(t.name), t.periodic) for t in inner.timers)
        self.tells = inner.tells - {Topic.DECISIONS, Topic.CHOICES, Topic.NEWCOMERS}
        """What a standing tells of anyway: not whether the inner one is of another type."""

    def declare(self, outer: Machine[Any]) -> None:
        """Add the inner machine's declarations to the outer ones, in the outer constructor."""
        outer.messages = (*outer.messages, *self.messages)
        outer.requests = (*outer.requests, *self.requests)
        outer.timers = (*outer.timers, *self.timers)
        outer.uses_views = outer.uses_views or self.inner.uses_views
        outer.growing = (*outer.growing, *(self._outside(name) for name in self.inner.growing))
        state_type: Any = outer.state_type
        stable_type: Any = outer.stable_type
        outer.state_type = state_type[self.inner.state_type, self.inner.stable_type]
        outer.stable_type = stable_type[self.inner.stable_type]

    def boot(self, me: NodeId, stable: Stable | None) -> Result[Any]:
        """Boot the inner machine from the outer stable part; returns the *inner* state."""
        kept = None if stable is None else getattr(stable, self.name)
        state, effects = self.inner.boot(me, kept)
        return state, self._raised(effects)

    def step(self, s: S, event: Event) -> Result[S]:
        """Let the inner machine take the event, if it is meant for it."""
        lowered = self._lowered(event)
        if lowered is None:
            return s, []
        inner, effects = self.inner.step(getattr(s, self.name), lowered)
        return self.into(s, inner), self._raised(effects)

    def into(self, s: S, inner: State) -> S:
        """The outer state with this inner state in it, and with the inner stable part."""
        stable = msgspec.structs.replace(s.stable, **{self.name: inner.stable})
        return msgspec.structs.replace(s, stable=stable, **{self.name: inner})

    def task(self, s: State) -> Hashable:
        """How far the inner machine knows its work to be."""
        return self.inner.task(getattr(s, self.name))

    def view(self, s: State) -> Standing:
        """What the inner machine shows; `until` names the lifted timer."""
        view = self.inner.view(getattr(s, self.name))
        if view.until is None:
            return view
        return msgspec.structs.replace(view, until=self._outside(view.until))

    def offices(self, s: State) -> tuple[str, ...]:
        """The timers that end offices of the inner machine."""
        state = getattr(s, self.name)
        return tuple(map(self._outside, self.inner.offices(state, self.inner.view(state))))

    def offers(self, s: State, view: Standing) -> tuple[Request, ...]:
        """What may be asked of the inner machine in this state, wrapped; `view` is as it says."""
        inside = self._view_inside(view)
        return tuple(map(self.request, self.inner.offers(getattr(s, self.name), inside)))

    def is_for(self, event: Event) -> bool:
        """Whether the inner machine is to take this event."""
        return self._lowered(event) is not None

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        """The inner machine's open requests, wrapped; `view` is what `view` returned."""
        return tuple(map(self.request, self.inner.may_ask(self._view_inside(view))))

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        """What the application owes the inner machine, wrapped."""
        return tuple(map(self.request, self.inner.must_ask(self._view_inside(view))))

    def request(self, request: Request) -> Request:
        """A request to the inner machine as one to the outer machine."""
        wrapped: Request = self.requests[0](request)
        return wrapped

    def _view_inside(self, view: Standing) -> Standing:
        if view.until is None:
            return view
        return msgspec.structs.replace(view, until=self._inside(view.until))

    def silenced(self) -> list[Effect]:
        """Orders that stop the inner machine: all its timers are cancelled."""
        return [CancelTimer(timer.name) for timer in self.timers]

    def _outside(self, timer: str) -> str:
        return f"{self.name}.{timer}"

    def _inside(self, timer: str) -> str:
        return timer.removeprefix(f"{self.name}.")

    def _lowered(self, event: Event) -> Event | None:
        """The event as the inner machine knows it; None if it is the outer machine's own."""
        match event:
            case Received(sender, message) if isinstance(message, self.messages):
                return Received(sender, message.message)
            case Asked(request) if isinstance(request, self.requests):
                return Asked(request.request)
            case TimedOut(timer) if self._inside(timer) != timer:
                return TimedOut(self._inside(timer))
            case Viewed() if self.inner.uses_views:
                return event
            case _:
                return None

    def _raised(self, effects: Iterable[Effect]) -> list[Effect]:
        """The inner machine's orders as the driver will know them."""
        return [self._raise(effect) for effect in effects]

    def _raise(self, effect: Effect) -> Effect:
        match effect:
            case Send(to, message):
                return Send(to, self.messages[0](message))
            case SetTimer(timer, after, jitter):
                return SetTimer(self._outside(timer), after, jitter)
            case CancelTimer(timer):
                return CancelTimer(self._outside(timer))


@cache
def _wrapped(
    name: str, kind: type[Any], field: str, inside: tuple[type[Any], ...]
) -> tuple[type[Any], ...]:
    """A type that carries one of the inner ones, strictly decoded; none if there are none.

    It is made once: values of two machines that are built alike must be equal.
    """
    if not inside:
        return ()
    return (msgspec.defstruct(name, [(field, reduce(or_, inside))], bases=(kind,), tag=name),)


# --- a machine over any other ---


class OverRules(Rules):
    """The rules of a machine over another one, and the inner machine's."""

    inner: Rules = Rules()


class Over(Machine[S]):
    """A machine that carries another one inside.

    Its state has the fields `inner` and `stable.inner`, as `Lift` wants them.
    """

    inner_kind: ClassVar[type[Machine[Any]] | None] = None
    """The machine inside; None in a class that can be built only by `over`."""
    outer_kind: ClassVar[type["Over[Any]"]]
    """The class from which `over` made this one."""
    rules_type: type[OverRules] = OverRules
    promises_over: ClassVar[tuple[str, ...]] = ()
    """What it also promises, over a machine that begins by itself (one without `begins_by`)."""
    form_promises_over: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """What a form promises beyond that, over such a machine."""
    assumptions_over: ClassVar[tuple[Assumption, ...]] = ()
    """What it has to assume for that."""

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        if self.inner_kind is None:
            raise ValueError("it runs over another protocol, and nothing says over which")
        self.lift = Lift(self.inner_kind(self.inside(members), timing, self.rules.inner))
        self.lift.declare(self)

    def cautions(self) -> tuple[str, ...]:
        """The cautions of the inner machine."""
        return self.lift.inner.cautions()

    def inside(self, members: Members) -> Members:
        """The members as the inner machine knows them."""
        return members

    def task(self, state: S) -> Hashable:
        return self.lift.task(state)

    @classmethod
    def over(cls, inner: type[Machine[Any]], form: str = "sound") -> "type[Over[S]]":
        """This machine over another inner one, in the named form of that one."""
        return _over(vars(cls).get("outer_kind", cls), inner, form)


@cache
def _over(outer: type[Over[Any]], inner: type[Machine[Any]], form: str) -> type[Over[Any]]:
    """Made once: machines that are built alike must share their types."""
    rules_type = msgspec.defstruct(
        outer.rules_type.__name__,
        [("inner", inner.rules_type, inner.form(form))],
        bases=(outer.rules_type,),
        module=outer.__module__,
        frozen=True,
    )
    forms: Mapping[str, Any] = {
        name: rules_type(**_own(rules)) for name, rules in outer.forms.items()
    }
    begins = not inner.begins_by
    promises = (*outer.promises, *(outer.promises_over if begins else ()))
    more = outer.form_promises_over if begins else {}
    made: type[Over[Any]] = new_class(
        f"{outer.__name__}Over{inner.__name__}",
        (outer,),
        exec_body=lambda body: body.update(
            inner_kind=inner,
            outer_kind=outer,
            rules_type=rules_type,
            forms=forms,
            promises=promises,
            form_promises={form: (*promises, *names) for form, names in more.items()},
            assumptions=(*outer.assumptions, *(outer.assumptions_over if begins else ())),
            strongest=inner.strongest,
            __module__=outer.__module__,
        ),
    )
    return made


def _own(rules: Rules) -> dict[str, Any]:
    """The rules of the outer machine itself."""
    names = set(rules.__struct_fields__) - {"inner"}
    return {name: getattr(rules, name) for name in names}
