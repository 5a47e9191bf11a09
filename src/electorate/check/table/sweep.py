"""How long a goal can take, by sweeps over the edges in the order in which they lie in memory.

Nothing but two small numbers a state is kept, so graphs fit here whose components would not. The
sweeps end if every run comes to where the goal is never lost again; if some do not, they go on
rising, and the components have to tell which.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from electorate.check.table.stretch import TARGET, TICK, Stretch

SETTLED = -1

Array = np.ndarray[Any, Any]


def time_left(
    stretches: Sequence[Stretch], bit: int, cut: Array, *, timed: bool, sweeps_max: int
) -> Array | None:
    """For each state the most ticks until the goal is safe, -1 where it is already.

    Some successors of the states in `cut` lie beyond a bound: who knows whether time passes there.
    Without a clock moves are counted instead of ticks. None if some runs never come there, or
    time can stand still, or too many sweeps are needed to say.
    """
    size = stretches[-1].first + len(stretches[-1].lacks)
    left = np.full(size, SETTLED, np.int32)
    moves = np.zeros(size, np.bool_)
    """Whether time can pass, some way on from here; without a clock: whether the run ends well."""
    goes_on = np.zeros(size, np.bool_)
    goes_on[cut] = timed
    for _ in range(sweeps_max):
        changes = sum(
            _sweep(*stretch, left, moves, goes_on, bit, timed) for stretch in reversed(stretches)
        )
        if not changes:
            return left if moves.all() else None
    return None


@njit(cache=True)
def _sweep(
    first: Any,
    starts: Any,
    edges: Any,
    lacks: Any,
    left: Any,
    moves: Any,
    goes_on: Any,
    bit: Any,
    timed: Any,
) -> Any:
    """Go once backward over a stretch of states; says how many changed."""
    changes = 0
    for place in range(lacks.shape[0] - 1, -1, -1):
        state = first + place
        lacking = bool(lacks[place] & bit)
        unsettled = lacking
        can_move = not timed and (starts[place] < starts[place + 1] or not lacking)
        can_move |= goes_on[state]
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
