"""A run as text: for each step the command that causes it and the differences it made.

Commands and outcomes together are a golden script: what a checker or a simulator prints can be
pasted as a regression test. Texts name states and effects, never log lines.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, json

from electorate.core import CancelTimer, NodeId, Send, SetTimer, Timing, text_of
from electorate.core.codec import json_of
from electorate.trace.happening import Step, Trace, TurnRecord, placed
from electorate.trace.word import kind_of


def command_of(step: Step) -> str:
    """The command that makes this step happen again."""
    torn = (_torn(n, turn.sent) for n, turn in enumerate(step.turns) if turn.sent is not None)
    return step.happening.command() + next(torn, "")


def _torn(number: int, sent: Iterable[tuple[NodeId, int]]) -> str:
    """The turn of the step in which it crashed, unless the first, and what had left by then."""
    return f" torn{placed(number)}" + "".join(f" {to}:{count}" for to, count in sent)


def json_word(value: object) -> str:
    """A value as JSON without a blank, so that it is one word of a script."""
    return json_of(value).decode().replace(" ", "\\u0020")


def lines_of(step: Step, timing: Timing) -> Iterator[str]:
    """What happened, and indented below it what it changed."""
    yield step.happening.fact(step.at, timing)
    for turn in step.turns:
        yield from _turn_lines(turn, timing)


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
    mail = turn.mail()
    for effect in turn.effects:
        match effect:
            case Send(to, message):
                verb = "sends" if to == turn.node or next(mail)[1] else "does not get to send"
                yield f"  {turn.node} {verb} {text_of(message)} to {to}"
            case SetTimer(timer, after, jitter) if turn.sent is None:
                extra = f" or up to {timing.text(jitter)} more" if jitter else ""
                yield f"  {turn.node} sets {timer} to {timing.text(after)}{extra}"
            case CancelTimer(timer) if turn.sent is None:
                yield f"  {turn.node} cancels {timer}"
    if turn.sent is not None:
        yield f"  {turn.node} crashes in the middle of this turn"


def is_consequence(step: Step) -> bool:
    """Whether the step needs no command: a message was lost because nobody was there."""
    return bool(step.happening.cause)


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


# --- as JSON lines ---


def step_object(step: Step, trace: Trace) -> dict[str, Any]:
    """One step as plain data: its time, the command for it, what happened, what it changed."""
    return {
        "at": step.at,
        "command": None if is_consequence(step) else command_of(step),
        "text": list(lines_of(step, trace.setting.timing)),
        "turns": [_turn_object(turn) for turn in step.turns],
    }


def _turn_object(turn: TurnRecord) -> dict[str, Any]:
    return {
        "node": turn.node,
        "changes": {
            name: [None if turn.before is None else text_of(old), text_of(new)]
            for name, old, new in changes_of(turn)
        },
        "effects": [text_of(effect) for effect in turn.effects],
        "sent": None if turn.sent is None else {str(to): count for to, count in turn.sent},
    }


def to_json_lines(trace: Trace) -> Iterator[str]:
    """The run, line by line; `electorate replay` reads it back."""
    yield json.encode({"cluster": trace.setting.text()}).decode()
    for step in trace.steps:
        yield json.encode(step_object(step, trace)).decode()


# --- counted ---


def messages_of(steps: Iterable[Step]) -> Counter[str]:
    """The messages that left for other nodes, by kind; also those to nodes that were down."""
    turns = (turn for step in steps for turn in step.turns)
    return Counter(kind_of(send.message) for turn in turns for send, left in turn.mail() if left)
