"""A run as JSON lines: the setting, then one object for each step."""

from collections.abc import Iterator
from typing import Any

import msgspec

from electorate.core import text_of
from electorate.trace.step import Step, Trace, TurnRecord
from electorate.trace.text import command_of, lines_of


def step_object(step: Step, trace: Trace) -> dict[str, Any]:
    """One step as plain data: when, the command for it, what happened, what it changed."""
    return {
        "at": step.at,
        "command": command_of(step),
        "text": list(lines_of(step, trace.setting.timing)),
        "turns": [_turn_object(turn) for turn in step.turns],
    }


def _turn_object(turn: TurnRecord) -> dict[str, Any]:
    return {
        "node": turn.node,
        "changes": {
            name: [text_of(getattr(turn.before, name, None)), text_of(getattr(turn.after, name))]
            for name in turn.after.__struct_fields__
            if getattr(turn.before, name, None) != getattr(turn.after, name)
        },
        "effects": [text_of(effect) for effect in turn.effects],
        "sent": None if turn.sent is None else {str(to): count for to, count in turn.sent},
    }


def to_json_lines(trace: Trace) -> Iterator[str]:
    """The run, line by line; `electorate replay` reads it back."""
    yield msgspec.json.encode({"cluster": trace.setting.text()}).decode()
    for step in trace.steps:
        yield msgspec.json.encode(step_object(step, trace)).decode()
