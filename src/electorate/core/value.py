"""The values that machines are made of: frozen, hashable, fit for the wire.

The keywords of every record live here, on base classes, so that a protocol file only names
its fields. Field order is the order in which differences are printed.
"""

from typing import dataclass_transform

from msgspec import Struct, field

NodeId = int


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A frozen, hashable record; decoded strictly, so that nothing gets lost on the way.

    A value that cannot change cannot come to hold itself. So the garbage collector, which takes a
    fifth of a busy node's time, leaves values out.
    """


class Message(Value, tag=True):
    """What one node says to another; its type travels with it."""


class Request(Value, tag=True):
    """What the application asks of its node."""


class Stable(Value):
    """What survives a crash. Empty by default: a node that kept nothing still knows it lived."""


class State(Value):
    """Everything a node knows between two turns. The part in `stable` survives a crash."""

    me: NodeId
    stable: Stable


def text_of(value: object) -> str:
    """A value as people read it, the same in every process (sets are sorted)."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case str():
            return str(value)
        case frozenset() | set():
            return "{" + ", ".join(map(text_of, sorted(value, key=_sort_key))) + "}"
        case tuple() | list():
            return "(" + ", ".join(map(text_of, value)) + ")"
        case Struct():
            fields = (text_of(getattr(value, name)) for name in value.__struct_fields__)
            inside = ", ".join(fields)
            name = type(value).__name__
            return f"{name}({inside})" if inside else name
        case _:
            return repr(value)


def _sort_key(member: object) -> tuple[int, str]:
    """The order in which members of a set are printed: numbers by size, others by text."""
    return (member if isinstance(member, int) else 0, text_of(member))
