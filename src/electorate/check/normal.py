"""Where runs without a fault end: what is normal.

All fault-free runs are explored, with bounded timing and every delay and order, and a run is at
its end in a component of that graph which it cannot leave. Where the graph has more states than it
may (`--normal-max`), runs are drawn instead, and each is followed until it repeats itself. What
the punctual run (every delay T, messages first) ends in is always among the ends. There may be
loops besides that a run need not leave but can; they are no end, and the verdict says that there
are any.

A search does not have to begin in every state of an end. Each of them can be reached from each
other without a fault, by moves that the search makes anyway, so one of them will do; beginning in
all that the punctual run passes there keeps counterexamples short. Searches begin with each
periodic timer at every phase, so an end that only has other phases than a known one is no other
end.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from random import Random
from typing import NamedTuple

from electorate.check.column import Row
from electorate.check.compiler import TICK, Move, firing
from electorate.check.graph import Graph, anything
from electorate.check.moves import Moves
from electorate.check.space import StateSpace
from electorate.trace import Ties

STEPS_MAX = 100_000
"""After so many moves a run that has not repeated itself is taken to go on for ever."""
DRAWN = 200
"""How many runs are drawn where there are too many for all."""

Path = tuple[tuple[Row, Move], ...]


class PunctualRun(NamedTuple):
    """The run with every delay T, and the number of moves after which it goes round."""

    path: Path
    first: int | None
    """None if a bound cuts the run, if it never repeats itself, or if its end is known."""

    @property
    def way(self) -> Path:
        """How it gets to where it goes round."""
        return self.path[: self.first]

    @property
    def loop(self) -> Path:
        """The rows among which it goes round, with the move that leaves each."""
        return () if self.first is None else self.path[self.first :]


class End(NamedTuple):
    """Rows among which a fault-free run can stay for ever."""

    before: Path
    """How the first of them is reached from the first boots."""
    loop: Path
    """Some of them, one after the other, with the move that leaves each."""


def punctual_run(
    moves: Moves, row: Row, steps_max: int = STEPS_MAX, known: Collection[Row] = ()
) -> PunctualRun:
    """The run with every delay T until it repeats itself or rests, or comes where it is known."""
    path: list[tuple[Row, Move]] = []
    seen: dict[Row, int] = {}
    while len(path) < steps_max and row not in known:
        found = _punctual_move(moves, row)
        if found is None:
            return PunctualRun(tuple(path), None)
        move, after = found
        # A driver that lets many ticks pass at once sees no row in their midst.
        if after == row or not (path and path[-1][1].kind == move.kind == "tick"):
            if row in seen:
                return PunctualRun(tuple(path), seen[row])
            seen[row] = len(path)
        path.append((row, move))
        row = after
    return PunctualRun(tuple(path), None)


def _punctual_move(moves: Moves, row: Row) -> tuple[Move, Row] | None:
    """The one move of the punctual run; None if a bound cuts it.

    Applications answer at once, messages take T and go before timers, timers fire as soon as they
    may, the first node first. Where a message finds an office run out, its end comes first.
    """
    space = moves.space
    nodes = [space.locals.cards[code] for code in row[: space.n]]
    wanted = [
        Move("answer", place, node.owes[0])
        for place, node in enumerate(nodes)
        if node.awake and node.owes and not node.expired
    ]
    for column, to in space.columns.channels:
        channel = space.channels.cards[row[column]]
        if channel.due:
            ended = nodes[to].expired
            late = Move("deliver", column, channel.deliverable[0])
            wanted.append(Move("fire", to, ended) if ended else late)
    for place, node in enumerate(nodes):
        if node.ready:
            wanted.append(Move("fire", place, node.expired or node.ready[0]))
    move = wanted[0] if wanted else TICK
    after = _after(moves, row, move)
    return None if after is None else (move, after)


def _after(moves: Moves, row: Row, move: Move) -> Row | None:
    """The row after one fault-free move; None if a bound cuts it.

    The list of all moves would work out all the others too: far too much where nodes are many.
    """
    if move == TICK:
        return moves.space.ticked(row)
    place, code = moves.node_of(move), row[move.where]
    if move.kind == "deliver":
        effects = moves.compiler.handed_over(
            move.where, place, code, row[place], row[-1], move.what
        )
    else:
        effects = moves.compiler.taken(move, place, code, row[-1])
    return moves.after(row, effects[0])


# --- all runs ---


class Explored:
    """The graph of all fault-free runs."""

    def __init__(self, moves: Moves, first: Row) -> None:
        self._moves = moves
        self._space = moves.space
        self._rows = [first]
        self._index = {first: 0}
        self._parents: list[tuple[int, Move] | None] = [None]
        self._graph = Graph()
        self._cut: set[int] = set()
        """States some of whose successors lie beyond a bound."""
        self.may_go_round = False
        """Whether a run can go round for ever where it is not at its end."""

    def explore(self, states_max: int) -> bool:
        """See everything; False if there are more states than that."""
        for state, row in enumerate(self._rows):
            if len(self._rows) > states_max:
                return False
            cuts = self._space.cuts.total()
            self._graph.add(
                [
                    (self._met(after, state, move), move.kind == "tick")
                    for move, after in self._moves.successors(row)
                ]
            )
            if self._space.cuts.total() > cuts:
                self._cut.add(state)
        return True

    def _met(self, row: Row, before: int, move: Move) -> int:
        state = self._index.setdefault(row, len(self._rows))
        if state == len(self._rows):
            self._rows.append(row)
            self._parents.append((before, move))
        return state

    def ends(self, known: Collection[Row]) -> Iterator[End]:
        """Every end in which no row is known, the nearest first; what is found becomes known."""
        parts, member = self._graph.components()
        lasting: set[int] = set()
        leaving: set[int] = set()
        for state in range(len(self._graph)):
            mine = member[state]
            for target, tick in self._graph.edges(state):
                if member[target] != mine:
                    leaving.add(mine)
                elif tick:
                    lasting.add(mine)
        # Where a run goes that leaves by a bound is not known, but it can stay where time passes.
        passing = leaving | {member[state] for state in self._cut} - lasting
        self.may_go_round = any(
            not any(self._rows[state] in known for state in parts[number])
            for number in lasting & leaving
        )
        ends = [part for number, part in enumerate(parts) if number not in passing]
        for part in sorted(ends, key=min):
            rows = {self._rows[state] for state in part}
            if not any(row in known for row in rows):
                yield self._end(min(part), rows)

    def _end(self, entry: int, rows: set[Row]) -> End:
        """One end: what the punctual run passes there, or one state if that run leaves it."""
        row, before = self._rows[entry], self._way_to(entry)
        with self._space.looking_again():
            punctual = punctual_run(self._moves, row)
        if punctual.loop and punctual.loop[0][0] in rows:
            return End((*before, *punctual.way), punctual.loop)
        return End(before, ((row, TICK),))

    def _way_to(self, state: int) -> Path:
        """The shortest way there; back to where runs begin, if that is itself an end.

        So the way is never empty: an empty one begins where the simulator finds the normal state.
        """
        if state == 0:
            return self._along(self._graph.way(0, (0).__eq__, anything))
        path: list[tuple[Row, Move]] = []
        while (parent := self._parents[state]) is not None:
            state, move = parent
            path.append((self._rows[state], move))
        return tuple(reversed(path))

    def _along(self, states: list[int]) -> Path:
        """The moves along states that follow one another."""
        rows = [self._rows[state] for state in states]
        with self._space.looking_again():
            return tuple(
                (row, next(move for move, found in self._moves.successors(row) if found == after))
                for row, after in pairwise(rows)
            )


# --- drawn runs ---


def drawn_ends(moves: Moves, first: Row, like: Path, known: Collection[Row]) -> Iterator[End]:
    """The ends of runs that are drawn: moves by lot for about as long as `like`, then punctually.

    Each run has its own preference for some nodes and channels over others, and for haste or
    delay, so that they come to differ in who is first. The same runs are drawn every time.
    """
    ticks = sum(move.kind == "tick" for _, move in like) + moves.space.model.setting.delay_max
    steps = len(like) + 50
    passed = {row for row, _ in like}
    for number in range(DRAWN):
        lot = Random(number)
        walked, row = _walked(moves, first, lot, lot.randint(1, ticks), steps)
        punctual = punctual_run(moves, row, 10 * steps, passed)
        passed.update(row for row, _ in punctual.path)
        if punctual.loop and not any(row in known for row, _ in punctual.loop):
            yield End((*walked, *punctual.way), punctual.loop)


def _walked(moves: Moves, row: Row, lot: Random, ticks: int, steps: int) -> tuple[Path, Row]:
    """Some moves by lot, and where they lead."""
    path: list[tuple[Row, Move]] = []
    liking: dict[tuple[str, int], float] = {}
    while ticks > 0 and len(path) < steps:
        allowed = fault_free_moves(moves.space, row)
        kinds = [(move.kind, move.where) for move in allowed]
        liking |= {kind: lot.random() ** 4 + 0.01 for kind in kinds if kind not in liking}
        (move,) = lot.choices(allowed, [liking[kind] for kind in kinds])
        after = _after(moves, row, move)
        if after is None or (after == row and len(allowed) == 1):
            break
        path.append((row, move))
        ticks -= move.kind == "tick"
        row = after
    return tuple(path), row


def fault_free_moves(space: StateSpace, row: Row) -> list[Move]:
    """Every move that a row allows where nothing fails, even if a bound cuts it."""
    nodes = [space.locals.cards[code] for code in row[: space.n]]
    moves: list[Move] = []
    waiting = False
    for column, to in space.columns.channels:
        channel = space.channels.cards[row[column]]
        waiting |= channel.due
        if not nodes[to].expired:
            moves += (Move("deliver", column, place) for place in channel.deliverable)
    closed = waiting and space.model.setting.ties is Ties.MESSAGES_FIRST
    for place, node in enumerate(nodes):
        moves += (Move("fire", place, timer) for timer in firing(node, waits=closed))
        moves += (Move("answer", place, request) for request in node.owes if not node.expired)
    if not waiting and not any(node.due for node in nodes):
        moves.append(TICK)
    return moves
