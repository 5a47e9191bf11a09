"""The contract as checks: what a machine may declare, and what its handlers may return.

Each check raises a Breach whose text says what is wrong; the driver's port adds where it was.
"""

from collections.abc import Hashable, Mapping
from operator import attrgetter
from types import ModuleType
from typing import Any, get_origin

from msgspec import Struct

from electorate.core.codec import Codec
from electorate.core.event import CancelTimer, Effect, Send, SetTimer
from electorate.core.machine import Machine, Timer, Topic
from electorate.core.standing import Choice, Decision, GroupStanding, Standing, Status
from electorate.core.timing import Span
from electorate.core.value import Message, NodeId, Request, Stable, State

SHOWN: dict[Topic, type[Standing]] = {
    Topic.DECISIONS: Decision,
    Topic.CHOICES: Choice,
    Topic.NEWCOMERS: GroupStanding,
}
"""The kind of standing that shows each thing that a machine can tell of."""


class Breach(Exception):
    """The contract is broken; the text says how."""


class Contract:
    """What one machine has declared, compared with what it does."""

    def __init__(self, machine: Machine[Any]) -> None:
        self._machine = machine
        self._verify_declarations()
        self._timers = frozenset(timer.name for timer in machine.timers)
        self._shown = next((SHOWN[each] for each in SHOWN if each in machine.tells), Standing)
        self._growing = {name: attrgetter(name) for name in machine.growing}
        kept = _plain(machine.stable_type).__struct_fields__
        for name, path in machine.outputs.items():
            if path.partition(".")[0] not in kept:
                raise Breach(f"the output {name} is {path!r}, which is no part of its stable")
        try:
            self._hears = {node: machine.hears(node) for node in machine.members.ids}
        except (Exception, SystemExit) as error:
            raise Breach(f"hears raised {type(error).__name__}: {error}") from error
        try:
            self._codec = Codec(machine)
        except Exception as error:
            raise Breach(f"its values do not fit the wire: {error}") from error

    def turn(self, me: NodeId, result: object) -> tuple[State, tuple[Effect, ...]]:
        """The state and the effects in what `boot` or `step` returned."""
        match result:
            case (state, list() | tuple() as effects):
                verified = self._verified_state(me, state)
            case _:
                raise Breach(f"returned {result!r} instead of (state, effects)")
        for effect in effects:
            self._verify_effect(effect)
            if isinstance(effect, Send) and not self._is_heard(me, effect.to):
                raise Breach(f"sends to {effect.to}, which says that it does not hear {me}")
        return verified, tuple(effects)

    def standing(self, result: object) -> Standing:
        """The standing in what `view` returned."""
        match result:
            case Standing(status) if not isinstance(status, Status):
                raise Breach(f"view returned the status {status!r}, which is not a Status")
            case Standing(_, leader) if leader is not None and not self._is_member(leader):
                raise Breach(f"view returned the leader {leader!r}, which is not a member")
            case Standing(_, _, group) if not (group is None or _is_row(group)):
                raise Breach(f"view returned the group {group!r}, which is no tuple of numbers")
            case Standing(token=token) if not (token is None or type(token) is int):
                raise Breach(f"view returned the token {token!r}, which is no whole number")
            case Standing(until=until) if until is not None and not self._is_timer(until):
                raise Breach(f"view names the timer {until!r}, which is not declared")
            case Standing() if _shown(result) is not self._shown:
                kind = self._shown.__name__
                raise Breach(f"view returned {result!r}, which is not the {kind} that `tells` says")
            case Standing():
                return result
        raise Breach(f"view returned {result!r} instead of a Standing")

    def offices(self, result: object) -> tuple[str, ...]:
        """The timers in what `offices` returned."""
        match result:
            case tuple() if all(map(self._is_timer, result)):
                return result
        raise Breach(f"offices returned {result!r}, not a tuple of declared timers")

    def requests(self, result: object, name: str) -> tuple[Request, ...]:
        """The requests in what `may_ask` or `must_ask` returned."""
        if not isinstance(result, tuple):
            raise Breach(f"{name} returned {result!r} instead of a tuple of requests")
        for request in result:
            if type(request) not in self._machine.requests:
                raise Breach(f"{name} returned {request!r}, which is not a declared request")
            hashable(request)
        return result

    def _verify_declarations(self) -> None:
        machine = self._machine
        if not hasattr(machine, "members"):
            raise Breach("its constructor does not call that of Machine")
        kinds: dict[str, type[Any]] = {"state_type": State, "stable_type": Stable}
        for name, kind in kinds.items():
            declared = getattr(machine, name, None)
            if not _is_subclass(_plain(declared), kind):
                raise Breach(f"{name} is {declared!r}, which is not a kind of {kind.__name__}")
        kinds = {"messages": Message, "requests": Request}
        for name, kind in kinds.items():
            types = getattr(machine, name)
            if not (isinstance(types, tuple) and all(_is_subclass(t, kind) for t in types)):
                raise Breach(f"{name} is {types!r}, not a tuple of kinds of {kind.__name__}")
        strangers = set(machine.begins_by) - set(machine.requests)
        if strangers:
            raise Breach(f"begins_by has {strangers!r}, which are not declared as requests")
        if not all(isinstance(topic, Topic) for topic in machine.tells):
            raise Breach(f"tells is {machine.tells!r}, not a set of Topics")
        keeps = _plain(machine.stable_type).__struct_fields__
        if Topic.DECISIONS in machine.tells and "stage" not in keeps:
            raise Breach("it tells of decisions, and its stable part has no field 'stage'")
        timers = machine.timers
        if not (isinstance(timers, tuple) and all(isinstance(t, Timer) for t in timers)):
            raise Breach(f"timers is {timers!r}, not a tuple of Timers")
        if len({timer.name for timer in timers}) != len(timers):
            raise Breach(f"two timers have the same name in {timers!r}")
        if not isinstance(machine.rules, machine.rules_type):
            raise Breach(f"rules is {machine.rules!r}, not a {machine.rules_type.__name__}")

    def _verified_state(self, me: NodeId, state: object) -> State:
        kind = _plain(self._machine.state_type)
        if not isinstance(state, State) or type(state) is not kind:
            raise Breach(f"returned the state {state!r}, which is not a {kind.__name__}")
        kind = _plain(self._machine.stable_type)
        if type(state.stable) is not kind:
            raise Breach(f"state.stable is {state.stable!r}, which is not a {kind.__name__}")
        if state.me != me:
            raise Breach(f"returned a state of node {state.me!r} for node {me}")
        hashable(state)
        self._verify_wire(state, self._codec.state)
        self._verify_growing(state)
        return state

    def _verify_growing(self, state: State) -> None:
        for name, number in self._growing.items():
            try:
                value = number(state)
            except AttributeError as error:
                raise Breach(f"growing names {name!r}, which the state lacks: {error}") from error
            if not isinstance(value, int):
                raise Breach(f"growing names {name!r}, which is {value!r} and no whole number")

    def _verify_effect(self, effect: object) -> None:
        match effect:
            case Send(to, _) if not self._is_member(to):
                raise Breach(f"sends to {to!r}, which is not a member")
            case Send(_, message) if type(message) not in self._machine.messages:
                raise Breach(f"sends {message!r}, which is not a declared message")
            case Send(_, message):
                hashable(message)
                self._verify_wire(message, self._codec.message)
            case SetTimer(timer) | CancelTimer(timer) if not self._is_timer(timer):
                raise Breach(f"uses the timer {timer!r}, which is not declared")
            case SetTimer(timer, after, jitter) if not _are_durations(after, jitter):
                raise Breach(_no_duration(timer, after, jitter))
            case SetTimer() | CancelTimer():
                return
            case _:
                raise Breach(f"returned the effect {effect!r}")

    def _verify_wire(self, value: Any, decode: Any) -> None:
        try:
            arrived = decode(self._codec.encode(value))
        except Exception as error:
            raise Breach(f"returned {value!r}, which the wire refuses: {error}") from error
        if arrived != value or not same_kinds(arrived, value):
            raise Breach(f"returned {value!r}, which comes off the wire as {arrived!r}")

    def _is_heard(self, me: NodeId, to: NodeId) -> bool:
        heard = None if to == me else self._hears.get(to)
        return heard is None or me in heard

    def _is_member(self, node: object) -> bool:
        return type(node) is int and node in self._machine.members

    def _is_timer(self, timer: object) -> bool:
        return isinstance(timer, str) and timer in self._timers


