"""Words for sentences: lists, and nodes by their numbers or names."""

import re
from collections.abc import Iterable, Mapping

from electorate.core import Message, NodeId, Request, text_of


def listed(parts: Iterable[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


ONE = {"crashes": "crash", "deliveries": "delivery", "losses": "loss", "recoveries": "recovery"}
"""The singular of a plural that has more than an s too much."""


def counted(count: int, many: str) -> str:
    """`1 crash`, `2 crashes`."""
    return f"{count:,} {ONE.get(many, many.removesuffix('s')) if count == 1 else many}"


def nodes_text(nodes: Iterable[NodeId]) -> str:
    """`node 1`, or `nodes 1, 2 and 3`."""
    return named("node", map(str, nodes))


def named(noun: str, names: Iterable[str]) -> str:
    """`timer probe`, or `timers probe and settle`."""
    names = list(names)
    return f"{noun}{'s' if len(names) > 1 else ''} {listed(names)}"


def said(value: Message | Request) -> str:
    """A message or request in words; one of an inner machine has that machine's name before it."""
    inside = getattr(value, "message", None) or getattr(value, "request", None)
    if isinstance(inside, Message | Request):
        return f"{type(value).__name__.rpartition('.')[0]}.{said(inside)}"
    return text_of(value)


def kind_of(message: Message) -> str:
    """The name of a message; one that carries an inner machine's is called like that one."""
    return type(_inner(message)).__name__


def short_text(message: Message) -> str:
    """What fits beside an arrow."""
    text = text_of(_inner(message))
    return text if len(text) <= 22 else kind_of(message)


def _inner(message: Message) -> Message:
    inside = getattr(message, "message", None)
    return _inner(inside) if isinstance(inside, Message) else message


_NODES = re.compile(r"\b[Nn]odes? \d+(?:(?:, | and )\d+)*\b")
_MEMBER = re.compile(r"\b\d{6,}\b")
"""Such a number was not chosen by people: wherever it stands, it means the node."""


def with_names(text: str, names: Mapping[NodeId, str]) -> str:
    """A text in which `node 1` and `nodes 1 and 2` are called by their names."""

    def name(number: re.Match[str]) -> str:
        return names.get(int(number[0]), number[0])

    def called(found: re.Match[str]) -> str:
        return re.sub(r"\d+", name, found[0])

    return _MEMBER.sub(name, _NODES.sub(called, text)) if names else text
