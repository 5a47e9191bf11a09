"""Which of the shortest runs to show: one that switches as seldom as can be between nodes.

A switch is a move at another node than the move before. A fault is a move at the node that it
befalls; ticks are nobody's, and neither make a switch nor undo one. Among equals the run comes
first whose moves come first in the order of `Moves.successors`, so that every engine shows the
same one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from electorate.check.arrival import TOLD
from electorate.check.column import Row
from electorate.check.compiler import TICK, Move
from electorate.check.explain import raw_rows, trace_of
from electorate.check.judge import Judge
from electorate.check.moves import Moves
from electorate.check.start import Beginning
from electorate.check.verdict import Violation
from electorate.claims import Witness

STATES_MAX = 200_000
"""Up to so many states all shortest runs are compared; beyond, the one that was found is mended."""

NOBODYS = frozenset({"tick", "phase", TOLD})


class Ordered(Violation):
    """A broken claim, with a run that was chosen among the shortest ones."""

    switches: int = 0
    fewest: bool = False
    """Whether all shortest runs were compared, and none of them has fewer switches."""


Path = Sequence[tuple[Row, Move]]
"""Rows, each with the move that leaves it."""


class Run(NamedTuple):
    """A path of moves and the row that it ends in."""

    path: Path
    end: Row

    @property
    def rows(self) -> list[Row]:
        """All rows that it passes."""
        return [*(row for row, _ in self.path), self.end]


WitnessOf = Callable[[Row | None, Row], Witness | None]
"""Why a claim is broken in a row; the row before it is None at the start of a run."""


def ordered_violation(
    moves: Moves,
    judge: Judge,
    claim: str,
    starts: Iterable[Beginning],
    path: Path,
    searched: int,
    states_max: int = STATES_MAX,
) -> Ordered:
    """The violation that a shortest run shows, told by the best run of the same length.

    `path` is the run that was found, with the way to its start; `searched` states have been met.
    """

    def witness_of(before: Row | None, row: Row) -> Witness | None:
        broken = judge.of(row).broken
        if before is not None:
            broken = (*broken, *judge.of_step(before, row))
        return next((witness for each, witness in broken if each.name == claim), None)

    beginnings = {beginning.row: beginning for beginning in starts}
    best: Run | None = None
    with moves.space.looking_again():
        run = found = _run_along(moves, beginnings.values(), path)
        depth = _depth(found, beginnings, witness_of)
        try:
            if searched <= states_max:
                best = fewest_switches(moves, beginnings.values(), depth, witness_of, states_max)
            run = best or mended(moves, found, witness_of, len(found.path) - depth)
        except KeyboardInterrupt:
            pass  # Whoever cannot wait for a tidier run gets the one that was found.
    *_, before, end = [None, *raw_rows(moves, [*run.path, (run.end, TICK)])]
    witness = witness_of(before if depth else None, end)
    assert witness is not None
    trace = trace_of(moves, run.path)
    switches = switches_of(moves, run)
    begins = len(run.path) - depth
    return Ordered(
        claim, witness, trace, begins_after=begins, switches=switches, fewest=best is not None
    )


def _run_along(moves: Moves, starts: Iterable[Beginning], path: Path) -> Run:
    """The run along a path: it ends at a start, or where the last move leads."""
    for beginning in starts:
        if list(beginning.path) == list(path):
            return Run(path, beginning.row)
    row, last = path[-1]
    return Run(path, next(after for move, after in moves.successors(row) if move == last))


def _depth(run: Run, beginnings: Collection[Row], witness_of: WitnessOf) -> int:
    """How many moves come after the start: a shortest run passes through no other one."""
    if run.end in beginnings and witness_of(None, run.end) is not None:
        return 0
    return next(k for k, (row, _) in enumerate(reversed(run.path), 1) if row in beginnings)


def switches_of(moves: Moves, run: Run) -> int:
    """How often the run turns to another node."""
    return sum(a != b for a, b in pairwise(_nodes(moves, run.path)))


def _nodes(moves: Moves, path: Iterable[tuple[Row, Move]]) -> list[int]:
    return [moves.node_of(move) for _, move in path if move.kind not in NOBODYS]


# --- all shortest runs ---

Key = tuple[Row, int | None]
"""A row, and the node of the last move that was somebody's."""


class Reached(NamedTuple):
    """The best way to a key: its cost, the key before, and the move from there."""

    cost: tuple[int, int]
    """How many moves lead to the start, and the switches up to here."""
    before: Key | None = None
    move: Move | None = None


def fewest_switches(
    moves: Moves,
    starts: Iterable[Beginning],
    depth: int,
    witness_of: WitnessOf,
    states_max: int = STATES_MAX,
) -> Run | None:
    """Of all runs with `depth` moves from a start to where the claim is broken, the best.

    No shorter run may break it. None if there are more than `states_max` rows to see.
    """
    beginnings = {beginning.row: beginning for beginning in starts}
    level = _first_level(moves, beginnings.values())
    levels = [level]
    if depth == 0:
        ends = {key: r for key, r in level.items() if witness_of(None, key[0]) is not None}
        return _told(levels, _cheapest(ends), beginnings)
    useful = _useful(moves, beginnings, depth, witness_of, states_max)
    if useful is None:
        return None
    for rows in useful:
        level = _next_level(moves, level, _into(rows))
        levels.append(level)
    last = _next_level(moves, level, lambda row, after: witness_of(row, after) is not None)
    return _told([*levels, last], _cheapest(last), beginnings)


