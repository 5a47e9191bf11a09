"""From a path of moves to a run that people can read and the simulator can replay."""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from msgspec.structs import replace

from electorate.check.arrival import TOLD
from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.interned import Local
from electorate.check.moves import Moves
from electorate.check.node_step import Torn
from electorate.check.space import StateSpace
from electorate.core import Message, NodeId, State, Turn
from electorate.trace import (
    KINDS,
    Connections,
    Happening,
    Lost,
    Placed,
    Recovered,
    Start,
    Step,
    Trace,
    TurnRecord,
)
from electorate.trace.text import json_word

Path = Sequence[tuple[Row, Move]]


def raw_rows(moves: Moves, path: Path) -> list[Row]:
    """The rows that the moves of a path are made in, with the numbers that they really hold."""
    space = moves.space
    if space.renaming is None:
        return [row for row, _ in path]
    rows: list[Row] = []
    for number, (row, _) in enumerate(path):
        rows.append(
            _raw_row(moves, rows[-1], path[number - 1][1], row) if rows else _first(space, row)
        )
    return rows


def begins_after(space: StateSpace, path: Path, end: Row) -> int:
    """How many moves of a path, which leads to `end`, only lead to where its run begins."""
    whole = space.budgets.code(space.model.first_budget())
    rows = [*(row for row, _ in path), end]
    for place in range(len(path), -1, -1):
        # Where faults end at once, nothing of their budget is left.
        known = space.beginnings.get(rows[place]) or space.beginnings.get(
            (*rows[place][:-1], whole)
        )
        if known is not None and list(known.path) == list(path[:place]):
            return place
    return 0


def _first(space: StateSpace, row: Row) -> Row:
    if row in space.raw_rows:
        return space.raw_rows[row]
    # Where faults end at once, the row that runs begin in has lost its budget meanwhile.
    whole = space.budgets.code(space.model.first_budget())
    raw = space.raw_rows.get((*row[:-1], whole), row)
    return (*raw[:-1], row[-1])


def _raw_row(moves: Moves, before: Row, move: Move, renamed: Row) -> Row:
    """What a move makes of a row with its real numbers; `renamed` is the outcome as it is known."""
    after = raw_after(moves, before, move)
    if after is None:
        return _first(moves.space, renamed)  # What leads to where runs begin need not be a move.
    return after if after[-1] == renamed[-1] else moves.space.without_faults(after)


def raw_after(moves: Moves, before: Row, move: Move) -> Row | None:
    """The same for a row that nothing is known of; None if it allows no such move."""
    if move.kind == TOLD:
        return None
    with moves.space.looking_again():
        found = moves.unrenamed(before)
    return next((after for other, after in found if _same(other, move)), None)


def _same(one: Move, other: Move) -> bool:
    """Whether two moves are the same but for the numbers in them."""
    tears = [torn and (torn.sent, torn.turn) for torn in (one.torn, other.torn)]
    return one[:3] == other[:3] and tears[0] == tears[1]


class Adrift(NamedTuple):
    """A message that nobody can take any more, and the tick at which its time is over."""

    due: int
    column: int
    sender: NodeId
    message: Message


def trace_of(moves: Moves, path: Path) -> Trace:
    """The run that takes each move in its row."""
    space, now = moves.space, 0
    steps: list[Step] = []
    dropped: list[Adrift] = []
    """Messages that no row holds any more; the simulator loses them when their time is over."""
    made = [move for _, move in path]
    rows = raw_rows(moves, path)
    # By its row alone a node that has lost its memory is one that never lived.
    never = space.model.setting.start in (Start.DOWN, Start.ANY)
    lived = set() if never else set(space.ids)
    for row, move, after in zip_longest(rows, made, rows[1:]):
        if move.kind == TOLD:
            steps += move.what
            now = move.what[-1].at
            lived |= _born(move.what[0].happening)
            if after is not None:
                dropped += _dropped(space, row, move, (), after, now)
            continue
        now += move.kind == "tick"
        turns = _turns(moves, row, move)
        happening = _happening(moves, row, move)
        if isinstance(happening, Recovered):
            happening = replace(happening, first=happening.node not in lived)
            lived.add(happening.node)
        steps.append(Step(now, happening, turns))
        steps += (Step(now, lost) for lost in _severed(space, row, turns))
        if move.kind == "tick":
            late = [*_expired(space, row, now), *(one for one in dropped if one.due == now)]
            late.sort(key=lambda one: one.column)
            steps += (Step(now, _lost(space, row, one)) for one in late)
        if after is not None:
            dropped += _dropped(space, row, move, turns, after, now)
    setting = space.model.setting
    if path and path[0][0] == space.boot_row:
        setting = replace(setting, start=Start.BOOT)
    return Trace(setting, tuple(steps))


def _born(happening: Happening) -> set[NodeId]:
    """Who has lived once this has happened."""
    match happening:
        case Recovered(node) | Placed(node, _, True):
            return {node}
        case Placed(node, json) if json != "null":
            return {node}
    return set()


