"""Telling how a goal is missed or reached: stems, loops and slowest runs on a stable graph."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from electorate.check.column import Row
from electorate.check.compiler import TICK, Move
from electorate.check.explain import begins_after, raw_rows, trace_of
from electorate.check.graph import anything, shortest_way
from electorate.check.loops import NumberArray
from electorate.check.stable import StableGraph
from electorate.check.verdict import Liveness, Result, Violation, Way
from electorate.claims import Claim, Witness
from electorate.trace import KINDS, Trace

STANDSTILL = "time stands still, in a loop that takes none and has no way out"

Path = list[tuple[Row, Move]]


RESULTS = {
    Liveness.LIVE: Result.HOLDS,
    Liveness.UNDECIDED: Result.UNKNOWN,
    Liveness.PREVENTABLE: Result.VIOLATED,
    Liveness.STUCK: Result.VIOLATED,
}


class Finding(NamedTuple):
    """What became of one goal."""

    goal: str
    liveness: Liveness
    tau: int | None = None
    slowest: Trace | None = None
    slowest_from: int | None = None
    slowest_begins: int | None = None
    violation: Violation | None = None
    ways: tuple[Way, ...] = ()

    @property
    def result(self) -> Result:
        """A goal that can be put off for ever is not reached."""
        return RESULTS[self.liveness]

    @property
    def gravity(self) -> tuple[int, int]:
        """Larger for a worse finding."""
        return list(Liveness).index(self.liveness), self.tau or 0


class Component(NamedTuple):
    """Some states among which a run can go round."""

    ticking: bool
    """Whether time passes on some way round."""
    cyclic: bool
    lacking: bool
    """Whether some state in it lacks the goal."""
    exits: bool
    """Whether a run can leave it."""


class Teller:
    """Finds the runs that show what was judged of one goal."""

    def __init__(
        self, graph: StableGraph, claim: Claim, member: NumberArray, lacks: NumberArray
    ) -> None:
        self._graph = graph
        self._claim = claim
        self._member = member
        self._lacks = lacks

    def lack(self, state: int) -> Witness | None:
        """What a state lacks of the goal."""
        return self._lack_in(self._graph.row(state))

    def _lack_in(self, row: Row) -> Witness | None:
        lacking = self._graph.judge.of(row).lacking
        return next((witness for claim, witness in lacking if claim is self._claim), None)

    def violated(self, liveness: Liveness, component: Component, entry: int) -> Finding:
        """The run into a component where the goal is missed, by this state, and round in it."""
        graph = self._graph
        path, states = graph.stem(entry)
        run = [*path, *moves_along(graph, states)]
        loop_after: int | None = None
        missed = len(run)
        stands_still = False
        if component.lacking or not component.exits:
            rest = self._round(entry, component) if component.cyclic else []
            loop_after = len(run) if component.cyclic else None
            stands_still = graph.space.model.bounded and not (component.exits or component.ticking)
        else:
            # The goal is held here for any time, and then lost without a fault.
            rest = self._way(entry, lambda state: bool(self._lacks[state]), anything)
            missed += len(rest) - 1
        run += moves_along(graph, rest)
        last = graph.row(rest[-1] if rest else entry)
        witness = Witness((), STANDSTILL)
        if not stands_still:
            missing = self._lack_in(raw_rows(graph.moves, [*run, (last, TICK)])[missed])
            assert missing is not None
            witness = missing
        begins = begins_after(graph.space, run, last)
        ends = max(faults_end(run[:missed]), begins)
        trace = trace_of(graph.moves, run)
        violation = Violation(self._claim.name, witness, trace, ends, loop_after, begins)
        return Finding(self._claim.name, liveness, violation=violation)

    def ways(self, nearest: dict[str, tuple[int, int]], *, told: bool) -> tuple[Way, ...]:
        """The ways of getting stuck, the nearest first; given for each its depth and a state."""
        ordered = sorted(nearest.items(), key=lambda way: (way[1][0], way[0]))
        return tuple(
            Way(text, depth, self._run_to(state) if told else None)
            for text, (depth, state) in ordered
        )

    def _run_to(self, state: int) -> Violation:
        """A shortest run to a state from which the goal is never reached."""
        graph, last = self._graph, self._graph.row(state)
        path, states = graph.stem(state)
        run = [*path, *moves_along(graph, states)]
        witness = self._lack_in(raw_rows(graph.moves, [*run, (last, TICK)])[-1])
        assert witness is not None
        begins = begins_after(graph.space, run, last)
        ends = max(faults_end(run), begins)
        trace = trace_of(graph.moves, run)
        return Violation(self._claim.name, witness, trace, ends, None, begins)

    def _inside(self, state: int) -> Callable[[int], bool]:
        mine = self._member[state]
        return lambda other: bool(self._member[other] == mine)

    def _way(
        self, start: int, found: Callable[[int], bool], allowed: Callable[[int], bool]
    ) -> list[int]:
        return shortest_way(self._graph.edges, start, found, allowed)

    def _round(self, entry: int, component: Component) -> list[int]:
        """From `entry` round and back to it, over a tick if there is one."""
        inside = self._inside(entry)
        if not component.ticking:
            return self._way(entry, entry.__eq__, inside)
        for state in self._nearest_first(entry, inside):
            for target, tick in self._graph.edges(state):
                if tick and inside(target):
                    out = [entry] if state == entry else self._way(entry, state.__eq__, inside)
                    back = [entry] if target == entry else self._way(target, entry.__eq__, inside)
                    return out + back
        raise AssertionError("a ticking component holds a tick")

    def _nearest_first(self, entry: int, inside: Callable[[int], bool]) -> list[int]:
        order, met = [entry], {entry}
        for state in order:
            for target, _ in self._graph.edges(state):
                if target not in met and inside(target):
                    met.add(target)
                    order.append(target)
        return order


def slowest_run(
    graph: StableGraph, claim: Claim, grade: Liveness, tau: int, states: list[int]
) -> Finding:
    """A goal that is reached: the run along these states, from where faults end, takes longest."""
    path, before = graph.stem(states[0])
    run = [*path, *moves_along(graph, before), *moves_along(graph, states)]
    trace = trace_of(graph.moves, run)
    begins = begins_after(graph.space, run, graph.row(states[-1]))
    # A detector that lies for ever does so after the last fault, too: those lies end nothing.
    return Finding(claim.name, grade, tau, trace, max(faults_end(path), begins), begins)


def moves_along(graph: StableGraph, states: list[int]) -> Path:
    """The moves along states that follow one another."""
    path: Path = []
    with graph.space.looking_again():
        for state, after in pairwise(states):
            row, wanted = graph.row(state), graph.row(after)
            ways = [move for move, found in graph.moves.successors(row) if found == wanted]
            # Where time may pass or not on the same way, a slowest run lets it pass.
            path.append((row, next((m for m in ways if m.kind == "tick"), ways[0])))
    return path


FAULTS = {verb for verb, kind in KINDS.items() if kind.fault} | {"lie", "ask"}


def faults_end(path: Path) -> int:
    """The number of moves after which nothing fails any more."""
    faulty = [k for k, (_, m) in enumerate(path) if m.kind in FAULTS or m.torn is not None]
    return faulty[-1] + 1 if faulty else 0
