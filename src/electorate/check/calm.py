"""The stable graph: all that can happen after the last fault, from wherever the faults led."""

from collections.abc import Callable, Iterable

from electorate.check.column import Row
from electorate.check.compiler import TICKS, Move
from electorate.check.graph import Graph
from electorate.check.judge import Judge
from electorate.check.limit import Limits
from electorate.check.world import World
from electorate.claims import Kind

Path = list[tuple[Row, Move]]


def handed_over(world: World, limits: Limits) -> int | None:
    """The code of the budget with which the search leaves states to the stable graph, if it does.

    Where only goals are asked for, whatever follows such a state is looked at there anyway.
    """
    only_goals = bool(world.claims) and all(c.kind is Kind.GOAL for c in world.claims)
    model = world.model
    if not (only_goals and limits.lean) or limits.keep_going or model.first_budget().pauses:
        return None
    return world.budgets.code(model.last_budget())


class Calm:
    """States without budget, their edges, and for each a shortest way there."""

    def __init__(
        self, world: World, judge: Judge, stem: Callable[[int], Path], *, tells_ways: bool = False
    ) -> None:
        self.world = world
        self.tells_ways = tells_ways
        self.judge = judge
        self.rows: list[Row] = []
        self.graph = Graph()
        self.roots: list[int] = []
        self.cut: set[int] = set()
        """States some of whose successors lie beyond a bound."""
        self.frontier: list[int] = []
        self._stem = stem
        self._index: dict[Row, int] = {}
        self.depths: list[int] = []
        """How many moves each state is away, faulty ones included."""
        self._parents: list[int] = []
        """A state's predecessor; for a root, minus one minus the faulty state it comes from."""

    def meet(self, row: Row, origin: int, depth: int) -> None:
        """Enter a state in which the faults ended, after so many moves."""
        if row not in self._index:
            self.roots.append(self._add(row, -1 - origin, depth))

    def _add(self, row: Row, parent: int, depth: int) -> int:
        place = self._index[row] = len(self.rows)
        self.judge.note_scene(self.judge.of(row))
        self.rows.append(row)
        self._parents.append(parent)
        self.depths.append(depth)
        self.frontier.append(place)
        return place

    def expand_frontier(self) -> None:
        """Add all successors of the states met last."""
        states, self.frontier = self.frontier, []
        facts = 0
        for state in states:
            cuts = self.world.cuts.total()
            edges: list[tuple[int, bool]] = []
            for effect, row in self.world.steps(self.rows[state]):
                facts |= effect.facts
                target = self._index.get(row)
                if target is None:
                    target = self._add(row, state, self.depths[state] + 1)
                edges.append((target, effect is TICKS))
            if self.world.cuts.total() > cuts:
                self.cut.add(state)
            self.graph.add(edges)
        self.judge.note(facts)

    def row(self, state: int) -> Row:
        """The row of a state."""
        return self.rows[state]

    def edges(self, state: int) -> Iterable[tuple[int, int]]:
        """Where one can go from a state, and whether time passes on the way."""
        return self.graph.edges(state)

    def stem(self, state: int) -> tuple[Path, list[int]]:
        """How to get to a state: the path up to the last fault, and the states after it."""
        states = [state]
        while (parent := self._parents[states[-1]]) >= 0:
            states.append(parent)
        return self._stem(-1 - parent), states[::-1]
