"""Is the goal reached once nothing fails any more, and how long can that take?

Judged on the whole stable graph, by its components: a run stays for ever only in a component,
and time passes for ever only in one that holds a tick.
"""

from collections.abc import Callable

from electorate.check.calm import Calm
from electorate.check.graph import shortest_way
from electorate.check.telling import Component, Finding, Teller, slowest_run
from electorate.check.verdict import Liveness, Way
from electorate.claims import Claim


class Goal:
    """One goal, judged on the stable graph."""

    def __init__(self, calm: Calm, claim: Claim) -> None:
        self._calm = calm
        self._claim = claim
        parts, self._member = calm.graph.components()
        self._lacks: list[bool] = [False] * len(calm.rows)
        self._teller = Teller(calm, claim, self._member, self._lacks)
        for state in range(len(calm.rows)):
            self._lacks[state] = self._teller.lack(state) is not None
        self._components = [self._describe(states) for states in parts]
        self._settled: list[bool] = []
        """Per component: from here on the goal is never lost again."""
        for number, component in enumerate(self._components):
            follow = all(self._settled[other] for other in self._after(number))
            self._settled.append(follow and not component.lacking)

    def _after(self, number: int) -> set[int]:
        """The components that a run can go to next."""
        states = self._components[number].states
        targets = (target for state in states for target, _ in self._calm.edges(state))
        return {self._member[target] for target in targets} - {number}

    def _describe(self, states: list[int]) -> Component:
        mine = self._member[states[0]]
        edges = [edge for state in states for edge in self._calm.edges(state)]
        inside = [tick for target, tick in edges if self._member[target] == mine]
        return Component(
            states,
            ticking=any(inside),
            cyclic=bool(inside),
            lacking=any(self._lacks[state] for state in states),
            exits=len(inside) < len(edges) or not self._calm.cut.isdisjoint(states),
        )

    def judge(self) -> Finding:
        """The grade, with τ and the slowest run, or with a run that never gets there."""
        timed = self._calm.world.model.bounded
        stuck = self._nearest(lambda c: (c.lacking or (timed and not c.ticking)) and not c.exits)
        if stuck is not None:
            return self._teller.violated(Liveness.STUCK, *stuck)._replace(ways=self._ways())
        bad = self._nearest(
            lambda c: (c.ticking if timed else c.cyclic) and not self._is_settled(c)
        )
        if bad is not None:
            return self._teller.violated(Liveness.PREVENTABLE, *bad)
        # Whatever a bound cut off, before the last fault or after it, may miss or lose the goal.
        grade = Liveness.UNDECIDED if self._calm.world.cuts else Liveness.LIVE
        return self._slowest(grade) if timed else Finding(self._claim.name, grade)

    def _ways(self) -> tuple[Way, ...]:
        """In what ways runs get stuck, and how far the nearest of each is away."""
        nearest: dict[str, tuple[int, int]] = {}
        for component in self._components:
            for state in component.states if not component.exits else ():
                witness = self._teller.lack(state)
                if witness is not None:
                    found = (self._calm.depths[state], state)
                    nearest[witness.text] = min(found, nearest.get(witness.text, found))
        return self._teller.ways(nearest, told=self._calm.tells_ways)

    def _is_settled(self, component: Component) -> bool:
        return self._settled[self._member[next(iter(component.states))]]

    def _nearest(self, wanted: Callable[[Component], bool]) -> tuple[Component, int] | None:
        """Of the wanted components, the nearest, and its nearest state that lacks the goal."""
        found = [
            (component, state)
            for component in self._components
            if wanted(component)
            for state in component.states
            if self._lacks[state] or not component.lacking
        ]
        return min(found, key=lambda pair: (self._calm.depths[pair[1]], pair[1]), default=None)

    def _slowest(self, grade: Liveness) -> Finding:
        """The longest way, in ticks, to where the goal is never lost again."""
        left = [0] * len(self._components)
        next_edge: list[tuple[int, int] | None] = [None] * len(self._components)
        for number, component in enumerate(self._components):
            if self._settled[number]:
                continue
            for state in component.states:
                for target, tick in self._calm.edges(state):
                    other = self._member[target]
                    if other == number:
                        continue
                    ticks = left[other] + tick
                    if next_edge[number] is None or ticks > left[number]:
                        left[number], next_edge[number] = ticks, (state, target)
        slowest = max(self._calm.roots, key=lambda state: (left[self._member[state]], -state))
        states = [slowest]
        while (edge := next_edge[self._member[states[-1]]]) is not None:
            states += self._way_over(states[-1], *edge)
        return slowest_run(self._calm, self._claim, grade, left[self._member[slowest]], states)

    def _way_over(self, start: int, leaves: int, target: int) -> list[int]:
        """Inside a component to where it is left, and over that edge; without the start."""
        if start == leaves:
            return [target]
        mine = self._member[start]
        inside = shortest_way(
            self._calm.edges, start, leaves.__eq__, lambda state: self._member[state] == mine
        )
        return [*inside[1:], target]


def judge_goal(calm: Calm, claim: Claim) -> Finding:
    """Judge one goal on the stable graph."""
    return Goal(calm, claim).judge()
