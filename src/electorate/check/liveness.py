"""Is the goal reached once nothing fails any more, and how long can that take?

How long is found by sweeps over the edges in the order in which they lie in memory. Nothing but two
small numbers a state is kept, so graphs fit here whose components would not. The sweeps end if
every run comes to where the goal is never lost again. If some do not, they go on rising, and the
components have to tell which: a run stays for ever only in a component, and time passes for ever
only in one that holds a tick.
"""

from electorate.check.graph import Components, anything, shortest_way
from electorate.check.loops import (
    CYCLIC,
    EXITS,
    LACKING,
    OPEN,
    SETTLED,
    TICKING,
)
from electorate.check.stable import StableGraph
from electorate.check.verdict import Liveness
from electorate.check.witness_run import Component, Finding, Teller, slowest_run
from electorate.claims import Claim


def judge_goal(graph: StableGraph, claim: Claim) -> Finding:
    """The grade, with τ and the slowest run, or with a run that never gets there."""
    goal = _Goal(graph, claim)
    goal.sweep(graph.states.sweeps_max)
    if not (goal.complete and goal.is_reached):
        whole = _Whole(goal)
        missed = whole.missed()
        if missed is not None:
            return missed
        whole.sweep()
    # Whatever a bound cut off, before the last fault or after it, may miss or lose the goal.
    grade = Liveness.UNDECIDED if graph.space.cuts else Liveness.LIVE
    return goal.slowest(grade) if goal.timed else Finding(claim.name, grade)


class _Goal:
    """One goal, and what the sweeps have found of it."""

    def __init__(self, graph: StableGraph, claim: Claim) -> None:
        self.graph = graph
        self.claim = claim
        self.timed = graph.space.model.bounded
        self.missing = graph.missing(claim)
        self.left = graph.loops.full(len(graph), SETTLED, "i")
        """For each state the most ticks until the goal is safe, SETTLED where it is already."""
        self.moves = graph.loops.full(len(graph), 0, "B")
        """Whether time can pass, some way on; without a clock: whether the run ends well."""
        self.complete = False
        """Whether the numbers have stopped rising."""
        self.is_reached = False
        """Whether no state is without moves."""

    def sweep(self, sweeps_max: int) -> None:
        """Go over the edges until nothing changes; without a clock moves are counted, not ticks."""
        backward = self.graph.loops.full(0, 0, "i")
        for _ in range(sweeps_max):
            changes = still = 0
            for stretch in reversed(self.graph.stretches):
                changed, stuck = self.graph.loops.sweep(
                    *stretch[:4], self.missing, self.timed, backward, self.left, self.moves
                )
                changes, still = changes + changed, still + stuck
            self.is_reached = not still
            if not changes:
                self.complete = True
                return

    def slowest(self, grade: Liveness) -> Finding:
        """The run that takes longest: along states from which no way is longer."""
        graph, left = self.graph, self.left
        farthest = (graph.loops.farthest(left, r.start, r.stop) for r in graph.roots if r)
        slowest = int(max(farthest, key=lambda state: (left[state], -state)))

        def tight(state: int) -> list[tuple[int, int]]:
            edges = graph.edges(state)
            return [(t, tick) for t, tick in edges if max(left[t], 0) + tick == left[state]]

        def is_over(state: int) -> bool:
            """Whether the goal is safe, or the run is cut: beyond a bound nobody has looked."""
            return left[state] < 0 or not any(True for _ in graph.edges(state))

        def way_on(state: int) -> list[int]:
            def is_nearer(target: int) -> bool:
                return is_over(target) or left[target] < left[state]

            try:
                return shortest_way(tight, state, is_nearer, anything)[1:]
            except LookupError:
                return []  # Here the run goes round in no time, until a bound cuts it.

        states = [slowest]
        while not is_over(states[-1]) and (way := way_on(states[-1])):
            states += way
        return slowest_run(graph, self.claim, grade, max(0, int(left[slowest])), states)


class _Whole:
    """The whole graph with its components."""

    def __init__(self, goal: _Goal) -> None:
        self._goal = goal
        graph, loops = goal.graph, goal.graph.loops
        self._starts, self._edges = graph.joined()
        self._parts = Components.of(loops, self._starts, self._edges)
        self._lacks = loops.full(len(graph), 0, "B")
        for stretch in graph.stretches:
            loops.spread(stretch.lacks, goal.missing, stretch.first, self._lacks)
        self._flags = loops.full(self._parts.size, 0, "B")
        member = self._parts.member
        loops.describe(self._starts, self._edges, member, self._lacks, self._flags)
        for cut in graph.cut:
            loops.open_up(cut, member, self._flags)
        given = (self._starts, self._edges, member, self._flags, self._parts.states)
        self._is_plain = not loops.unsettle(*given)
        """Whether nothing can go round before the goal is safe, not even in no time."""
        self._teller = Teller(graph, goal.claim, member, self._lacks)

    def missed(self) -> Finding | None:
        """The run that never gets to the goal; None if there is none."""
        goal, member = self._goal, self._parts.member
        graph, loops = goal.graph, goal.graph.loops
        stuck = loops.first_stuck(member, self._flags, self._lacks, goal.timed)
        if stuck >= 0:
            finding = self._violated(Liveness.STUCK, int(stuck))
            lost = loops.full(len(goal.missing), -1, "i")
            for stretch in graph.stretches:
                loops.lost(stretch.first, stretch.lacks, goal.missing, member, self._flags, lost)
            nearest = graph.nearest(goal.claim, lost)
            return finding._replace(ways=self._teller.ways(nearest, told=graph.tells_ways))
        round_ = TICKING if goal.timed else CYCLIC
        bad = loops.first_unsettled(member, self._flags, self._lacks, round_)
        return None if bad < 0 else self._violated(Liveness.PREVENTABLE, int(bad))

    def _violated(self, grade: Liveness, entry: int) -> Finding:
        found = int(self._flags[self._parts.member[entry]])
        component = Component(
            ticking=bool(found & TICKING),
            cyclic=bool(found & CYCLIC),
            lacking=bool(found & LACKING),
            exits=bool(found & (EXITS | OPEN)),
        )
        return self._teller.violated(grade, component, entry)

    def sweep(self) -> None:
        """Sweep on over all states, each component after those that it leads to."""
        goal, loops = self._goal, self._goal.graph.loops
        is_missing = loops.full(2, 0, "B")
        is_missing[1] = 1
        given = (0, self._starts, self._edges, self._lacks, is_missing, goal.timed)
        changes = len(self._lacks)
        while changes:
            changes, _ = loops.sweep(*given, self._parts.states, goal.left, goal.moves)
            if self._is_plain:
                return  # Whatever a state depends on has come before it.