def _into(rows: set[Row]) -> Callable[[Row, Row], bool]:
    return lambda _, after: after in rows


def _cheapest(level: dict[Key, Reached]) -> Key:
    return min(level, key=lambda key: level[key].cost)


def _useful(
    moves: Moves,
    starts: Collection[Row],
    depth: int,
    witness_of: WitnessOf,
    states_max: int,
) -> list[set[Row]] | None:
    """For 1, 2 … `depth` - 1 moves the rows that runs pass which break the claim in `depth`."""
    rows, numbers = list(starts), {row: number for number, row in enumerate(starts)}
    sources: list[list[int]] = [[] for _ in rows]
    first, last = 0, len(rows)
    for _ in range(depth - 1):
        for number in range(first, last):
            for _, after in moves.successors(rows[number]):
                known = numbers.get(after)
                if known is None:
                    numbers[after] = len(rows)
                    rows.append(after)
                    sources.append([number])
                elif known >= last:  # All others can be reached sooner.
                    sources[known].append(number)
        first, last = last, len(rows)
        if last > states_max:
            return None
    passed = {
        number
        for number in range(first, last)
        for _, after in moves.successors(rows[number])
        if witness_of(rows[number], after) is not None
    }
    useful: list[set[Row]] = []
    for _ in range(depth - 1):
        useful.append({rows[number] for number in passed})
        passed = {source for number in passed for source in sources[number]}
    return useful[::-1]


def _first_level(moves: Moves, starts: Iterable[Beginning]) -> dict[Key, Reached]:
    level: dict[Key, Reached] = {}
    for beginning in starts:
        row, path = beginning.row, beginning.path
        places = _nodes(moves, path)
        cost = (len(path), switches_of(moves, Run(path, row)))
        level[row, places[-1] if places else None] = Reached(cost)
    return level


def _next_level(
    moves: Moves, level: dict[Key, Reached], wanted: Callable[[Row, Row], bool]
) -> dict[Key, Reached]:
    """The keys one wanted move on. Their order is that of the runs that lead to them."""
    following: dict[Key, Reached] = {}
    for key, reached in level.items():
        row, last = key
        start, switches = reached.cost
        for move, after in moves.successors(row):
            if not wanted(row, after):
                continue
            place = last if move.kind in NOBODYS else moves.node_of(move)
            switched = last is not None and place != last
            cost = (start, switches + switched)
            known = following.get((after, place))
            if known is None or cost < known.cost:
                following.pop((after, place), None)  # It takes the place of its new run.
                following[after, place] = Reached(cost, key, move)
    return following


def _told(levels: list[dict[Key, Reached]], last: Key, beginnings: dict[Row, Beginning]) -> Run:
    path: list[tuple[Row, Move]] = []
    key = last
    for level in reversed(levels[1:]):
        _, before, move = level[key]
        assert before is not None
        assert move is not None
        path.append((before[0], move))
        key = before
    return Run((*beginnings[key[0]].path, *reversed(path)), last[0])


# --- one run, mended ---


def mended(moves: Moves, run: Run, witness_of: WitnessOf, first: int = 0) -> Run:
    """The run with neighbouring moves swapped for as long as that saves switches.

    Nothing before the move number `first` is touched, and the run still ends in the same row and
    with the same claim broken.
    """
    fewest = switches_of(moves, run)
    better = True
    while better:
        better = False
        for place in range(first, len(run.path)):
            for other in _carried(moves, run, place, first):
                if switches_of(moves, other) < fewest and _breaks(other, witness_of):
                    run, fewest, better = other, switches_of(moves, other), True
                    break
    return run


def _breaks(run: Run, witness_of: WitnessOf) -> bool:
    return witness_of(run.path[-1][0], run.end) is not None


def _carried(moves: Moves, run: Run, place: int, first: int) -> Iterator[Run]:
    """The run with one move carried back, and then on, as far as it can be."""
    ways = (range(place - 1, first - 1, -1), range(place, len(run.path) - 1))
    for way in ways:
        carried = run
        for left in way:
            swapped = _swapped(moves, carried, left)
            if swapped is None:
                break
            carried = swapped
            yield carried


def _swapped(moves: Moves, run: Run, left: int) -> Run | None:
    """The run with the moves `left` and `left + 1` the other way round; None if that cannot be."""
    (row, one), (_, other) = run.path[left : left + 2]
    for first, between in moves.successors(row):
        if _alike(first, other):
            for second, after in moves.successors(between):
                if after == run.rows[left + 2] and _alike(second, one):
                    swapped = ((row, first), (between, second))
                    return Run((*run.path[:left], *swapped, *run.path[left + 2 :]), run.end)
    return None


def _alike(move: Move, wanted: Move) -> bool:
    return (move.kind, move.where) == (wanted.kind, wanted.where)
