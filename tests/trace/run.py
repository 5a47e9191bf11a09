"""Runs that were written down by hand, and what drawings show of them."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from electorate.core import (
    Effect,
    Message,
    NodeId,
    Stable,
    Standing,
    State,
    Status,
)
from electorate.simulate import run_script
from electorate.trace import (
    Fired,
    Happening,
    Setting,
    Step,
    Trace,
    TurnRecord,
)
from electorate.trace.diagram import layout_of
from electorate.trace.diagram.flight import Fate, Flight
from electorate.trace.svg import svg_of
from tests.script import find

SVG = "{http://www.w3.org/2000/svg}"


class Note(Message):
    """This is what I have to say."""

    text: str = ""


class NoteState(State):
    leader: NodeId | None = None
    until: str | None = None


def view(state: State) -> Standing:
    assert isinstance(state, NoteState)
    status = Status.ELECTION if state.leader is None else Status.NORMAL
    return Standing(status, state.leader, until=state.until)


def turn(
    node: NodeId, *effects: Effect, leader: NodeId | None = None, until: str | None = None
) -> TurnRecord:
    before, after = NoteState(node, Stable()), NoteState(node, Stable(), leader, until)
    return TurnRecord(node, before, after, effects)


def starts(at: int, node: NodeId, *effects: Effect, **after: Any) -> Step:
    """A node sends and sets whatever it wants, because a timer told it to."""
    return Step(at, Fired(node, "start"), (turn(node, *effects, **after),))


def trace_of(*steps: Step | tuple[int, Happening], nodes: int = 3, **setting: Any) -> Trace:
    whole = tuple(step if isinstance(step, Step) else Step(*step) for step in steps)
    return Trace(Setting("notes", tuple(range(1, nodes + 1)), **setting), whole)


def golden_trace(script: Path) -> tuple[Trace, Any]:
    trace = run_script(script.read_text(encoding="utf-8"), find).trace
    return trace, trace.setting.machine(*find(trace.setting.protocol))


def drawn(trace: Trace, *more: Any, **named: Any) -> str:
    """The run as a picture, of what `layout_of` takes."""
    return svg_of(layout_of(trace, *more, **named))


def of_class(svg: str, name: str) -> list[ElementTree.Element]:
    return [g for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if g.get("class") == name]


def fates(flights: tuple[Flight, ...]) -> list[tuple[int, int, Fate]]:
    return [(flight.sent, flight.ended, flight.fate) for flight in flights]


A, B, C = Note("a"), Note("b"), Note("c")
