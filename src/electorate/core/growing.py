"""Numbers that never stop growing, declared in the types that hold them.

    class Round(Value):
        caller: NodeId
        number: Annotated[int, Serial("caller")]

A driver that looks at many states may then rename such numbers, so that a run which goes round and
counts is seen to go round. What a declaration says is put to the test before it is relied on.
"""

from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from electorate.core.machine import Machine
from electorate.core.value import NodeId


class Serial(NamedTuple):
    """A number that counts what its owner began: it only tells one from another.

    `of` names the field beside it, or the index in the same tuple, that holds its owner; None if
    that is the node which has the state, or has sent the message.
    """

    of: str | int | None = None
    name: str = ""
    """Tells it from another such number in the same module."""
    module: str = ""
    """If several modules hold such numbers, the one that declares them for all."""


class Ordinal(NamedTuple):
    """A number that is compared with others by its size alone, whichever node counted it."""

    name: str = ""


class Family(NamedTuple):
    """Numbers that are compared with each other and with no others."""

    module: str
    name: str
    owner: NodeId | None
    """None for an Ordinal."""


Change = Callable[[Family, int], int]
Visit = Callable[[Any, NodeId, Change], Any]
"""The value with its numbers changed; the node is the one that holds it."""


def renumbered(value: Any, holder: NodeId, change: Change) -> Any:
    """The value, of any type, with every declared number in it changed."""
    match value:
        case msgspec.Struct():
            visit = _visit_struct(type(value))
            return value if visit is None else visit(value, holder, change)
        case tuple():
            return tuple(renumbered(each, holder, change) for each in value)
        case frozenset():
            return frozenset(renumbered(each, holder, change) for each in value)
        case _:
            return value


def numbers_in(value: Any, holder: NodeId) -> dict[Family, set[int]]:
    """Every declared number in a value."""
    found: dict[Family, set[int]] = {}

    def note(family: Family, number: int) -> int:
        found.setdefault(family, set()).add(number)
        return number

    renumbered(value, holder, note)
    return found


def declared_families(machine: Machine[Any]) -> set[Family]:
    """All families that the machine's types declare."""
    hints = (machine.state_type, machine.stable_type, *machine.messages)
    found: set[tuple[str, Serial | Ordinal]] = set()
    for hint in hints:
        _find_marks(hint, "", found, set())
    return {
        Family(module, mark.name, owner)
        for module, mark in found
        for owner in (machine.members.ids if isinstance(mark, Serial) else (None,))
    }


# --- reading types ---


def _mark(hint: Any) -> Serial | Ordinal | None:
    """What a hint declares of a number, which may also be missing."""
    if get_origin(hint) is Annotated:
        marks = (mark for mark in hint.__metadata__ if isinstance(mark, (Serial, Ordinal)))
        return next(marks, None)
    if get_origin(hint) in (Union, UnionType):
        return next((mark for each in get_args(hint) if (mark := _mark(each))), None)
    return None


def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _find_marks(
    hint: Any, module: str, found: set[tuple[str, Serial | Ordinal]], seen: set[Any]
) -> None:
    """Look through a type, and through all types in it, for declared numbers."""
    mark = _mark(hint)
    if mark is not None:
        declared_in = mark.module if isinstance(mark, Serial) else ""
        found.add((declared_in or module, mark))
        return
    origin = get_origin(hint) or hint
    for each in get_args(hint):
        _find_marks(each, module, found, seen)
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct) and origin not in seen:
        seen.add(origin)
        for each in _hints(origin).values():
            _find_marks(each, origin.__module__, found, seen)


@cache
def _visit_struct(kind: type[Any]) -> Visit | None:
    """How to go through the fields of a record; None if there is nothing to change."""
    hints = _hints(kind)
    marks = {name: mark for name, hint in hints.items() if (mark := _mark(hint))}
    others = {
        name: inner
        for name, hint in hints.items()
        if name not in marks and (inner := _visit_hint(hint, kind.__module__))
    }
    if not marks and not others:
        return None

    def visit(value: Any, holder: NodeId, change: Change) -> Any:
        changes: dict[str, Any] = {}
        for name, mark in marks.items():
            number = getattr(value, name)
            if number is not None:
                family = _family(kind.__module__, mark, holder, lambda of: getattr(value, of))
                changes[name] = change(family, number)
        for name, inner in others.items():
            changes[name] = inner(getattr(value, name), holder, change)
        changed = {name: new for name, new in changes.items() if new is not getattr(value, name)}
        return msgspec.structs.replace(value, **changed) if changed else value

    return visit


def _family(
    module: str, mark: Serial | Ordinal, holder: NodeId, beside: Callable[[Any], NodeId]
) -> Family:
    """What a number is compared with; `beside` finds what stands beside it."""
    if isinstance(mark, Ordinal):
        return Family(module, mark.name, None)
    owner = holder if mark.of is None else beside(mark.of)
    return Family(mark.module or module, mark.name, owner)


def _visit_hint(hint: Any, module: str) -> Visit | None:
    """How to go through a value of this type; None if there is nothing to change in it."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _visit_hint(inside[0], module)
    if origin in (Union, UnionType):
        ways = [visit for each in inside if (visit := _visit_hint(each, module))]
        # The parts of a union differ in kind: a tuple is not taken for a record, nor for nothing.
        return None if not ways else _visit_one_of(inside, module)
    if origin is tuple and inside[-1:] != (...,):
        return _visit_tuple(inside, module)
    if origin in (tuple, frozenset):
        each = _visit_hint(inside[0], module)
        kind: Any = origin
        return each and (lambda v, h, c: kind(each(item, h, c) for item in v))
    if isinstance(hint, TypeVar) or hint is Any or origin is not None:
        return renumbered
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        # A field may hold a kind of what it is declared to hold.
        return renumbered
    return None


def _visit_one_of(hints: tuple[Any, ...], module: str) -> Visit:
    def visit(value: Any, holder: NodeId, change: Change) -> Any:
        for hint in hints:
            kind = get_origin(hint) or hint
            if isinstance(kind, type) and isinstance(value, kind):
                inner = _visit_hint(hint, module)
                return value if inner is None else inner(value, holder, change)
        return value

    return visit


def _visit_tuple(hints: tuple[Any, ...], module: str) -> Visit | None:
    marks = [_mark(hint) for hint in hints]
    visits = [_visit_hint(hint, module) for hint in hints]
    if not any(marks) and not any(visits):
        return None

    def visit(value: Any, holder: NodeId, change: Change) -> Any:
        parts = list(value)
        for place, (mark, inner) in enumerate(zip(marks, visits, strict=True)):
            if mark is not None:
                family = _family(module, mark, holder, value.__getitem__)
                parts[place] = change(family, value[place])
            elif inner is not None:
                parts[place] = inner(value[place], holder, change)
        return tuple(parts)

    return visit
