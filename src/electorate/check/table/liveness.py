"""Judging a goal on the stable graph with compiled passes; the same answers as the reference."""

from typing import Any

import numpy as np

from electorate.check.table.calm import TableCalm
from electorate.check.table.component import (
    CYCLIC,
    EXITS,
    LACKING,
    OPEN,
    TICKING,
    UNSETTLED,
    by_component,
    components,
    described,
    longest,
    unsettle,
)
from electorate.check.telling import Component, Finding, Teller
from electorate.check.verdict import Liveness
from electorate.claims import Claim


class TableGoal:
    """One goal, judged on the arrays of a stable graph."""

    def __init__(self, calm: TableCalm, claim: Claim) -> None:
        self._calm = calm
        self._claim = claim
        self._lacks = calm.lacks(claim)
        self._member, count = components(calm.starts, calm.targets)
        self._first, self._states = by_component(self._member, count)
        self._flags = described(
            calm.starts, calm.targets, calm.ticks, self._member, count, self._lacks, calm.cut
        )
        unsettle(calm.starts, calm.targets, self._member, self._flags, self._first, self._states)
        self._teller = Teller(calm, claim, self._member, self._lacks)

    def judge(self) -> Finding:
        """The grade, with τ and the slowest run, or with a run that never gets there."""
        timed = self._calm.world.model.bounded
        flags = self._flags
        ends = flags & (EXITS | OPEN) == 0
        still = (flags & TICKING == 0) & timed
        stuck = self._nearest(ends & ((flags & LACKING != 0) | still))
        if stuck is not None:
            finding = self._teller.violated(Liveness.STUCK, *stuck)
            lost = np.flatnonzero(ends[self._member] & self._lacks)
            return finding._replace(ways=self._calm.ways(self._claim, lost))
        round_ = flags & (TICKING if timed else CYCLIC) != 0
        bad = self._nearest(round_ & (flags & UNSETTLED != 0))
        if bad is not None:
            return self._teller.violated(Liveness.PREVENTABLE, *bad)
        return self._live() if timed else Finding(self._claim.name, Liveness.LIVE)

    def _nearest(self, wanted: np.ndarray[Any, Any]) -> tuple[Component, int] | None:
        """Of the wanted components, the nearest, and its nearest state that lacks the goal."""
        flags = self._flags[self._member]
        entries = np.flatnonzero(wanted[self._member] & (self._lacks | (flags & LACKING == 0)))
        if not len(entries):
            return None
        entry = int(entries[np.argmin(self._calm.depths[entries])])
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

    def _live(self) -> Finding:
        calm = self._calm
        left, leaves, enters = longest(
            calm.starts,
            calm.targets,
            calm.ticks,
            self._member,
            self._flags,
            self._first,
            self._states,
        )
        slowest = int(calm.roots[np.argmax(left[self._member[calm.roots]])])
        tau = int(left[self._member[slowest]])

        def next_edge(number: int) -> tuple[int, int] | None:
            found = int(leaves[number])
            return None if found < 0 else (found, int(enters[number]))

        return self._teller.live(slowest, tau, next_edge)


def judge_goal(calm: TableCalm, claim: Claim) -> Finding:
    """Judge one goal on the stable graph."""
    return TableGoal(calm, claim).judge()
