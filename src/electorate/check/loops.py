"""Loops over graphs of states: plain Python, which the table engine has compiled as it stands.

They make no arrays, call nothing, and keep nothing: whoever runs them gives them the arrays that
they read and fill. An edge is the state that it leads to, and a bit that says whether time passes.
"""

from array import array
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, SupportsIndex

TICK = 1 << 31
"""Marks an edge on which time passes; the rest of it is the state that it leads to."""
TARGET = TICK - 1

SETTLED = -1

TICKING, CYCLIC, LACKING, EXITS, OPEN, UNSETTLED = 1, 2, 4, 8, 16, 32
"""Of a component: time passes on some way round; there is one; some state lacks the goal; it can be
left; a bound cuts moves of it; the goal can be lost from here on."""


class NumberArray(Protocol):
    """An array of numbers, whoever made it."""

    def __getitem__(self, place: SupportsIndex, /) -> int:
        """The number at a place."""

    def __setitem__(self, place: SupportsIndex, number: int, /) -> None:
        """Put a number at a place."""

    def __len__(self) -> int:
        """How many there are."""


class Loops(NamedTuple):
    """The loops, plain or compiled, and how to make arrays for them."""

    full: Callable[[int, int, str], NumberArray]
    """So many numbers, all the same, of the kind with that letter (in `array` and numpy alike)."""
    sweep: Callable[..., tuple[int, int]]
    spread: Callable[..., None]
    join: Callable[..., None]
    components: Callable[..., int]
    by_component: Callable[..., None]
    open_up: Callable[..., None]
    describe: Callable[..., None]
    unsettle: Callable[..., int]
    first_stuck: Callable[..., int]
    first_unsettled: Callable[..., int]
    lost: Callable[..., None]
    farthest: Callable[..., int]


def sweep(
    first: Any,
    starts: Any,
    edges: Any,
    lacks: Any,
    missing: Any,
    timed: Any,
    order: Any,
    left: Any,
    moves: Any,
) -> Any:
    """Go once over some states: from the last to the first, or in the order that is given.

    For each state, as far as those after it are known: how long it may take until the goal is
    never lost again, in ticks or without a clock in moves, SETTLED where that is so; and whether
    time can pass, without a clock whether the run ends well. Says how many states changed, and for
    how many neither is so.
    """
    changes = 0
    still = 0
    last = len(lacks) - 1
    is_ordered = len(order) > 0
    step = 0 if timed else 1
    for k in range(last + 1):
        place = order[k] if is_ordered else last - k
        state = first + place
        lacking = missing[lacks[place]] != 0
        unsettled = lacking
        can_move = not timed and (starts[place] < starts[place + 1] or not lacking)
        ahead = 0
        for at in range(starts[place], starts[place + 1]):
            target = edges[at] & TARGET
            passes = edges[at] >> 31
            far = left[target]
            if far >= 0:
                unsettled = True
            else:
                far = 0
            far += passes | step
            if far > ahead:
                ahead = far
            if passes or moves[target]:
                can_move = True
        if not unsettled:
            ahead = SETTLED
        if ahead != left[state] or can_move != (moves[state] != 0):
            left[state] = ahead
            moves[state] = 1 if can_move else 0
            changes += 1
        if not can_move:
            still += 1
    return changes, still


def spread(codes: Any, missing: Any, first: Any, lacks: Any) -> Any:
    """For each of some states whether the code of what it lacks says that it lacks the goal."""
    for place in range(len(codes)):
        lacks[first + place] = missing[codes[place]]


def join(starts: Any, edges: Any, first: Any, all_starts: Any, all_edges: Any) -> Any:
    """Put the edges of the states from `first` on behind those of the states before them."""
    before = all_starts[first]
    for place in range(1, len(starts)):
        all_starts[first + place] = before + starts[place]
    for at in range(len(edges)):
        all_edges[before + at] = edges[at]