def same_kinds(one: Any, other: Any) -> bool:
    """Whether equal values are of the same types all through.

    "normal" equals Status.NORMAL, and is not the same.
    """
    kind = type(one)
    if kind is not type(other):
        return False
    if issubclass(kind, Struct):
        names = kind.__struct_fields__
        pairs: Any = ((getattr(one, name), getattr(other, name)) for name in names)
    elif kind is tuple or kind is list:
        pairs = zip(one, other, strict=True)
    else:
        return kind is not frozenset or set(map(_kinds, one)) == set(map(_kinds, other))
    for mine, its in pairs:
        inside = type(mine)
        if inside is not type(its) or not (inside in _LEAVES or same_kinds(mine, its)):
            return False
    return True


_LEAVES = frozenset({int, str, bool, float, type(None)})


def _kinds(value: object) -> object:
    """The types all through a value, for those that come in no order."""
    match value:
        case Struct():
            fields = (getattr(value, name) for name in value.__struct_fields__)
            return (type(value), *map(_kinds, fields))
        case tuple():
            return (tuple, *map(_kinds, value))
        case frozenset():
            return (frozenset, frozenset(map(_kinds, value)))
        case _:
            return type(value)


def hashable(value: Any) -> Hashable:
    """The value, if it can never change."""
    try:
        hash(value)
    except Exception as error:
        raise Breach(f"returned {value!r}, which can change: {error}") from error
    found: Hashable = value
    return found


