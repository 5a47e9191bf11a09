"""From a path of moves to a run that people can read and the simulator can replay."""

from collections.abc import Iterable

from electorate.check.board import Row
from electorate.check.turning import Torn
from electorate.check.world import Move, World
from electorate.core import Message, NodeId, State, Turn
from electorate.trace import (
    Crashed,
    Delivered,
    Doubled,
    Fired,
    Happening,
    Lost,
    Paused,
    Phased,
    Pressed,
    Recovered,
    Resumed,
    Saw,
    Step,
    Ticked,
    Trace,
    TurnRecord,
)

Path = Iterable[tuple[Row, Move]]


def trace_of(world: World, path: Path) -> Trace:
    """The run that takes each move in its row."""
    now = 0
    steps: list[Step] = []
    for row, move in path:
        now += move.kind == "tick"
        steps.append(Step(now, _happening(world, row, move), _turns(world, row, move)))
        if move.kind == "tick":
            steps += (Step(now, lost) for lost in _expired(world, row))
    return Trace(world.model.setting, tuple(steps))


def _happening(world: World, row: Row, move: Move) -> Happening:
    match move.kind:
        case "tick":
            return Ticked()
        case "deliver":
            return Delivered(*_message(world, row, move))
        case "double":
            return Doubled(*_message(world, row, move))
        case "lose":
            sender, to, message, place = _message(world, row, move)
            return Lost(sender, to, message, place=place)
    node = world.ids[move.where]
    match move.kind:
        case "fire":
            return Fired(node, move.what)
        case "view" | "lie":
            before = world.watching.pool.cards[row[world.watch_column + move.where]].alive
            return Saw(node, move.what, before)
        case "ask":
            return Pressed(node, move.what)
        case "phase":
            return Phased(node, *move.what)
        case "crash":
            return Crashed(node)
        case "recover":
            return Recovered(node)
        case "pause":
            return Paused(node)
        case "resume":
            return Resumed(node)
        case _:
            raise ValueError(f"unknown move {move.kind!r}")


def _message(world: World, row: Row, move: Move) -> tuple[NodeId, NodeId, Message, int]:
    """Sender, receiver, message, and its place among those of its sender (as scripts count)."""
    items = world.channels.cards[row[move.where]].value
    sender, message, _ = items[move.what]
    place = sum(item.sender == sender for item in items[: move.what])
    return sender, world.ids[world.node_of(move)], message, place


def _expired(world: World, row: Row) -> Iterable[Lost]:
    """The messages that a tick takes away because their receiver is down."""
    for column, to in world.channel_columns:
        if not world.locals.cards[row[to]].up:
            channel = world.channels.cards[row[column]]
            kept = len(channel.aged_value(receiver_up=False))
            for item in channel.value[: len(channel.value) - kept]:
                node = world.ids[to]
                yield Lost(item.sender, node, item.message, f"{node} is down")


def _turns(world: World, row: Row, move: Move) -> tuple[TurnRecord, ...]:
    coded = world.coded_of(row, move)
    if coded is None:
        return ()
    place = world.node_of(move)
    before = world.locals.cards[row[place]].value.state
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