def components(
    starts: Any, edges: Any, order: Any, low: Any, member: Any, cursor: Any, stack: Any, work: Any
) -> Any:
    """For each state its component, and how many there are (Tarjan 1972).

    A component's number is above those that it leads to. `order` and `member` are given full of -1.
    """
    held = 0
    count = 0
    found = 0
    for root in range(len(member)):
        if order[root] >= 0:
            continue
        depth = 1
        work[0] = root
        while depth:
            state = work[depth - 1]
            if order[state] < 0:
                order[state] = count
                low[state] = count
                cursor[state] = starts[state]
                count += 1
                stack[held] = state
                held += 1
            descended = False
            while cursor[state] < starts[state + 1]:
                target = edges[cursor[state]] & TARGET
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
    return found


def by_component(member: Any, first: Any, states: Any) -> Any:
    """The states in order of their component, and where each begins; `first` is given full of 0."""
    for state in range(len(member)):
        first[member[state] + 1] += 1
    for number in range(1, len(first)):
        first[number] += first[number - 1]
    for state in range(len(member)):
        states[first[member[state]]] = state
        first[member[state]] += 1
    for number in range(len(first) - 1, 0, -1):
        first[number] = first[number - 1]
    first[0] = 0


def open_up(cut: Any, member: Any, flags: Any) -> Any:
    """Mark the components of states of which a bound cuts moves."""
    for k in range(len(cut)):
        flags[member[cut[k]]] |= OPEN


def describe(starts: Any, edges: Any, member: Any, lacks: Any, flags: Any) -> Any:
    """For each component what it holds; `flags` is given full of 0."""
    for state in range(len(member)):
        mine = member[state]
        found = flags[mine]
        if lacks[state]:
            found |= LACKING | UNSETTLED
        for at in range(starts[state], starts[state + 1]):
            if member[edges[at] & TARGET] != mine:
                found |= EXITS
            elif edges[at] >> 31:
                found |= CYCLIC | TICKING
            else:
                found |= CYCLIC
        flags[mine] = found


def unsettle(starts: Any, edges: Any, member: Any, flags: Any, states: Any) -> Any:
    """Mark every component from which an unsettled one can be reached.

    `states` come in the order of their components. Says in how many of these states a run can stay
    among such ones.
    """
    staying = 0
    for k in range(len(states)):
        state = states[k]
        mine = member[state]
        if not flags[mine] & UNSETTLED:
            for at in range(starts[state], starts[state + 1]):
                if flags[member[edges[at] & TARGET]] & UNSETTLED:
                    flags[mine] |= UNSETTLED
                    break
        if flags[mine] & UNSETTLED and flags[mine] & CYCLIC:
            staying += 1
    return staying


def first_stuck(member: Any, flags: Any, lacks: Any, timed: Any) -> Any:
    """The nearest state from which the goal is never reached, or where time stands still; or -1."""
    for state in range(len(member)):
        found = flags[member[state]]
        if found & (EXITS | OPEN):
            continue
        if found & LACKING:
            if lacks[state]:
                return state
        elif timed and not found & TICKING:
            return state
    return -1


def first_unsettled(member: Any, flags: Any, lacks: Any, round_: Any) -> Any:
    """The nearest state where a run can go round for ever and may miss the goal, or -1."""
    for state in range(len(member)):
        found = flags[member[state]]
        wanted = found & round_ and found & UNSETTLED
        if wanted and (lacks[state] or not found & LACKING):
            return state
    return -1


def lost(first: Any, codes: Any, missing: Any, member: Any, flags: Any, found: Any) -> Any:
    """For each code of what is lacking the nearest state that lacks it for ever.

    `found` holds those of nearer states, and -1 where there is none.
    """
    for place in range(len(codes)):
        code = codes[place]
        state = first + place
        if missing[code] and found[code] < 0 and not flags[member[state]] & (EXITS | OPEN):
            found[code] = state


def farthest(left: Any, first: Any, last: Any) -> Any:
    """The first of these states from which it takes longest."""
    best = first
    for state in range(first, last):
        if left[state] > left[best]:
            best = state
    return best


def _full(size: int, fill: int, kind: str) -> NumberArray:
    return array(kind, [fill]) * size


PLAIN = Loops(
    _full,
    sweep,
    spread,
    join,
    components,
    by_component,
    open_up,
    describe,
    unsettle,
    first_stuck,
    first_unsettled,
    lost,
    farthest,
)
