"""Is the goal reached once nothing fails any more, and how long can that take?

Judged on the whole stable graph, by its components: a run stays for ever only in a component,
and time passes for ever only in one that holds a tick.
"""

from collections.abc import Callable
from typing import NamedTuple

from electorate.check.calm import Calm
from electorate.check.explain import trace_of
from electorate.check.verdict import Liveness, Result, Violation
from electorate.claims import Claim, Witness
from electorate.trace import Trace

STANDSTILL = "time stands still, in a loop that takes none and has no way out"


class Finding(NamedTuple):
    """What became of one goal."""

    goal: str
    liveness: Liveness
    tau: int | None = None
    slowest: Trace | None = None
    slowest_from: int | None = None
    violation: Violation | None = None

    @property
    def result(self) -> Result:
        """A goal that can be put off for ever is not reached."""
        return Result.HOLDS if self.liveness is Liveness.LIVE else Result.VIOLATED

    @property
    def gravity(self) -> tuple[int, int]:
        """Larger for a worse finding."""
        return list(Liveness).index(self.liveness), self.tau or 0


class Component(NamedTuple):
    """Some states among which a run can go round."""

    states: list[int]
    ticking: bool
    """Whether time passes on some way round."""
    cyclic: bool
    lacking: bool
    """Whether some state in it lacks the goal."""
    exits: frozenset[int]
    open_ended: bool
    """Whether a bound cut some way out of it."""


class Goal:
    """One goal, judged on the stable graph."""

    def __init__(self, calm: Calm, claim: Claim) -> None:
        self.calm = calm
        self.claim = claim
        self.lacks = [self._lack(state) is not None for state in range(len(calm.rows))]
        parts, self.member = calm.graph.components()
        self.components = [self._describe(states) for states in parts]
        self.settled: list[bool] = []
        """Per component: from here on the goal is never lost again."""
        for component in self.components:
            follow = all(self.settled[other] for other in component.exits)
            self.settled.append(follow and not component.lacking)

    def _lack(self, state: int) -> Witness | None:
        lacking = self.calm.judge.of(self.calm.rows[state]).lacking
        return next((witness for claim, witness in lacking if claim is self.claim), None)

    def _describe(self, states: list[int]) -> Component:
        mine = self.member[states[0]]
        ticking = cyclic = False
        exits: set[int] = set()
        for state in states:
            for target, tick in self.calm.graph.edges(state):
                if self.member[target] == mine:
                    cyclic = True
                    ticking |= bool(tick)
                else:
                    exits.add(self.member[target])
        lacking = any(self.lacks[state] for state in states)
        open_ended = not self.calm.cut.isdisjoint(states)
        return Component(states, ticking, cyclic, lacking, frozenset(exits), open_ended)

    def judge(self) -> Finding:
        """The grade, with τ and the slowest run, or with a run that never gets there."""
        timed = self.calm.world.model.bounded
        stuck = self._first(
            lambda c: (c.lacking or (timed and not c.ticking)) and not (c.exits or c.open_ended)
        )
        if stuck is not None:
            return self._violated(Liveness.STUCK, stuck)
        bad = self._first(
            lambda c: (
                (c.ticking if timed else c.cyclic)
                and (c.lacking or not self.settled[self.member[c.states[0]]])
            )
        )
        if bad is not None:
            return self._violated(Liveness.PREVENTABLE, bad)
        if not timed:
            return Finding(self.claim.name, Liveness.LIVE)
        return self._live()

    def _first(self, wanted: Callable[[Component], bool]) -> Component | None:
        """Of the wanted components, the one that is entered soonest."""
        found = [c for c in self.components if wanted(c)]
        return min(found, key=lambda c: min(c.states), default=None)

    def _violated(self, liveness: Liveness, component: Component) -> Finding:
        lacking = [state for state in component.states if self.lacks[state]]
        entry = min(lacking or component.states)
        path, states = self.calm.stem(entry)
        moves = [*path, *self.calm.moves(states)]
        loop_after: int | None = None
        witness = self._lack(entry)
        if lacking or not component.exits:
            rest = self._round(entry, component) if component.cyclic else []
            loop_after = len(moves) if component.cyclic else None
            if self.calm.world.model.bounded and not (component.exits or component.ticking):
                witness = Witness((), STANDSTILL)
        else:
            # The goal is held here for any time, and then lost without a fault.
            rest = self.calm.graph.way(entry, self.lacks.__getitem__, lambda _: True)
            witness = self._lack(rest[-1])
        assert witness is not None
        trace = trace_of(self.calm.world, [*moves, *self.calm.moves(rest)])
        violation = Violation(self.claim.name, witness, trace, len(path), loop_after)
        return Finding(self.claim.name, liveness, violation=violation)

    def _round(self, entry: int, component: Component) -> list[int]:
        """From `entry` round and back to it, over a tick if there is one."""
        mine = self.member[entry]

        def inside(state: int) -> bool:
            return self.member[state] == mine

        graph = self.calm.graph
        if not component.ticking:
            return graph.way(entry, lambda state: state == entry, inside)
        for state in self._nearest_first(entry, mine):
            for target, tick in graph.edges(state):
                if tick and inside(target):
                    out = [entry] if state == entry else graph.way(entry, state.__eq__, inside)
                    back = [entry] if target == entry else graph.way(target, entry.__eq__, inside)
                    return out + back
        raise AssertionError("a ticking component holds a tick")

    def _nearest_first(self, entry: int, mine: int) -> list[int]:
        order, met = [entry], {entry}
        for state in order:
            for target, _ in self.calm.graph.edges(state):
                if target not in met and self.member[target] == mine:
                    met.add(target)
                    order.append(target)
        return order

    def _live(self) -> Finding:
        """The longest way, in ticks, to where the goal is never lost again."""
        left = [0] * len(self.components)
        next_edge: list[tuple[int, int] | None] = [None] * len(self.components)
        for number, component in enumerate(self.components):
            if self.settled[number]:
                continue
            for state in component.states:
                for target, tick in self.calm.graph.edges(state):
                    other = self.member[target]
                    if other == number:
                        continue
                    ticks = left[other] + tick
                    if next_edge[number] is None or ticks > left[number]:
                        left[number], next_edge[number] = ticks, (state, target)
        slowest = max(self.calm.roots, key=lambda state: (left[self.member[state]], -state))
        path, states = self.calm.stem(slowest)
        follow = [slowest]
        while (edge := next_edge[self.member[follow[-1]]]) is not None:
            leaves, target = edge
            if follow[-1] != leaves:
                mine = self.member[leaves]
                inside = (lambda m: lambda s: self.member[s] == m)(mine)
                follow += self.calm.graph.way(follow[-1], leaves.__eq__, inside)[1:]
            follow.append(target)
        moves = [*path, *self.calm.moves(states), *self.calm.moves(follow)]
        trace = trace_of(self.calm.world, moves)
        tau = left[self.member[slowest]]
        return Finding(self.claim.name, Liveness.LIVE, tau, trace, len(path))


def judge_goal(calm: Calm, claim: Claim) -> Finding:
    """Judge one goal on the stable graph."""
    return Goal(calm, claim).judge()
