"""Machines that run side by side at every node, joined by wires: one machine like any other.

    class Leadership(Ensemble):
        parts = {"members": Part(Office, "register"), "election": Part(Office, "application")}
        wires = (Wire("members", "roster", "election", Adopt),)
        focus = "election"

A wire says in data what a node does with what one machine has found: the output that the source
declares is asked of the target. An output is part of what the source has *saved*, so that it can be
told again after a crash.

When the target is told:

- *Before its next event*, whatever that is. Only an office that has run out ends before that, as
  it does before everything else.
- A target to which nothing happens is told by a sweep, within `sweep`. Until then it stays as it
  is, and what it shows is shown.
- At every boot all wires are carried out: when the target has booted, and before it sees anything.

It is always told what the source has saved by then. A change that was changed again in between is
never heard of. The host carries out the same wires in the same order (runtime/wiring.py), with each
part as an instance of its own; here they are one state, so that a checker can look at all orders.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from electorate.core.event import Asked, CancelTimer, Effect, Event, Received, SetTimer, TimedOut
from electorate.core.lift import Lift
from electorate.core.machine import Machine, Result, Timer
from electorate.core.member import Members
from electorate.core.rule import Rules
from electorate.core.standing import Standing
from electorate.core.timing import P, Span, Timing
from electorate.core.value import NodeId, Request, Stable, State


class Wire(NamedTuple):
    """What the source has saved under this output becomes this request to the target."""

    source: str
    output: str
    target: str
    request: type[Request]

    def reader(self, source: Machine[Any]) -> Callable[[Stable], Any]:
        """Finds the output in what the source has saved."""
        if self.output not in source.outputs:
            known = ", ".join(source.outputs) or "none"
            raise ValueError(f"{self.source} has no output {self.output!r}; its outputs: {known}")
        return attrgetter(source.outputs[self.output])

    def asked(self, value: Any) -> Asked:
        """What the target is told."""
        return Asked(self.request(value))


class Part(NamedTuple):
    """A machine that every node runs, the form of its rules, and what is changed in that form."""

    kind: type[Machine[Any]]
    form: str = "sound"
    rules: str = ""

    def default(self) -> Rules:
        """The rules unless others are given."""
        return self.kind.form(self.form).with_texts(self.rules.split())


class EnsembleRules(Rules):
    """How the wires are carried out; the rules of every part are beside it, named `part.rule`."""

    sweep: Span = 1 * P
    """How long a part to which nothing happens may stay without what a wire has for it."""
    told: Literal["before", "after", "at-once"] = "before"
    """When a part is told: before its next event; after that; in the turn that changed the output.
    The last is what `before` amounts to if sweeps are quick; the checker has to show whether it
    does."""
    at_boot: Literal["yes", "no"] = "yes"
    """Whether every part is told at boot what the others have saved."""


class Ensemble(Machine[Any]):
    """All parts of a node. Its standing, its promises and its claims are those of one of them."""

    parts: ClassVar[Mapping[str, Part]] = {}
    """The order in which they boot, and see what all of them see. Sources come before their
    targets."""
    wires: ClassVar[tuple[Wire, ...]] = ()
    rules_type = EnsembleRules

    @property
    @abstractmethod
    def focus(self) -> str:
        """The part that the ensemble's standing and all claims are about."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "parts" in vars(cls):
            rules_type: Any = msgspec.defstruct(
                f"{cls.__name__}Rules",
                [(name, part.kind.rules_type, part.default()) for name, part in cls.parts.items()],
                bases=(EnsembleRules,),
                module=cls.__module__,
                frozen=True,
            )
            cls.rules_type = rules_type

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.lifts = {
            name: Lift(part.kind(members, timing, getattr(self.rules, name)), name)
            for name, part in self.parts.items()
        }
        self._declare()
        self._reads = tuple(wire.reader(self.lifts[wire.source].inner) for wire in self.wires)
        names = list(self.parts)
        for wire in self.wires:
            if names.index(wire.source) >= names.index(wire.target):
                raise ValueError(f"{wire.source} has to be named before {wire.target}")
            if wire.request not in self.lifts[wire.target].inner.requests:
                raise ValueError(f"{wire.target} has no request {wire.request.__name__}")

    def _declare(self) -> None:
        """Declare all that the parts do."""
        lifts = self.lifts.values()
        self._sweeps = {sweep_of(wire.target): wire.target for wire in self.wires}
        timers = (timer for lift in lifts for timer in lift.timers)
        self.timers = (*timers, *(Timer(name) for name in self._sweeps))
        self.messages = tuple(kind for lift in lifts for kind in lift.messages)
        self.requests = tuple(kind for lift in lifts for kind in lift.requests)
        self.uses_views = any(lift.inner.uses_views for lift in lifts)
        self.growing = tuple(
            f"{name}.{number}" for name, lift in self.lifts.items() for number in lift.inner.growing
        )
        in_focus = self.lifts[self.focus]
        self.begins_by = in_focus.requests if in_focus.inner.begins_by else ()
        self.tells |= in_focus.inner.tells
        fields = ((n, x.inner.stable_type, x.inner.state_type) for n, x in self.lifts.items())
        self.stable_type, self.state_type = _types(
            type(self).__name__, type(self).__module__, tuple(fields)
        )

    # --- what happens ---

    def boot(self, me: NodeId, stable: Any) -> Result[Any]:
        effects: list[Effect] = []
        states: dict[str, Any] = {}
        for name, lift in self.lifts.items():
            states[name], more = lift.boot(me, stable)
            effects += more
        due = frozenset(range(len(self.wires))) if self.rules.at_boot == "yes" else frozenset()
        return self._tell_all(self.joined(me, states, due), effects)

    def joined(self, me: NodeId, states: Mapping[str, Any], due: frozenset[int]) -> Any:
        """The state of a node with these states of its parts, and the wires still to be told."""
        kept = self.stable_type(**{name: state.stable for name, state in states.items()})
        state_type: Any = self.state_type
        return state_type(me=me, stable=kept, due=due, **states)

    def step(self, s: Any, event: Event) -> Result[Any]:
        match event:
            case Received(j, _) if j not in self.members:
                return s, []
            case TimedOut(timer) if timer in self._sweeps:
                return self._tell(s, self._sweeps[timer])
        effects: list[Effect] = []
        for name, lift in self.lifts.items():
            if lift.is_for(event):
                s, more = self.take(s, name, event)
                effects += more
        return s, effects

    def take(self, s: Any, name: str, event: Event) -> Result[Any]:
        """Let one part take an event, once it has been told what it does not know yet."""
        lift, told = self.lifts[name], self.rules.told
        is_first = isinstance(event, TimedOut) and event.timer in lift.offices(s)
        effects: list[Effect] = []
        if told == "before" and not is_first:
            s, effects = self._tell_in_time(s, lift.name)
        before = s
        s, more = lift.step(s, event)
        s, sweeps = self._noted(before, s, lift.name)
        effects = [*effects, *more, *sweeps]
        if told == "after" and not is_first:
            s, more = self._tell_in_time(s, lift.name)
            effects += more
        return self._tell_all(s, effects) if told == "at-once" else (s, effects)

    def _noted(self, before: Any, s: Any, source: str) -> Result[Any]:
        """Note which parts must be told of the change of a part, and set a sweep for each."""
        changed = {
            k
            for k, (wire, read) in enumerate(zip(self.wires, self._reads, strict=True))
            if wire.source == source
            and read(getattr(s, source).stable) != read(getattr(before, source).stable)
        }
        if not changed - s.due:
            return s, []
        waiting = {self.wires[k].target for k in s.due}
        targets = dict.fromkeys(self.wires[k].target for k in sorted(changed))
        s = replace(s, due=s.due | changed)
        if self.rules.told == "at-once":
            return s, []
        length = self.rules.sweep.of(self.timing)
        return s, [SetTimer(sweep_of(each), 0, length) for each in targets if each not in waiting]

    def _tell_all(self, s: Any, effects: list[Effect]) -> Result[Any]:
        """Tell every part what it does not know yet, sources first."""
        for name in self.parts if s.due else ():
            s, more = self._tell(s, name)
            effects = [*effects, *more]
        return s, effects

    def _tell_in_time(self, s: Any, target: str) -> Result[Any]:
        """Tell a part what it does not know yet; the sweep for that is cancelled."""
        is_due = any(self.wires[k].target == target for k in s.due)
        s, effects = self._tell(s, target)
        return s, [CancelTimer(sweep_of(target)), *effects] if is_due else effects

    def _tell(self, s: Any, target: str) -> Result[Any]:
        """Carry out all wires into a part that are due."""
        effects: list[Effect] = []
        lift = self.lifts[target]
        for k in sorted(k for k in s.due if self.wires[k].target == target):
            wire, before = self.wires[k], replace(s, due=s.due - {k})
            value = self._reads[k](getattr(s, wire.source).stable)
            asked = lift.request(wire.request(value))
            s, more = lift.step(before, Asked(asked))
            s, sweeps = self._noted(before, s, target)
            effects = [*effects, *more, *sweeps]
        return s, effects

    # --- what is seen of it ---

    def view(self, s: Any) -> Standing:
        return self.lifts[self.focus].view(s)

    def judged(self, stable: Any) -> Stable:
        lift = self.lifts[self.focus]
        return lift.inner.judged(getattr(stable, self.focus))

    def offices(self, state: Any, view: Standing) -> tuple[str, ...]:
        return tuple(timer for lift in self.lifts.values() for timer in lift.offices(state))

    def grown(self, state: Any) -> tuple[int, ...]:
        parts = self.lifts.items()
        return tuple(x for name, lift in parts for x in lift.inner.grown(getattr(state, name)))

    def task(self, state: Any) -> Hashable:
        return self.lifts[self.focus].task(state)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return self.lifts[self.focus].may_ask(view)

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        return self.lifts[self.focus].must_ask(view)

    def offers(self, state: Any, view: Standing) -> tuple[Request, ...]:
        views = (
            (lift, view if name == self.focus else lift.view(state))
            for name, lift in self.lifts.items()
        )
        return tuple(request for lift, seen in views for request in lift.offers(state, seen))

    def cautions(self) -> tuple[str, ...]:
        return tuple(each for lift in self.lifts.values() for each in lift.inner.cautions())


def sweep_of(target: str) -> str:
    """The timer of the sweep that tells a part to which nothing happens."""
    return f"{target}.told"


@cache
def _types(
    name: str, module: str, parts: tuple[tuple[str, Any, Any], ...]
) -> tuple[type[Stable], type[State]]:
    """Made once: values of two machines that are built alike must be equal."""
    stable: Any = msgspec.defstruct(
        f"{name}Stable", [(n, kept) for n, kept, _ in parts], bases=(Stable,), module=module
    )
    state: Any = msgspec.defstruct(
        f"{name}State",
        [("stable", stable), *((n, kind) for n, _, kind in parts), ("due", frozenset[int])],
        bases=(State,),
        module=module,
    )
    return stable, state
