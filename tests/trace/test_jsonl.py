"""A run as JSON lines: the setting, then one object with the same keys for every step."""

import json

from electorate.core import Send, Stable, State
from electorate.protocols.bully import Phase, Yes
from electorate.trace import (
    Crashed,
    Delivered,
    Fired,
    Lost,
    Setting,
    Step,
    Trace,
    TurnRecord,
    to_json_lines,
)


class Seat(State):
    phase: Phase
    alive: frozenset[int] = frozenset()


BEFORE = Seat(2, Stable(), Phase.PROBING, alive=frozenset({1, 2}))
AFTER = Seat(2, Stable(), Phase.ANSWERED, alive=frozenset({1, 2}))
TRACE = Trace(
    Setting("bully", (1, 2)),
    (
        Step(0, Delivered(1, 2, Yes()), (TurnRecord(2, BEFORE, AFTER, (Send(1, Yes()),)),)),
        Step(1, Fired(2, "probe"), (TurnRecord(2, BEFORE, AFTER, (Send(1, Yes()),), ((1, 0),)),)),
        Step(1, Crashed(1), (TurnRecord(2, None, AFTER, ()),)),
        Step(1, Lost(2, 1, Yes(), "1 is down")),
    ),
)


def test_every_line_is_an_object() -> None:
    lines = list(to_json_lines(TRACE))
    assert len(lines) == 5
    objects = [json.loads(line) for line in lines]
    assert objects[0] == {"cluster": "cluster bully 1 2"}
    assert all(set(found) == {"at", "command", "text", "turns"} for found in objects[1:])


def test_a_step_tells_when_how_and_what() -> None:
    first = json.loads(list(to_json_lines(TRACE))[1])
    assert first == {
        "at": 0,
        "command": "deliver 1->2",
        "text": ["1->2 Yes", "  2 phase: probing => answered", "  2 sends Yes to 1"],
        "turns": [
            {
                "node": 2,
                "changes": {"phase": ["probing", "answered"]},
                "effects": ["Send(1, Yes)"],
                "sent": None,
            }
        ],
    }


def test_a_torn_turn_tells_how_many_messages_left() -> None:
    torn = json.loads(list(to_json_lines(TRACE))[2])
    assert torn["command"] == "fire 2 probe torn 1:0"
    assert torn["turns"][0]["sent"] == {"1": 0}


def test_a_boot_has_nothing_before_it() -> None:
    booted = json.loads(list(to_json_lines(TRACE))[3])
    assert booted["turns"][0]["changes"]["phase"] == [None, "answered"]


def test_a_consequence_needs_no_command() -> None:
    assert json.loads(list(to_json_lines(TRACE))[4])["command"] is None
