"""Where runs begin: nobody has started, all boot at once, runs without a fault end, or anywhere.

What these ends are is found in check/normal.py.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import product
from math import prod
from typing import NamedTuple

import msgspec

from electorate.check.arrival import arrived
from electorate.check.column import ModelError, Row
from electorate.check.compiler import Move
from electorate.check.effort import LimitReached
from electorate.check.explain import trace_of
from electorate.check.interned import Armed, Local, Pulse
from electorate.check.model import BOUND_OPTIONS, Bounds, Budget, Detector, Model, Normal
from electorate.check.moves import Moves
from electorate.check.normal import DRAWN, STEPS_MAX, End, Explored, Path, drawn_ends, punctual_run
from electorate.check.space import StateSpace
from electorate.trace import Clock, Order, Setting, Start, Trace

Goal = Callable[[StateSpace, Row], str | None]
"""Names a goal that a row lacks, if there is one."""


class StartError(Exception):
    """No fault-free run ends up where a check could begin."""

    def __init__(self, problem: str, trace: Trace) -> None:
        super().__init__(problem)
        self.trace = trace


class Beginning(NamedTuple):
    """A row to begin with, and how it is reached from the start that the run is told from."""

    row: Row
    way: Path = ()
    before: Path = ()
    """What comes before `way`; many beginnings share it."""

    @property
    def path(self) -> Path:
        """The whole way."""
        return (*self.before, *self.way)


def beginnings(moves: Moves, goal: Goal) -> list[Beginning]:
    """The start set."""
    space = moves.space
    if space.model.given is not None:
        return [Beginning(*arrived(space, space.model.given))]
    if space.model.setting.start is Start.BOOT:
        return [Beginning(_booted(moves))]
    if space.model.setting.start is Start.DOWN:
        return [Beginning(_down(space))]
    twin = _fault_free_twin(space)
    first = _booted(twin)
    punctual = punctual_run(twin, first)
    cut_by, twin.space.cuts = twin.space.cuts, Counter()
    starts = _Starts(space, twin.space, goal)
    if punctual.loop:
        # The simulator gets there by itself, unless a goal is missed there. Then the whole run is
        # told, and that of every other end: from the first boots.
        is_found = starts.lack(punctual.loop) is None
        starts.take(End(() if is_found else punctual.way or punctual.loop, punctual.loop))
        if not (is_found and starts.translated(first) == starts.translated(punctual.loop[0][0])):
            space.boot_row = starts.translated(first)
    else:
        space.boot_row = starts.translated(first)
    explored = Explored(twin, first)
    is_whole = explored.explore(space.model.bounds.normal)
    known = starts.known
    for end in explored.ends(known) if is_whole else drawn_ends(twin, first, punctual.path, known):
        starts.take(end)
    twin.space.cuts |= cut_by  # What the punctual run met is met again where all are explored.
    if not starts.ends:
        raise _endless(twin, punctual.path)
    space.cuts.update(twin.space.cuts)
    if not is_whole:
        space.cuts["normal"] += 1
    missed = tuple(sorted(starts.missed))
    drawn = 0 if is_whole else DRAWN
    space.normal = Normal(starts.ends, drawn, starts.missing, missed, explored.may_go_round)
    return starts.found


class _Starts:
    """The rows to begin with, gathered from one end after the other."""

    def __init__(self, space: StateSpace, twin: StateSpace, goal: Goal) -> None:
        self._space = space
        self._twin = twin
        self._goal = goal
        self._translations: dict[Row, Row] = {}
        self._known: set[Row] = set()
        self.found: list[Beginning] = []
        self.ends = 0
        self.missing = 0
        """How many ends lack a goal."""
        self.missed: set[str] = set()
        """The goals that some of them lack."""

    @property
    def known(self) -> Collection[Row]:
        """The rows of the twin that need no other beginning."""
        return self._known

    def take(self, end: End) -> None:
        """Begin in one more end."""
        self.ends += 1
        before, loop = self._path(end.before), self._path(end.loop)
        self._known.update(row for row, _ in end.loop)
        for row, place, phases in _every_phase(self._twin, end.loop):
            self._known.add(row)
            way = (*loop[:place], *self._path(phases))
            self.found.append(Beginning(self.translated(row), way, before))
        lack = self.lack(end.loop)
        if lack is not None:
            self.missing += 1
            self.missed.add(lack)

    def lack(self, loop: Path) -> str | None:
        """A goal that one of these rows lacks."""
        lacks = (self._goal(self._twin, row) for row, _ in loop)
        return next((lack for lack in lacks if lack is not None), None)

    def translated(self, row: Row) -> Row:
        """A row of the twin in the codes of the model itself."""
        if row not in self._translations:
            self._translations[row] = _translated(self._twin, row, self._space)
        return self._translations[row]

    def _path(self, path: Path) -> Path:
        return tuple((self.translated(row), move) for row, move in path)


def _down(space: StateSpace) -> Row:
    """Nobody has been started yet: each first start is a recovery that a run may spend."""
    row = (space.gone,) * space.n + (space.empty,) * len(space.columns.channels)
    if space.machine.uses_views:
        row += (space.detectors.blind,) * space.n
    row += (0,) * (space.model.has_cuts + space.columns.remembers)
    return space.at_first((*row, space.budgets.code(space.model.first_budget())))


def _booted(moves: Moves) -> Row:
    row = moves.space.booted()
    if row is None:
        raise _endless(moves, ())
    return row


def _endless(moves: Moves, path: Path) -> StartError:
    """No run without a fault has an end."""
    space, trace = moves.space, trace_of(moves, path)
    if len(path) == STEPS_MAX:
        return StartError("the fault-free run never repeats itself", trace)
    told = ", ".join(text for text, _ in space.model.bounds.named(space.cuts))
    options = " and ".join(f"--{BOUND_OPTIONS[name]}" for name in sorted(space.cuts))
    return StartError(f"the start is cut by a bound: {told}: give {options} more", trace)


def _fault_free_twin(space: StateSpace) -> Moves:
    """The same machine with bounded timing and without faults.

    Where its runs end is no matter of what claims remember of them.
    """
    if space.model.setting.order is Order.SET:
        raise ModelError("a network that keeps everything never comes to rest: --from boot")
    setting = msgspec.structs.replace(space.model.setting, clock=Clock.BOUNDED, start=Start.BOOT)
    # However narrow the search is, the way to where it begins need not be; there a full channel
    # cuts it short, also where it blocks later on. And its numbers are the real ones: from there
    # on they are renamed, and told as they are.
    given, usual = space.model.bounds, Bounds()
    bounds = msgspec.structs.replace(
        given,
        capacity=max(given.capacity, usual.capacity),
        counter=max(given.counter, usual.counter),
        blocks=False,
    )
    model = Model(setting, Budget(), bounds, Detector.EVENTUALLY_PERFECT, renames=False)
    claims = [claim for claim in space.claims if claim.fold is None]
    return Moves(StateSpace(space.turns, model, claims))


def _every_phase(space: StateSpace, loop: Path) -> Iterator[tuple[Row, int, Path]]:
    """The rows of the loop with each periodic timer at every phase.

    Each comes with its place in the loop, and the moves that shift it from there.
    """
    periodic = {timer.name for timer in space.machine.timers if timer.periodic}
    rows = [row for row, _ in loop]
    periods: dict[tuple[int, str], int] = {}
    for row in rows:
        for place, armed in _armed(space, row, periodic):
            key = (place, armed.timer)
            periods[key] = max(periods.get(key, 1), armed.latest)
    found: set[Row] = set()
    for place, row in enumerate(rows):
        keys = [(node, armed.timer) for node, armed in _armed(space, row, periodic)]
        for lefts in product(*(range(1, periods[key] + 1) for key in keys)):
            shifted = row
            path: list[tuple[Row, Move]] = []
            for (node, timer), left in zip(keys, lefts, strict=True):
                path.append((shifted, Move("phase", node, (timer, left))))
                shifted = _shifted(space, shifted, node, timer, left)
            if shifted not in found:
                found.add(shifted)
                yield shifted, place, tuple(path)


def _armed(space: StateSpace, row: Row, names: set[str]) -> list[tuple[int, Armed]]:
    return [
        (place, armed)
        for place in range(space.n)
        for armed in space.locals.cards[row[place]].value.timers
        if armed.timer in names
    ]


def _shifted(space: StateSpace, row: Row, node: int, timer: str, left: int) -> Row:
    value = space.locals.cards[row[node]].value
    timers = tuple(Armed(t.timer, left, left) if t.timer == timer else t for t in value.timers)
    code = space.locals.code(value._replace(timers=timers))
    return (*row[:node], code, *row[node + 1 :])


def _translated(twin: StateSpace, row: Row, space: StateSpace) -> Row:
    """The same row in the codes (and the timing) of another model."""
    columns: list[int] = []
    for place in range(space.n):
        value = twin.locals.cards[row[place]].value
        if not space.model.bounded:
            value = value._replace(timers=tuple(Armed(t.timer, 0, 0) for t in value.timers))
        columns.append(space.locals.code(value))
    for column, _ in space.columns.channels:
        channel = twin.channels.cards[row[column]].value
        if not space.model.setting.prompt:
            channel = tuple(item._replace(age=0) for item in channel)
        columns.append(space.channels.code(channel))
    if space.machine.uses_views:
        for place in range(space.n):
            watch = twin.detectors.pool.cards[row[twin.columns.watch_column + place]].value
            columns.append(space.detectors.pool.code(watch))
    columns += [0] * (space.model.has_cuts + space.columns.remembers)
    return space.at_first((*columns, space.budgets.code(space.model.first_budget())))


# --- anywhere ---

# That is in every combination of states that a search with faults met at some node. Nothing is on
# its way and nothing fails any more: only goals can be judged from there. What a node was told by
# its failure detector goes with its state, for that is what the state was made of; where it is
# wrong about who is up in this combination, it will be corrected within its bound.


class Met(NamedTuple):
    """A node as it was met: itself, and whom its detector trusted."""

    local: Local
    trusted: tuple[bool, ...]


def exploring(model: Model) -> Model:
    """The model of the search that meets the states: from the first boots."""
    setting: Setting = msgspec.structs.replace(model.setting, start=Start.BOOT)
    return msgspec.structs.replace(model, setting=setting, reduced=False, renames=False)


def met_at(space: StateSpace, local: int, watch: int) -> Met:
    """A node that is coded so; one that is paused goes on."""
    value = space.locals.cards[local].value
    if value.pulse is not Pulse.AWAKE:
        value = value._replace(pulse=Pulse.AWAKE)
    if not space.machine.uses_views or value.state is None:
        return Met(value, (True,) * space.n)
    return Met(value, tuple(entry.trusted for entry in space.detectors.pool.cards[watch].value))


def anywhere(space: StateSpace, met: list[set[Met]], rows_max: int) -> list[Beginning]:
    """Every combination; `met` has what was met at each node."""
    if any(claim.kind.is_safety for claim in space.claims):
        raise ModelError("from any only goals can be judged: anything may be broken there")
    count = prod(len(each) for each in met)
    if count > rows_max:
        sizes = " x ".join(f"{len(each):,}" for each in met)
        raise LimitReached(f"{sizes} = {count:,} states to begin with (--states-max)")
    ordered = [sorted(each, key=repr) for each in met]
    return [_beginning(space, nodes) for nodes in product(*ordered)]


def _beginning(space: StateSpace, nodes: tuple[Met, ...]) -> Beginning:
    columns = [space.locals.code(node.local) for node in nodes]
    columns += [space.empty] * len(space.columns.channels)
    if space.machine.uses_views:
        columns += [_watch(space, place, nodes) for place in range(space.n)]
    columns += [0] * (space.model.has_cuts + space.columns.remembers)
    row = space.at_first((*columns, space.budgets.code(space.model.last_budget())))
    path: list[tuple[Row, Move]] = [
        (row, Move("place", place, node)) for place, node in enumerate(nodes)
    ]
    return Beginning(row, tuple(path))


def _watch(space: StateSpace, me: int, nodes: tuple[Met, ...]) -> int:
    """The detector of a node: it trusts whom it trusted, rightly or not."""
    if nodes[me].local.state is None:
        return space.detectors.blind
    entries = []
    for other, trusted in enumerate(nodes[me].trusted):
        linked = other == me or (me, other) in space.columns.link
        up = linked and nodes[other].local.state is not None
        entries.append(space.detectors.entry(trusted, right=trusted == up))
    return space.detectors.pool.code(tuple(entries))