def _happening(moves: Moves, row: Row, move: Move) -> Happening:
    space = moves.space
    verb = {"lie": "view", "answer": "ask"}.get(move.kind, move.kind)
    kind: Callable[..., Happening] = KINDS[verb]
    match verb:
        case "tick":
            return kind()
        case "deliver" | "double" | "lose":
            sender, to, message, place = _message(moves, row, move)
            return kind(sender, to, message, place=place)
        case "cut" | "heal":
            ends = space.columns.links[move.where]
            return kind(*(space.ids[end] for end in ends), both=True)
    node = space.ids[move.where]
    match verb:
        case "view":
            watch = row[space.columns.watch_column + move.where]
            return kind(node, move.what, space.detectors.pool.cards[watch].alive)
        case "fire" | "ask":
            return kind(node, move.what)
        case "phase":
            return kind(node, *move.what)
        case "place":
            return _placed(space, node, *move.what)
    return kind(node)


def _placed(space: StateSpace, node: NodeId, local: Local, trusted: tuple[bool, ...]) -> Placed:
    alive = frozenset(other for other, yes in zip(space.ids, trusted, strict=True) if yes)
    if local.state is None:
        return Placed(node, json_word(local.stable), is_up=False)
    timers = tuple((armed.timer, armed.soonest, armed.latest) for armed in local.timers)
    return Placed(node, json_word(local.state), True, alive, timers)


def _message(moves: Moves, row: Row, move: Move) -> tuple[NodeId, NodeId, Message, int]:
    """Sender, receiver, message, and its place among those of its sender (as scripts count)."""
    space = moves.space
    items = space.channels.cards[row[move.where]].value
    sender, message, _ = items[move.what]
    place = sum(item.sender == sender for item in items[: move.what])
    return sender, space.ids[moves.node_of(move)], message, place


def _expired(space: StateSpace, row: Row, now: int) -> Iterable[Adrift]:
    """The messages that a tick takes away because nobody can take them."""
    for column, to in space.columns.channels:
        if not space.locals.cards[row[to]].up or space.columns.is_severed(row, column):
            channel = space.channels.cards[row[column]]
            kept = len(channel.aged_value(receiver_up=False))
            for item in channel.value[: len(channel.value) - kept]:
                yield Adrift(now, column, item.sender, item.message)


def _lost(space: StateSpace, row: Row, one: Adrift) -> Lost:
    """How the simulator says that nobody could take a message within its time."""
    to = dict(space.columns.channels)[one.column]
    node, is_up = space.ids[to], space.locals.cards[row[to]].up
    why = f"{one.sender}->{node} is cut" if is_up else f"{node} is down"
    return Lost(one.sender, node, one.message, why)


def _dropped(
    space: StateSpace, row: Row, move: Move, turns: tuple[TurnRecord, ...], after: Row, now: int
) -> Iterable[Adrift]:
    """The messages that are no longer kept after a move, though their time is not over yet."""
    setting = space.model.setting
    if not space.drops_mail or not setting.prompt or setting.connections is Connections.DIE:
        return  # Without bounds their time is never over; what dies with a connection is gone.
    last, heals = setting.delay_max, space.budgets.cards[after[-1]].heals
    for column, to in space.columns.channels:
        lost = space.is_lost(after, to)
        if not lost and (heals or not space.columns.is_severed(after, column)):
            continue
        channel = space.channels.cards[row[column]]
        items = channel.aged_value(receiver_up=False) if move.kind == "tick" else channel.value
        taken = move.what if move.kind in ("deliver", "lose") and move.where == column else None
        for place, item in enumerate(items):
            if place != taken:
                yield Adrift(now + last - item.age + 1, column, item.sender, item.message)
        for sender, node, message in _sent(turns) if lost else ():
            pair = space.ids.index(sender), space.ids.index(node)
            reaches = node == space.ids[to] and space.columns.reach(row, *pair)
            if reaches and space.columns.of_channel.get(pair) == column:
                yield Adrift(now + last + 1, column, sender, message)


def _sent(turns: tuple[TurnRecord, ...]) -> Iterable[tuple[NodeId, NodeId, Message]]:
    """Sender, receiver and message of all that leaves a node in these turns."""
    for turn in turns:
        for send, left in turn.mail():
            if left:
                yield turn.node, send.to, send.message


def _severed(space: StateSpace, row: Row, turns: tuple[TurnRecord, ...]) -> Iterable[Lost]:
    """The messages that these turns send where there is no link."""
    for sender, to, message in _sent(turns):
        if not space.columns.reach(row, space.ids.index(sender), space.ids.index(to)):
            yield Lost(sender, to, message, f"{sender}->{to} is cut")


def _turns(moves: Moves, row: Row, move: Move) -> tuple[TurnRecord, ...]:
    coded = moves.coded_of(row, move)
    if coded is None:
        return ()
    place = moves.node_of(move)
    before = moves.space.locals.cards[row[place]].value.state
    return _records(coded.outcome.turns, before, move.torn)


def _records(
    turns: tuple[Turn, ...], before: State | None, torn: Torn | None
) -> tuple[TurnRecord, ...]:
    records: list[TurnRecord] = []
    for number, turn in enumerate(turns):
        sent = torn.sent if torn is not None and torn.turn == number else None
        records.append(TurnRecord(turn.state.me, before, turn.state, turn.effects, sent))
        if sent is not None:
            break
        before = turn.state
    return tuple(records)
