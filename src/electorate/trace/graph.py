"""Networks in which not everybody need be linked to everybody, by their shape or link by link."""

from itertools import pairwise

from electorate.core import NodeId
from electorate.trace.setting import links_of

NODES_MAX = 64
"""So many nodes a command can work with."""
SHAPES = ("path", "cycle", "star", "complete")

Links = tuple[tuple[NodeId, NodeId], ...]


def graph_of(text: str) -> tuple[int | None, Links | None]:
    """Read `path:4`, or a list of links: `1-2,2-3`; raises ValueError.

    Returns how many nodes there are, None if the text does not say; and the links between them,
    None if everybody is linked to everybody.
    """
    shape, colon, size = text.partition(":")
    if not colon:
        return None, tuple(links_of(text))
    if shape not in SHAPES:
        raise ValueError(f"no graph {shape!r}: it is {', '.join(SHAPES)}, or a list of links")
    if not size.isdecimal() or not 1 <= int(size) <= NODES_MAX:
        raise ValueError(f"must be a whole number from 1 to {NODES_MAX}, not {size}")
    return int(size), _shaped(shape, int(size))


def _shaped(shape: str, count: int) -> Links | None:
    ids = range(1, count + 1)
    match shape:
        case "path":
            return tuple(pairwise(ids))
        case "cycle":
            return (*pairwise(ids), (1, count)) if count > 2 else tuple(pairwise(ids))
        case "star":
            return tuple((1, other) for other in ids[1:])
        case _:
            return None
