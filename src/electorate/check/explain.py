"""From a path of moves to a run that people can read and the simulator can replay."""

from collections.abc import Iterable

from msgspec.structs import replace

from electorate.check.column import Row
from electorate.check.part import Local
from electorate.check.turning import Torn
from electorate.check.world import Move, World
from electorate.core import Message, NodeId, Send, State, Turn
from electorate.core.codec import json_of
from electorate.trace import (
    Crashed,
    Cut,
    Delivered,
    Doubled,
    Fired,
    Happening,
    Healed,
    Lost,
    Paused,
    Phased,
    Placed,
    Pressed,
    Recovered,
    Resumed,
    Saw,
    Start,
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
    path = list(path)
    for row, move in path:
        now += move.kind == "tick"
        turns = _turns(world, row, move)
        steps.append(Step(now, _happening(world, row, move), turns))
        steps += (Step(now, lost) for lost in _severed(world, row, turns))
        if move.kind == "tick":
            steps += (Step(now, lost) for lost in _expired(world, row))
    setting = world.model.setting
    if path and path[0][0] == world.boot_row:
        setting = replace(setting, start=Start.BOOT)
    return Trace(setting, tuple(steps))


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
        case "cut" | "heal":
            one, other = (world.ids[place] for place in world.links[move.where])
            return (Cut if move.kind == "cut" else Healed)(one, other, both=True)
    node = world.ids[move.where]
    match move.kind:
        case "fire":
            return Fired(node, move.what)
        case "view" | "lie":
            before = world.watching.pool.cards[row[world.watch_column + move.where]].alive
            return Saw(node, move.what, before)
        case "ask" | "answer":
            return Pressed(node, move.what)
        case "phase":
            return Phased(node, *move.what)
        case "place":
            return _placed(world, node, *move.what)
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


def _placed(world: World, node: NodeId, local: Local, trusted: tuple[bool, ...]) -> Placed:
    alive = frozenset(other for other, yes in zip(world.ids, trusted, strict=True) if yes)
    if local.state is None:
        return Placed(node, _json(local.stable), is_up=False)
    timers = tuple((armed.timer, armed.soonest, armed.latest) for armed in local.timers)
    return Placed(node, _json(local.state), True, alive, timers)


def _json(value: object) -> str:
    """A value without a blank, so that it is one word of a script."""
    return json_of(value).decode().replace(" ", "\\u0020")


def _message(world: World, row: Row, move: Move) -> tuple[NodeId, NodeId, Message, int]:
    """Sender, receiver, message, and its place among those of its sender (as scripts count)."""
    items = world.channels.cards[row[move.where]].value
    sender, message, _ = items[move.what]
    place = sum(item.sender == sender for item in items[: move.what])
    return sender, world.ids[world.node_of(move)], message, place


def _expired(world: World, row: Row) -> Iterable[Lost]:
    """The messages that a tick takes away because nobody can take them."""
    for column, to in world.channel_columns:
        is_up = world.locals.cards[row[to]].up
        if not is_up or world.is_severed(row, column):
            channel = world.channels.cards[row[column]]
            kept = len(channel.aged_value(receiver_up=False))
            for item in channel.value[: len(channel.value) - kept]:
                node = world.ids[to]
                why = f"{item.sender}->{node} is cut" if is_up else f"{node} is down"
                yield Lost(item.sender, node, item.message, why)


def _severed(world: World, row: Row, turns: tuple[TurnRecord, ...]) -> Iterable[Lost]:
    """The messages that these turns send where there is no link."""
    for turn in turns:
        sender = world.ids.index(turn.node)
        left = None if turn.sent is None else dict(turn.sent)
        for effect in turn.effects:
            if not isinstance(effect, Send) or effect.to == turn.node:
                continue
            if left is not None:
                left[effect.to] -= 1
                if left[effect.to] < 0:
                    continue
            to = world.ids.index(effect.to)
            if not world.reach(row, sender, to):
                why = f"{turn.node}->{effect.to} is cut"
                yield Lost(turn.node, effect.to, effect.message, why)


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
