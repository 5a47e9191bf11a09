"""Compiled passes over a graph of millions of states: components, and what they hold."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from electorate.check.table.stretch import TARGET, TICK, Stretch

Array = np.ndarray[Any, Any]


class FlatGraph(NamedTuple):
    """A whole graph in three arrays: where each state's edges begin, their targets and ticks."""

    starts: Array
    targets: Array
    ticks: Array

    @classmethod
    def of(cls, stretches: Sequence[Stretch]) -> "FlatGraph":
        """The stretches put together."""
        counts = [np.diff(stretch.starts) for stretch in stretches]
        starts = np.zeros(sum(map(len, counts)) + 1, np.int64)
        np.cumsum(np.concatenate(counts), out=starts[1:])
        edges = np.concatenate([stretch.edges for stretch in stretches])
        return cls(starts, (edges & TARGET).astype(np.int32), edges & TICK != 0)

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return sum(int(part.nbytes) for part in self)


@njit(cache=True)
def components(starts: Any, targets: Any) -> Any:
    """For each state its component; a component's number is above those it leads to."""
    size = starts.shape[0] - 1
    order = np.full(size, -1, np.int32)
    low = np.zeros(size, np.int32)
    member = np.full(size, -1, np.int32)
    cursor = starts[:size].copy()
    stack = np.empty(size, np.int32)
    work = np.empty(size, np.int32)
    held = count = found = 0
    for root in range(size):
        if order[root] >= 0:
            continue
        depth = 1
        work[0] = root
        while depth:
            state = work[depth - 1]
            if order[state] < 0:
                order[state] = low[state] = count
                count += 1
                stack[held] = state
                held += 1
            descended = False
            while cursor[state] < starts[state + 1]:
                target = targets[cursor[state]]
                if order[target] < 0:
                    work[depth] = target
                    depth += 1
                    descended = True
                    break
                if member[target] < 0 and low[target] < low[state]:
                    low[state] = low[target]
                cursor[state] += 1
            if descended:
                continue
            depth -= 1
            if low[state] == order[state]:
                while True:
                    held -= 1
                    top = stack[held]
                    member[top] = found
                    if top == state:
                        break
                found += 1
    return member, found


TICKING, CYCLIC, LACKING, EXITS, OPEN, UNSETTLED = 1, 2, 4, 8, 16, 32


@njit(cache=True)
def described(
    starts: Any, targets: Any, ticks: Any, member: Any, count: Any, lacks: Any, cut: Any
) -> Any:
    """For each component what it holds; UNSETTLED if the goal can be lost from here on."""
    flags = np.zeros(count, np.uint8)
    for state in cut:
        flags[member[state]] |= OPEN
    for state in range(starts.shape[0] - 1):
        mine = member[state]
        if lacks[state]:
            flags[mine] |= LACKING | UNSETTLED
        for edge in range(starts[state], starts[state + 1]):
            if member[targets[edge]] == mine:
                flags[mine] |= CYCLIC
                if ticks[edge]:
                    flags[mine] |= TICKING
            else:
                flags[mine] |= EXITS
    return flags


@njit(cache=True)
def by_component(member: Any, count: Any) -> Any:
    """The states in order of their component, and where each component begins."""
    first = np.zeros(count + 1, np.int64)
    for state in range(member.shape[0]):
        first[member[state] + 1] += 1
    for number in range(count):
        first[number + 1] += first[number]
    cursor = first.copy()
    states = np.empty(member.shape[0], np.int32)
    for state in range(member.shape[0]):
        states[cursor[member[state]]] = state
        cursor[member[state]] += 1
    return first, states


@njit(cache=True)
def unsettle(starts: Any, targets: Any, member: Any, flags: Any, first: Any, states: Any) -> None:
    """Mark every component from which an unsettled one can be reached."""
    for number in range(first.shape[0] - 1):
        for k in range(first[number], first[number + 1]):
            state = states[k]
            for edge in range(starts[state], starts[state + 1]):
                if flags[member[targets[edge]]] & UNSETTLED:
                    flags[number] |= UNSETTLED
