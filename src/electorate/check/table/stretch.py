"""The edges of a graph, stretch by stretch, as the search came by them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np
from numba import njit

TICK = np.uint32(1 << 31)
"""Marks an edge on which time passes; the rest of it is the state that it leads to."""
TARGET = np.uint32(TICK - 1)
MAPPED_MIN = 1 << 24
"""From so many bytes on edges are kept in a file."""

Array = np.ndarray[Any, Any]


class Stretch(NamedTuple):
    """States that are numbered from `first` on, in the order of their depth, and their edges."""

    first: int
    starts: Array
    """Where each state's edges begin, and where the last one's end."""
    edges: Array
    lacks: Array
    """For each state the code of what it lacks."""
    depth: int
    """How many moves the states are away."""


def mapped(edges: Array) -> Array:
    """The same edges, if they are many in a file without a name instead of in memory."""
    if edges.nbytes < MAPPED_MIN:
        return edges
    with TemporaryFile() as file:
        edges.tofile(file)
        return np.asarray(np.memmap(file, edges.dtype, "c", shape=edges.shape))


def edges_of(stretches: Sequence[Stretch], state: int) -> Iterator[tuple[int, int]]:
    """Where one can go from a state, and whether time passes on the way."""
    at = bisect_right(stretches, state, key=lambda stretch: stretch.first) - 1
    first, starts, edges = stretches[at][:3]
    for edge in edges[starts[state - first] : starts[state - first + 1]]:
        yield int(edge & TARGET), int(edge & TICK != 0)


@njit(cache=True)
def sorted_edges(states: Any, first: Any, sources: Any, targets: Any, ticks: Any) -> Any:
    """The edges of the states from `first` on, by source: where each state's begin, and all."""
    starts = np.zeros(states + 1, np.uint32)
    for edge in range(sources.shape[0]):
        starts[sources[edge] - first + 1] += 1
    for state in range(states):
        starts[state + 1] += starts[state]
    cursor = starts.copy()
    edges = np.empty(targets.shape[0], np.uint32)
    for edge in range(sources.shape[0]):
        state = sources[edge] - first
        edges[cursor[state]] = np.uint32(targets[edge]) | (TICK if ticks[edge] else np.uint32(0))
        cursor[state] += 1
    return starts, edges
