"""A run as JSON lines: the setting, then one object for each step."""

from collections.abc import Iterator
from typing import Any

import msgspec

from electorate.core import text_of
from electorate.trace.happening import Step, Trace, TurnRecord
from electorate.trace.text import changes_of, command_of, is_consequence, lines_of


def step_object(step: Step, trace: Trace) -> dict[str, Any]:
    """One step as plain data: when, the command for it, what happened, what it changed."""
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
    yield msgspec.json.encode({"cluster": trace.setting.text()}).decode()
    for step in trace.steps:
        yield msgspec.json.encode(step_object(step, trace)).decode()
