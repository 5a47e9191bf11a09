"""Judging a goal on the stable graph with compiled passes; the same answers as the reference."""

from typing import Any

import numpy as np

from electorate.check.graph import anything, shortest_way
from electorate.check.table.calm import TableCalm
from electorate.check.table.component import (
    CYCLIC,
    EXITS,
    LACKING,
    OPEN,
    TICKING,
    UNSETTLED,
    FlatGraph,
    by_component,
    components,
    described,
    unsettle,
)
from electorate.check.table.sweep import sweep
from electorate.check.telling import Component, Finding, Teller, slowest_run
from electorate.check.verdict import Liveness
from electorate.claims import Claim

SWEEPS_MAX = 40
"""After so many the components are asked whether there is an end to it."""

Array = np.ndarray[Any, Any]


def judge_goal(calm: TableCalm, claim: Claim) -> Finding:
    """The grade, with τ and the slowest run, or with a run that never gets there."""
    timed, missing = calm.world.model.bounded, calm.missing(claim)
    swept = sweep(calm.stretches, missing, timed=timed, sweeps_max=SWEEPS_MAX)
    if not (swept.complete and swept.moves.all()):
        missed = Missed(calm, claim).judge()
        if missed is not None:
            return missed
    if not swept.complete:
        swept = sweep(calm.stretches, missing, timed=timed, sweeps_max=len(calm) + 1)
    # Whatever a bound cut off, before the last fault or after it, may miss or lose the goal.
    grade = Liveness.UNDECIDED if calm.world.cuts else Liveness.LIVE
    return _slowest(calm, claim, grade, swept.left) if timed else Finding(claim.name, grade)


def _slowest(calm: TableCalm, claim: Claim, grade: Liveness, left: Array) -> Finding:
    """The run that takes longest: from tick to tick along states from which no way is longer."""
    slowest = max(
        (root.start + int(np.argmax(left[root.start : root.stop])) for root in calm.roots if root),
        key=lambda state: (left[state], -state),
    )

    def tight(state: int) -> list[tuple[int, int]]:
        edges = calm.edges(state)
        return [(t, tick) for t, tick in edges if max(left[t], 0) + tick == left[state]]

    def is_over(state: int) -> bool:
        """Whether the goal is safe, or the run is cut: beyond a bound nobody has looked."""
        return bool(left[state] < 0) or not any(True for _ in calm.edges(state))

    def way_on(state: int) -> list[int]:
        def is_nearer(target: int) -> bool:
            return is_over(target) or bool(left[target] < left[state])

        try:
            return shortest_way(tight, state, is_nearer, anything)[1:]
        except LookupError:
            return []  # Here the run goes round in no time, until a bound cuts it.

    states = [slowest]
    while not is_over(states[-1]) and (way := way_on(states[-1])):
        states += way
    return slowest_run(calm, claim, grade, max(0, int(left[slowest])), states)


class Missed:
    """A goal that some runs never reach, judged by the components of the graph."""

    def __init__(self, calm: TableCalm, claim: Claim) -> None:
        self._calm = calm
        self._claim = claim
        self._lacks = calm.lacks(claim)
        graph = FlatGraph.of(calm.stretches)
        self._member, count = components(graph.starts, graph.targets)
        self._first, self._states = by_component(self._member, count)
        self._flags = described(*graph, self._member, count, self._lacks, calm.cut)
        unsettle(*graph[:2], self._member, self._flags, self._first, self._states)
        self._teller = Teller(calm, claim, self._member, self._lacks)

    def judge(self) -> Finding | None:
        """The run that never gets there; None if there is none."""
        timed = self._calm.world.model.bounded
        flags = self._flags
        ends = flags & (EXITS | OPEN) == 0
        still = (flags & TICKING == 0) & timed
        stuck = self._nearest(ends & ((flags & LACKING != 0) | still))
        if stuck is not None:
            finding = self._teller.violated(Liveness.STUCK, *stuck)
            lost = np.flatnonzero(ends[self._member] & self._lacks)
            nearest = self._calm.ways(self._claim, lost)
            return finding._replace(ways=self._teller.ways(nearest, told=self._calm.tells_ways))
        round_ = flags & (TICKING if timed else CYCLIC) != 0
        bad = self._nearest(round_ & (flags & UNSETTLED != 0))
        return None if bad is None else self._teller.violated(Liveness.PREVENTABLE, *bad)

    def _nearest(self, wanted: Array) -> tuple[Component, int] | None:
        """Of the wanted components, the nearest, and its nearest state that lacks the goal."""
        flags = self._flags[self._member]
        entries = np.flatnonzero(wanted[self._member] & (self._lacks | (flags & LACKING == 0)))
        if not len(entries):
            return None
        entry = int(entries[0])  # The numbers of states rise with their depth.
        number = int(self._member[entry])
        found = int(self._flags[number])
        states = self._states[self._first[number] : self._first[number + 1]]
        component = Component(
            [int(state) for state in states],
            bool(found & TICKING),
            bool(found & CYCLIC),
            bool(found & LACKING),
            bool(found & (EXITS | OPEN)),
        )
        return component, entry