def _are_durations(*numbers: object) -> bool:
    return all(type(number) is int and number >= 0 for number in numbers)


def _no_duration(timer: str, after: object, jitter: object) -> str:
    """What is wrong with the length of a timer."""
    spans = [each for each in (after, jitter) if isinstance(each, Span)]
    if spans:
        return f"sets {timer} to the span {spans[0]}: a timer takes its length, .of(self.timing)"
    return (
        f"sets {timer} to {after!r} with jitter {jitter!r}: both are whole numbers from 0 up, "
        "in the unit of self.timing"
    )


def _shown(standing: Standing) -> type[Standing]:
    """What kind of standing this is, of those that `tells` can declare."""
    return next((kind for kind in SHOWN.values() if isinstance(standing, kind)), Standing)


def _is_row(group: object) -> bool:
    return isinstance(group, tuple) and all(type(number) is int for number in group)


def _is_subclass(found: object, kind: type[Any]) -> bool:
    return isinstance(found, type) and issubclass(found, kind)


def _plain(kind: Any) -> Any:
    """The class itself, if a declaration fills in its parameters."""
    return get_origin(kind) or kind


class HiddenMemory:
    """What a machine could remember outside its states, watched so that it remembers nothing.

    These are the attributes of the machine, of its classes, and of the objects that it holds. All
    nodes share one machine: what it kept would reach other nodes without a message, and outlive
    crashes without a disk.
    """

    def __init__(self, machine: Machine[Any]) -> None:
        self._owners: list[object] = []
        self._find(machine)
        self._known = [
            (len(vars(owner)), {name: _still(vars(owner)[name]) for name in _names(vars(owner))})
            for owner in self._owners
        ]

    def has_changed(self) -> bool:
        """Whether any attribute has changed; what Python keeps for itself does not count."""
        for owner, (count, known) in zip(self._owners, self._known, strict=True):
            now = vars(owner)
            if len(now) != count and _names(now) != known.keys():
                return True
            for name, value in known.items():
                found = now.get(name, self)
                if found is not value and _still(found) != value:
                    return True
        return False

    def _find(self, thing: object) -> None:
        if any(owner is thing for owner in self._owners):
            return
        self._owners.append(thing)
        kinds = type(thing).__mro__ if isinstance(thing, Machine) else ()
        self._owners += [kind for kind in kinds if issubclass(kind, Machine)]
        for value in vars(thing).values():
            if hasattr(value, "__dict__") and not (
                callable(value) or isinstance(value, ModuleType)
            ):
                self._find(value)


def _names(attributes: Mapping[str, object]) -> set[str]:
    return {name for name in attributes if name[:2] != "__"}


def _still(value: object) -> object:
    """The value, or a copy if it is a container that could change later."""
    if isinstance(value, dict):
        return {key: _still(inside) for key, inside in value.items()}
    if isinstance(value, list | set):
        return [_still(inside) for inside in value]
    return value
