"""The stable graph: all that can happen after the last fault, from wherever the faults led.

It grows beside the search, level by level. The engine finds its states and their edges; here they
are kept, each state with what it lacks. The row of a state is asked of the engine, which may have
to replay the way there.
"""

from collections.abc import Callable, Iterator

from electorate.check.column import Row
from electorate.check.effort import LimitReached, Limits
from electorate.check.engine import Path, StableStates
from electorate.check.graph import Stretch, edges_of
from electorate.check.judge import Judge
from electorate.check.loops import Loops, NumberArray
from electorate.check.moves import Moves
from electorate.check.space import StateSpace
from electorate.claims import Claim, Kind

STATES_MAX = 1 << 31


def handed_over(space: StateSpace, limits: Limits) -> int | None:
    """The code of the budget with which the search leaves states to the stable graph, if it does.

    Where only goals are asked for, whatever follows such a state is looked at there anyway.
    """
    only_goals = bool(space.claims) and all(c.kind is Kind.GOAL for c in space.claims)
    model = space.model
    if not (only_goals and limits.lean) or limits.keep_going or model.first_budget().pauses:
        return None
    return space.last_budget


class StableGraph:
    """States without budget, their edges, and for each a shortest way there."""

    def __init__(
        self,
        moves: Moves,
        judge: Judge,
        states: StableStates,
        stem: Callable[[int], Path],
        *,
        tells_ways: bool = False,
    ) -> None:
        """`stem` finds the way to a faulty state, and to where it stands when the faults end."""
        self.moves = moves
        self.space = moves.space
        self.judge = judge
        self.tells_ways = tells_ways
        self.states = states
        self.stretches: list[Stretch] = []
        """The edges, in the order of the states."""
        self.roots: list[range] = []
        """States in which faults ended."""
        self.cut: list[NumberArray] = []
        """States some of whose successors lie beyond a bound."""
        self._stem = stem
        self._depth = 0
        self._shortfalls: list[dict[str, str]] = []
        """What some state lacks: for each goal that it misses, in what way."""
        self._codes: dict[tuple[tuple[str, str], ...], int] = {}

    def __len__(self) -> int:
        return self.states.size

    @property
    def loops(self) -> Loops:
        """The loops that go over it."""
        return self.states.loops

    @property
    def transitions(self) -> int:
        """How many edges there are."""
        return sum(len(stretch.edges) for stretch in self.stretches)

    def meet(self) -> None:
        """Enter the states that the search met last as states in which the faults ended."""
        before = len(self)
        self.states.meet()
        self.roots.append(range(before, len(self)))

    def advance(self, states_max: int) -> None:
        """Add all successors of the states met last."""
        if len(self) > min(states_max, STATES_MAX):
            raise LimitReached(f"more than {states_max:,} stable states (--states-max)")
        for stretch, cut in self.states.expand(self._depth, self._lack):
            self.stretches.append(stretch)
            self.cut.append(cut)
        self._depth += 1

    def _lack(self, row: Row) -> int:
        """The code of what is lacking where such an observation is shown for the first time."""
        judgement = self.judge.of(row)
        self.judge.note_observation(judgement)
        key = tuple((claim.name, witness.text) for claim, witness in judgement.lacking)
        code = self._codes.setdefault(key, len(self._codes))
        if code == len(self._shortfalls):
            self._shortfalls.append(dict(key))
        return code

    def missing(self, claim: Claim) -> NumberArray:
        """For each code of what a state lacks whether that is the goal."""
        missing = self.loops.full(len(self._shortfalls), 0, "B")
        for code, each in enumerate(self._shortfalls):
            missing[code] = claim.name in each
        return missing

    def nearest(self, claim: Claim, states: NumberArray) -> dict[str, tuple[int, int]]:
        """In what ways these states lack the goal, how far the nearest is, and which it is.

        `states` has a state, or -1, for each code of what is lacking.
        """
        found = sorted((int(states[code]), code) for code in range(len(states)))
        nearest: dict[str, tuple[int, int]] = {}
        for state, code in found:
            if state >= 0:
                text = self._shortfalls[code][claim.name]
                nearest.setdefault(text, (self._depth_of(state), state))
        return nearest

    def _depth_of(self, state: int) -> int:
        return max(stretch.depth for stretch in self.stretches if stretch.first <= state)

    # --- runs ---

    def row(self, state: int) -> Row:
        """The row of a state."""
        return self.states.row(state)

    def edges(self, state: int) -> Iterator[tuple[int, int]]:
        """Where one can go from a state, and whether time passes on the way."""
        return edges_of(self.stretches, state)

    def stem(self, state: int) -> tuple[Path, list[int]]:
        """How to get to a state: the path up to the last fault, and the states after it."""
        origin, states = chain(self.states, state)
        return self._stem(origin), states

    # --- as a whole ---

    def joined(self) -> tuple[NumberArray, NumberArray]:
        """Where the edges of each state begin, and all edges."""
        starts = self.loops.full(len(self) + 1, 0, "q")
        edges = self.loops.full(self.transitions, 0, "I")
        for stretch in self.stretches:
            self.loops.join(stretch.starts, stretch.edges, stretch.first, starts, edges)
        return starts, edges


def chain(states: StableStates, state: int) -> tuple[int, list[int]]:
    """The faulty state that a stable state comes from, and the stable states on the way."""
    found = [state]
    while (parent := states.parent(found[-1])) >= 0:
        found.append(parent)
    return -1 - parent, found[::-1]
