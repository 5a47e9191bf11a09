"""Where runs begin: all booted at once, or where the fault-free run ends up."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import msgspec

from electorate.check.column import ModelError, Row
from electorate.check.explain import trace_of
from electorate.check.model import Budget, Detector, Model
from electorate.check.part import Armed
from electorate.check.world import TICK, Move, World
from electorate.trace import Clock, Order, Start, Trace

STEPS_MAX = 100_000


class StartError(Exception):
    """The fault-free run does not end up where a check could begin."""

    def __init__(self, problem: str, trace: Trace) -> None:
        super().__init__(problem)
        self.trace = trace


class Beginning(NamedTuple):
    """A row to begin with, and how it is reached from the start that the setting names."""

    row: Row
    path: tuple[tuple[Row, Move], ...] = ()


def beginnings(world: World, goal: Callable[[World, Row], str | None]) -> list[Beginning]:
    """The start set; `goal` says what a row lacks."""
    if world.model.setting.start is Start.BOOT:
        return [Beginning(_booted(world))]
    calm = _fault_free_twin(world)
    loop = _fault_free_loop(calm, goal)
    return [
        Beginning(
            _translated(calm, row, world),
            tuple((_translated(calm, passed, world), move) for passed, move in path),
        )
        for row, path in _every_phase(calm, loop)
    ]


def _booted(world: World) -> Row:
    row = world.booted()
    if row is None:
        raise _cut(world, [])
    return row


def _cut(world: World, path: list[tuple[Row, Move]]) -> StartError:
    bounds = (f"{name} {getattr(world.model.bounds, name)}" for name in world.cuts)
    return StartError(f"the start is cut by a bound: {', '.join(bounds)}", trace_of(world, path))


def _fault_free_twin(world: World) -> World:
    """The same machine with bounded timing and without faults."""
    if world.model.setting.order is Order.SET:
        raise ModelError("a network that keeps everything never comes to rest: --from boot")
    setting = msgspec.structs.replace(world.model.setting, clock=Clock.BOUNDED, start=Start.BOOT)
    # A full channel cuts the way to the normal state short, also where it blocks later on. And
    # its numbers are the real ones: from there on they are renamed, and told as they are.
    bounds = msgspec.structs.replace(world.model.bounds, blocks=False)
    model = Model(setting, Budget(), bounds, Detector.EVENTUALLY_PERFECT, renames=False)
    return World(world.turns, model, world.claims)


def _fault_free_loop(
    world: World, goal: Callable[[World, Row], str | None]
) -> list[tuple[Row, Move]]:
    """The rows among which the fault-free run goes round, with the move that leaves each."""
    path, first = _fault_free_run(world)
    for place, (passed, _) in enumerate(path[first:], start=first):
        lack = goal(world, passed)
        if lack is not None:
            problem = f"the fault-free run misses the goal: {lack}"
            raise StartError(problem, trace_of(world, path[:place]))
    return path[first:]


def _fault_free_run(world: World) -> tuple[list[tuple[Row, Move]], int]:
    """The run with every delay T until it repeats itself or rests, and where that begins."""
    row = _booted(world)
    path: list[tuple[Row, Move]] = []
    seen: dict[Row, int] = {}
    while len(path) < STEPS_MAX:
        found = _calm_move(world, row)
        if found is None:
            raise _cut(world, path)
        move, after = found
        # A driver that lets many ticks pass at once sees no row in their midst.
        if after == row or not (path and path[-1][1].kind == move.kind == "tick"):
            if row in seen:
                return path, seen[row]
            seen[row] = len(path)
        path.append((row, move))
        row = after
    raise StartError("the fault-free run never repeats itself", trace_of(world, path))


def _calm_move(world: World, row: Row) -> tuple[Move, Row] | None:
    """The one move of the fault-free run; None if a bound cuts it.

    Applications answer at once, messages take T and go before timers, timers fire as soon as they
    may, the first node first. Where a message finds an office run out, its end comes first.
    """
    nodes = [world.locals.cards[code] for code in row[: world.n]]
    wanted = [
        Move("answer", place, node.owes[0])
        for place, node in enumerate(nodes)
        if node.awake and node.owes and not node.expired
    ]
    for column, to in world.channel_columns:
        channel = world.channels.cards[row[column]]
        if channel.due:
            ended = nodes[to].expired
            late = Move("deliver", column, channel.deliverable[0])
            wanted.append(Move("fire", to, ended) if ended else late)
    for place, node in enumerate(nodes):
        if node.ready:
            wanted.append(Move("fire", place, node.expired or node.ready[0]))
    first = wanted[0] if wanted else TICK
    return next((found for found in world.successors(row) if found[0] == first), None)


def _every_phase(
    world: World, loop: list[tuple[Row, Move]]
) -> list[tuple[Row, list[tuple[Row, Move]]]]:
    """The rows of the loop with each periodic timer at every phase."""
    periodic = {timer.name for timer in world.machine.timers if timer.periodic}
    rows = [row for row, _ in loop]
    periods: dict[tuple[int, str], int] = {}
    for row in rows:
        for place, armed in _armed(world, row, periodic):
            key = (place, armed.timer)
            periods[key] = max(periods.get(key, 1), armed.latest)
    if not periods:
        return [(row, loop[:place]) for place, row in enumerate(rows)]
    found: dict[Row, list[tuple[Row, Move]]] = {}
    for place, row in enumerate(rows):
        keys = [(node, armed.timer) for node, armed in _armed(world, row, periodic)]
        for lefts in product(*(range(1, periods[key] + 1) for key in keys)):
            shifted = row
            path = list(loop[:place])
            for (node, timer), left in zip(keys, lefts, strict=True):
                path.append((shifted, Move("phase", node, (timer, left))))
                shifted = _shifted(world, shifted, node, timer, left)
            found.setdefault(shifted, path)
    return list(found.items())


def _armed(world: World, row: Row, names: set[str]) -> list[tuple[int, Armed]]:
    return [
        (place, armed)
        for place in range(world.n)
        for armed in world.locals.cards[row[place]].value.timers
        if armed.timer in names
    ]


def _shifted(world: World, row: Row, node: int, timer: str, left: int) -> Row:
    value = world.locals.cards[row[node]].value
    timers = tuple(Armed(t.timer, left, left) if t.timer == timer else t for t in value.timers)
    code = world.locals.code(value._replace(timers=timers))
    return (*row[:node], code, *row[node + 1 :])


def _translated(calm: World, row: Row, world: World) -> Row:
    """The same row in the codes (and the timing) of another world."""
    columns: list[int] = []
    for place in range(world.n):
        value = calm.locals.cards[row[place]].value
        if not world.model.bounded:
            value = value._replace(timers=tuple(Armed(t.timer, 0, 0) for t in value.timers))
        columns.append(world.locals.code(value))
    for column, _ in world.channel_columns:
        channel = calm.channels.cards[row[column]].value
        if not world.model.setting.prompt:
            channel = tuple(item._replace(age=0) for item in channel)
        columns.append(world.channels.code(channel))
    if world.machine.uses_views:
        for place in range(world.n):
            watch = calm.watching.pool.cards[row[calm.watch_column + place]].value
            columns.append(world.watching.pool.code(watch))
    columns += [0] * (bool(world.model.budget.cuts) + world.remembers)
    return world.at_first((*columns, world.budgets.code(world.model.first_budget())))
