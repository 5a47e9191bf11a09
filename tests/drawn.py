"""Values of any declared type, drawn by Hypothesis; numbers are small enough to name nodes."""

from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import Struct

from electorate.core import Asked, Event, Machine, NodeId, Received, TimedOut, Viewed

STRANGER = 99


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of this type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return st.one_of(*map(values, arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is frozenset:
        return st.frozensets(values(arguments[0]), max_size=4)
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=4).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    return plain_values(kind)


def plain_values(kind: type[Any]) -> st.SearchStrategy[Any]:
    if issubclass(kind, Struct):
        hints = get_type_hints(kind)
        return st.builds(kind, **{name: values(hints[name]) for name in kind.__struct_fields__})
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    simple = {
        bool: st.booleans(),
        int: st.integers(0, 6),
        str: st.text(max_size=3),
        NoneType: st.none(),
    }
    return simple[kind]


def messages(machine: Machine[Any]) -> st.SearchStrategy[Any]:
    """Any declared message."""
    return st.one_of(*map(values, machine.messages))


def views(machine: Machine[Any], me: NodeId) -> st.SearchStrategy[Viewed]:
    """Any opinion of a failure detector, whether or not the machine has asked for one."""
    others = st.frozensets(st.sampled_from(machine.members.ids))
    return others.map(lambda alive: Viewed(alive | {me}))


def events(machine: Machine[Any], me: NodeId) -> st.SearchStrategy[Event]:
    """Any event that can happen to a node at all, expected or not."""
    senders = st.sampled_from(machine.members.ids)
    found: list[st.SearchStrategy[Event]] = [views(machine, me)]
    if machine.messages:
        found.append(st.builds(Received, senders, messages(machine)))
    if machine.timers:
        found.append(st.builds(TimedOut, st.sampled_from([t.name for t in machine.timers])))
    if machine.requests:
        found.append(st.builds(Asked, st.one_of(*map(values, machine.requests))))
    return st.one_of(*found)
