"""A run as text: for each step the command that causes it and the differences it made.

Commands and outcomes together are a golden script: what a checker or a simulator prints can be
pasted as a regression test. Texts name states and effects, never log lines.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from electorate.core import CancelTimer, NodeId, Send, SetTimer, Timing, text_of
from electorate.core.codec import json_of
from electorate.trace.step import (
    Crashed,
    Cut,
    Delivered,
    Doubled,
    Fired,
    Healed,
    Lost,
    Paused,
    Phased,
    Placed,
    Pressed,
    Recovered,
    Resumed,
    Saw,
    Step,
    Ticked,
    Trace,
    TurnRecord,
)


def command_of(step: Step) -> str:
    """The command that makes this step happen again."""
    torn = (_torn(n, turn.sent) for n, turn in enumerate(step.turns) if turn.sent is not None)
    return _cause(step) + next(torn, "")


def _torn(number: int, sent: Iterable[tuple[NodeId, int]]) -> str:
    """Which turn of the step the crash fell into, unless the first, and what had left by then."""
    return f" torn{_placed(number)}" + "".join(f" {to}:{count}" for to, count in sent)


def _cause(step: Step) -> str:
    match step.happening:
        case Ticked(by):
            return "tick" if by == 1 else f"tick {by}"
        case Delivered(sender, to, _, place):
            return f"deliver {sender}->{to}" + _placed(place)
        case Doubled(sender, to, _, place):
            return f"double {sender}->{to}" + _placed(place)
        case Lost(sender, to, _, _, place):
            return f"lose {sender}->{to}" + _placed(place)
        case Fired(node, timer):
            return f"fire {node} {timer}"
        case Saw(node, alive):
            return f"view {node} " + " ".join(map(str, sorted(alive)))
        case Pressed(node, request):
            return f"ask {node} {text_of(request)}"
        case Crashed(node):
            return f"crash {node}"
        case Recovered(node):
            return f"recover {node}"
        case Paused(node):
            return f"pause {node}"
        case Resumed(node):
            return f"resume {node}"
        case Cut(sender, to, both):
            return f"cut {sender} {to}" if both else f"cut {sender}->{to}"
        case Healed(sender, to, both):
            return f"heal {sender} {to}" if both else f"heal {sender}->{to}"
        case Phased(node, timer, left):
            return f"phase {node} {timer} {left}"
        case Placed(node, json, True, alive, timers, sent):
            view = ",".join(map(str, sorted(alive)))
            armed = "".join(f" {timer}={soonest}..{latest}" for timer, soonest, latest in timers)
            return f"place {node} up {json} view={view}{armed}{_on_its_way(sent)}"
        case Placed(node, json, sent=sent):
            return f"place {node} down {json}{_on_its_way(sent)}"
        case other:
            raise TypeError(f"no command for {other!r}")


def _on_its_way(sent: Iterable[tuple[NodeId, int, str]]) -> str:
    return "".join(f" ->{to}{f'@{age}' if age else ''}={json}" for to, age, json in sent)


def json_word(value: object) -> str:
    """A value as JSON without a blank, so that it is one word of a script."""
    return json_of(value).decode().replace(" ", "\\u0020")


def _placed(place: int) -> str:
    return f" #{place}" if place else ""


def lines_of(step: Step, timing: Timing) -> Iterator[str]:
    """What happened, and indented below it what it changed."""
    yield _fact(step, timing)
    for turn in step.turns:
        yield from _turn_lines(turn, timing)


def _fact(step: Step, timing: Timing) -> str:
    match step.happening:
        case Ticked():
            return f"time {timing.text(step.at)}"
        case Delivered(sender, to, message):
            return f"{sender}->{to} {text_of(message)}"
        case Doubled(sender, to, message):
            return f"{sender}->{to} {text_of(message)}, and a copy stays on its way"
        case Lost(sender, to, message, why):
            return f"{sender}->{to} {text_of(message)} lost" + ("" if why == "lost" else f": {why}")
        case Fired(node, timer):
            return f"{node} {timer} fires"
        case Saw(node, alive, before):
            return f"{node} {_opinion(alive, before)}"
        case Pressed(node, request):
            return f"{node} is asked to {text_of(request)}"
        case Crashed(node):
            return f"{node} crashes"
        case Recovered(node, first):
            return f"{node} {'boots' if first else 'recovers'}"
        case Paused(node):
            return f"{node} is paused"
        case Resumed(node):
            return f"{node} is resumed"
        case Cut(sender, to, True):
            return f"{sender}<->{to} is cut"
        case Cut(sender, to):
            return f"{sender}->{to} is cut"
        case Healed(sender, to, True):
            return f"{sender}<->{to} is healed"
        case Healed(sender, to):
            return f"{sender}->{to} is healed"
        case Phased(node, timer, left):
            return f"{node} {timer} has {timing.text(left)} left"
        case Placed(node, json, is_up, sent=sent):
            return f"{node} is {'up' if is_up else 'down'} with {json}{_has_sent(sent)}"
        case other:
            raise TypeError(f"no text for {other!r}")


def _has_sent(sent: Iterable[tuple[NodeId, int, str]]) -> str:
    told = " and ".join(f"{json} to {to}" for to, _, json in sent)
    return f", and has sent {told}" if told else ""


def _opinion(alive: frozenset[NodeId], before: frozenset[NodeId]) -> str:
    changes = [("suspects", before - alive), ("trusts", alive - before)]
    texts = [f"{verb} {' '.join(map(str, sorted(who)))}" for verb, who in changes if who]
    return " and ".join(texts) or f"sees {' '.join(map(str, sorted(alive)))}"


def changes_of(turn: TurnRecord) -> Iterator[tuple[str, object, object]]:
    """The name of each field that the turn changed, with its old and new value."""
    for name, old, new in _differences(turn.before, turn.after):
        if name != "me":
            yield name, old, new


def _differences(before: object, after: Any) -> Iterator[tuple[str, object, object]]:
    for name in after.__struct_fields__:
        old, new = getattr(before, name, None), getattr(after, name)
        if isinstance(new, Struct) and type(old) is type(new):
            for inner, was, now in _differences(old, new):
                yield f"{name}.{inner}", was, now
        elif old != new:
            yield name, old, new


def _turn_lines(turn: TurnRecord, timing: Timing) -> Iterator[str]:
    for name, old, new in changes_of(turn):
        change = text_of(new) if turn.before is None else f"{text_of(old)} => {text_of(new)}"
        yield f"  {turn.node} {name}: {change}"
    left = None if turn.sent is None else dict(turn.sent)
    for effect in turn.effects:
        match effect:
            case Send(to, message) if left is not None and to != turn.node:
                reached = left.get(to, 0) > 0
                left[to] = left.get(to, 0) - 1
                verb = "sends" if reached else "does not get to send"
                yield f"  {turn.node} {verb} {text_of(message)} to {to}"
            case Send(to, message):
                yield f"  {turn.node} sends {text_of(message)} to {to}"
            case SetTimer(timer, after, jitter) if left is None:
                extra = f" or up to {timing.text(jitter)} more" if jitter else ""
                yield f"  {turn.node} sets {timer} to {timing.text(after)}{extra}"
            case CancelTimer(timer) if left is None:
                yield f"  {turn.node} cancels {timer}"
    if left is not None:
        yield f"  {turn.node} crashes in the middle of this turn"


def is_consequence(step: Step) -> bool:
    """Whether the step needs no command: a message that nobody was there to take."""
    return isinstance(step.happening, Lost) and step.happening.why != "lost"


def script_of(trace: Trace, head: Iterable[str] = ()) -> str:
    """The whole run as a golden script; `head` becomes its comment."""
    blocks = ["\n".join([*(f"# {line}".rstrip() for line in head), trace.setting.text()])]
    for step in trace.steps:
        outcome = "\n".join(lines_of(step, trace.setting.timing))
        if is_consequence(step):
            blocks[-1] += f"\n{outcome}"
        else:
            blocks.append(f"{command_of(step)}\n----\n{outcome}")
    return "\n\n".join(blocks) + "\n"
