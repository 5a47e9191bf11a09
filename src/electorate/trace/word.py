"""Words for sentences: lists, and nodes by their numbers."""

from collections.abc import Iterable

from electorate.core import NodeId


def listed(parts: Iterable[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def nodes_text(nodes: Iterable[NodeId]) -> str:
    """`node 1`, or `nodes 1, 2 and 3`."""
    return named("node", map(str, nodes))


def named(noun: str, names: Iterable[str]) -> str:
    """`timer probe`, or `timers probe and settle`."""
    names = list(names)
    return f"{noun}{'s' if len(names) > 1 else ''} {listed(names)}"
