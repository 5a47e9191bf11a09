"""Graphs of numbered states: compact storage, components, and shortest ways."""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator


class Graph:
    """Directed edges from numbered states, stored flat; an edge may be a tick of the clock."""

    def __init__(self) -> None:
        self._starts = array("q", [0])
        self.targets = array("i")
        self._ticks = bytearray()

    def add(self, edges: list[tuple[int, bool]]) -> None:
        """The edges of the next state."""
        for target, tick in edges:
            self.targets.append(target)
            self._ticks.append(tick)
        self._starts.append(len(self.targets))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def edges(self, state: int) -> Iterator[tuple[int, int]]:
        """Where one can go from here, and whether time passes on the way."""
        for place in range(self._starts[state], self._starts[state + 1]):
            yield self.targets[place], self._ticks[place]

    def components(self) -> tuple[list[list[int]], list[int]]:
        """The strongly connected components, each after all those it leads to (Tarjan 1972)."""
        starts, targets = self._starts, self.targets
        size = len(self)
        order = [-1] * size
        low = [0] * size
        member = [-1] * size
        cursor = list(starts[:size])
        components: list[list[int]] = []
        stack: list[int] = []
        count = 0
        for root in range(size):
            if order[root] >= 0:
                continue
            work = [root]
            while work:
                state = work[-1]
                if order[state] < 0:
                    order[state] = low[state] = count
                    count += 1
                    stack.append(state)
                descended = False
                while cursor[state] < starts[state + 1]:
                    target = targets[cursor[state]]
                    if order[target] < 0:
                        work.append(target)
                        descended = True
                        break
                    if member[target] < 0:
                        low[state] = min(low[state], low[target])
                    cursor[state] += 1
                if descended:
                    continue
                work.pop()
                if low[state] == order[state]:
                    component = []
                    while True:
                        top = stack.pop()
                        member[top] = len(components)
                        component.append(top)
                        if top == state:
                            break
                    components.append(component)
        return components, member

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
