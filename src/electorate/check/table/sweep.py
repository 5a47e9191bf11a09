"""How long a goal can take, by sweeps over the edges in the order in which they lie in memory.

Nothing but two small numbers a state is kept, so graphs fit here whose components would not. The
sweeps end if every run comes to where the goal is never lost again; if some do not, they go on
rising, and the components have to tell which.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from electorate.check.table.stretch import TARGET, TICK, Stretch

SETTLED = -1

Array = np.ndarray[Any, Any]


class Swept(NamedTuple):
    """What the sweeps found."""

    left: Array
    """For each state the most ticks until the goal is safe, -1 where it is already."""
    moves: Array
    """Whether time can pass, some way on from here; without a clock: whether the run ends well."""
    complete: bool
    """Whether the numbers have stopped rising."""


def sweep(stretches: Sequence[Stretch], missing: Array, *, timed: bool, sweeps_max: int) -> Swept:
    """Go over the edges until nothing changes; without a clock moves are counted, not ticks."""
    size = stretches[-1].first + len(stretches[-1].lacks)
    left = np.full(size, SETTLED, np.int32)
    moves = np.zeros(size, np.bool_)
    for _ in range(sweeps_max):
        changes = sum(
            _sweep(*stretch[:4], missing, timed, left, moves) for stretch in reversed(stretches)
        )
        if not changes:
            return Swept(left, moves, True)
    return Swept(left, moves, False)


@njit(cache=True)
def _sweep(
    first: Any,
    starts: Any,
    edges: Any,
    lacks: Any,
    missing: Any,
    timed: Any,
    left: Any,
    moves: Any,
) -> Any:
    """Go once backward over a stretch of states; says how many changed."""
    changes = 0
    for place in range(lacks.shape[0] - 1, -1, -1):
        state = first + place
        lacking = missing[lacks[place]]
        unsettled = lacking
        can_move = not timed and (starts[place] < starts[place + 1] or not lacking)
        ahead = 0
        for at in range(starts[place], starts[place + 1]):
            target = edges[at] & TARGET
            tick = edges[at] & TICK != 0
            unsettled |= left[target] >= 0
            can_move |= tick or moves[target]
            ahead = max(ahead, max(left[target], 0) + (tick or not timed))
        far = ahead if unsettled else SETTLED
        if far != left[state] or can_move != moves[state]:
            left[state] = far
            moves[state] = can_move
            changes += 1
    return changes
