"""Graphs of numbered states: compact storage, components, and shortest ways."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from electorate.check.loops import PLAIN, TARGET, TICK, Loops, NumberArray


class Stretch(NamedTuple):
    """States that are numbered from `first` on, in the order of their depth, and their edges."""

    first: int
    starts: NumberArray
    """Where each state's edges begin, and where the last one's end."""
    edges: NumberArray
    lacks: NumberArray
    """For each state the code of what it lacks."""
    depth: int
    """How many moves the states are away."""


def edges_of(stretches: Sequence[Stretch], state: int) -> Iterator[tuple[int, int]]:
    """Where one can go from a state, and whether time passes on the way."""
    at = bisect_right(stretches, state, key=lambda stretch: stretch.first) - 1
    first, starts, edges = stretches[at][:3]
    for place in range(starts[state - first], starts[state - first + 1]):
        edge = int(edges[place])
        yield edge & TARGET, edge >> 31


class Components(NamedTuple):
    """The strongly connected components of a graph, each after all those that it leads to."""

    size: int
    member: NumberArray
    """For each state the number of its component."""
    first: NumberArray
    """Where the states of each component begin among those in order, and where the last end."""
    states: NumberArray
    """All states in the order of their components."""

    @classmethod
    def of(cls, loops: Loops, starts: NumberArray, edges: NumberArray) -> "Components":
        """Those of a graph that has these edges."""
        states, full = len(starts) - 1, loops.full
        member = full(states, -1, "i")
        buffers = (full(states, 0, "i"), member, *(full(states, 0, kind) for kind in "qii"))
        size = loops.components(starts, edges, full(states, -1, "i"), *buffers)
        first, ordered = full(size + 1, 0, "q"), full(states, 0, "i")
        loops.by_component(member, first, ordered)
        return cls(size, member, first, ordered)


class Graph:
    """Directed edges from numbered states, stored flat; an edge may be a tick of the clock."""

    def __init__(self) -> None:
        self.starts = array("q", [0])
        self.targets = array("I")
        """The edges: states, some marked by TICK."""

    def add(self, edges: Iterable[tuple[int, bool]]) -> None:
        """The edges of the next state."""
        self.targets.extend([target | TICK if tick else target for target, tick in edges])
        self.starts.append(len(self.targets))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def edges(self, state: int) -> Iterator[tuple[int, int]]:
        """Where one can go from here, and whether time passes on the way."""
        for edge in self.targets[self.starts[state] : self.starts[state + 1]]:
            yield edge & TARGET, edge >> 31

    def components(self) -> tuple[list[list[int]], NumberArray]:
        """The strongly connected components, each after all those it leads to."""
        parts = Components.of(PLAIN, self.starts, self.targets)
        bounds = [parts.first[number] for number in range(parts.size + 1)]
        found = [[parts.states[k] for k in range(*ends)] for ends in pairwise(bounds)]
        return found, parts.member

    def way(
        self, start: int, found: Callable[[int], bool], allowed: Callable[[int], bool]
    ) -> list[int]:
        """The shortest way of at least one edge to a state that is `found`, start included."""
        return shortest_way(self.edges, start, found, allowed)


def anything(state: int) -> bool:
    """Where every state is allowed."""
    return True


def shortest_way(
    edges: Callable[[int], Iterable[tuple[int, int]]],
    start: int,
    found: Callable[[int], bool],
    allowed: Callable[[int], bool],
) -> list[int]:
    """The shortest way of at least one edge to a state that is `found`, start included."""
    came: dict[int, int] = {}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for target, _ in edges(state):
            if target in came or not allowed(target):
                continue
            came[target] = state
            if found(target):
                way = [target]
                while True:
                    way.append(came[way[-1]])
                    if way[-1] == start:
                        return way[::-1]
            queue.append(target)
    raise LookupError("there is no such way")
