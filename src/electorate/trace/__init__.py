"""One record of a run, from any driver, and its text, JSON and script forms.

Sentences and pictures are imported from where they are: a node that writes down its run needs none.
"""

from electorate.trace.happening import (
    KINDS,
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
    Presence,
    Pressed,
    Recovered,
    Resumed,
    Saw,
    Step,
    Ticked,
    Trace,
    TurnRecord,
)
from electorate.trace.jsonl import to_json_lines
from electorate.trace.setting import Clock, Connections, Order, Setting, Start, Storage, Ties
from electorate.trace.text import command_of, is_consequence, lines_of, script_of

__all__ = [
    "KINDS",
    "Clock",
    "Connections",
    "Crashed",
    "Cut",
    "Delivered",
    "Doubled",
    "Fired",
    "Happening",
    "Healed",
    "Lost",
    "Order",
    "Paused",
    "Phased",
    "Placed",
    "Presence",
    "Pressed",
    "Recovered",
    "Resumed",
    "Saw",
    "Setting",
    "Start",
    "Step",
    "Storage",
    "Ticked",
    "Ties",
    "Trace",
    "TurnRecord",
    "command_of",
    "is_consequence",
    "lines_of",
    "script_of",
    "to_json_lines",
]
