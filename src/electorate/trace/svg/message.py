"""Drawing the messages: lines, heads and crosses, and labels where there is room."""

from collections.abc import Iterator
from math import cos, radians, sin

from electorate.core import text_of
from electorate.trace.diagram import BEFORE, Fate, Flight
from electorate.trace.svg.arrow import Arrow
from electorate.trace.svg.ink import MIDDLE, Place
from electorate.trace.svg.palette import ALARM, SOFT
from electorate.trace.svg.pen import HALO, Attribute, Pen, Style, width_of
from electorate.trace.svg.sheet import Sheet, kind_of, short_text

HEAD_LENGTH, HEAD_HALF = 9.0, 3.6
STEEP = 55.0
"""Beyond this angle a label stands beside its arrow instead of along it."""
CROSSED_MAX = 9
"""How much other ink a label may cover; where there is more, the colour has to do."""
PARTS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
"""Where along an arrow its label may be."""


def draw_arrows(sheet: Sheet, arrows: list[Arrow]) -> None:
    """All messages, without their labels."""
    for arrow in arrows:
        _draw(sheet, arrow)


def write_labels(sheet: Sheet, arrows: list[Arrow]) -> None:
    """The kind of each message, beside its arrow where there is room."""
    for owner, arrow in enumerate(arrows):
        if arrow.flight.fate is not Fate.REMEMBERED:
            _write_label(sheet, arrow, owner)


def _draw(sheet: Sheet, arrow: Arrow) -> None:
    flight = arrow.flight
    colour = sheet.message_colours[kind_of(flight.message)]
    names = {"data_from": str(flight.sender), "data_to": str(flight.to)}
    fate = str(flight.fate)
    with sheet.pen.group(_told(sheet, flight), class_="message", data_fate=fate, **names):
        if flight.fate is Fate.REMEMBERED:
            d = f"M{arrow.x1:.1f} {arrow.y1:.1f}c-14 -18 14 -18 2 -1"
            sheet.pen.draw("path", d=d, fill="none", stroke=colour, stroke_width=1.5)
            return
        _draw_line(sheet.pen, arrow, stroke="#ffffff", stroke_opacity=0, stroke_width=11)
        draw_arrow(sheet.pen, arrow, colour)


def draw_arrow(pen: Pen, arrow: Arrow, colour: str) -> None:
    """A line, and at its end what became of the message."""
    fate = arrow.flight.fate
    line = arrow.cut_short(HEAD_LENGTH - 2) if fate in (Fate.ARRIVED, Fate.FLYING) else arrow
    style: Style = {"stroke": colour, "stroke_width": 1.7}
    if fate is Fate.FLYING:
        style["stroke_dasharray"] = "6 4"
    if fate is Fate.TORN:
        style = {"stroke": SOFT, "stroke_width": 1.5, "stroke_dasharray": "2 2.5"}
    _draw_line(pen, line, **style)
    match fate:
        case Fate.ARRIVED | Fate.FLYING:
            _draw_head(pen, arrow, colour)
        case Fate.TORN:
            pen.line(arrow.x2 - 5, arrow.y2, arrow.x2 + 5, arrow.y2, stroke=SOFT, stroke_width=2)
        case Fate.LOST:
            d = f"M{arrow.x2 - 4.5:.1f} {arrow.y2 - 4.5:.1f}l9 9m0 -9l-9 9"
            pen.draw("path", d=d, stroke="#ffffff", stroke_width=5, fill="none")
            pen.draw("path", d=d, stroke=ALARM, stroke_width=2.2, fill="none")


def _draw_line(pen: Pen, arrow: Arrow, **style: Attribute) -> None:
    if not arrow.bend:
        pen.line(arrow.x1, arrow.y1, arrow.x2, arrow.y2, **style)
        return
    cx, cy = arrow.control
    d = f"M{arrow.x1:.1f} {arrow.y1:.1f}Q{cx:.1f} {cy:.1f} {arrow.x2:.1f} {arrow.y2:.1f}"
    pen.draw("path", d=d, fill="none", **style)


def _draw_head(pen: Pen, arrow: Arrow, colour: str) -> None:
    """The head as a shape of its own, for markers do not take the colour of their line."""
    angle = radians(arrow.angle(1))
    ux, uy = cos(angle), sin(angle)
    bx, by = arrow.x2 - ux * HEAD_LENGTH, arrow.y2 - uy * HEAD_LENGTH
    points = [
        (arrow.x2, arrow.y2),
        (bx - uy * HEAD_HALF, by + ux * HEAD_HALF),
        (bx + uy * HEAD_HALF, by - ux * HEAD_HALF),
    ]
    is_open = arrow.flight.fate is Fate.FLYING
    texts = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    pen.draw("polygon", points=texts, fill="#ffffff" if is_open else colour, stroke=colour)


def _told(sheet: Sheet, flight: Flight) -> str:
    """The message's own story, then the step that ended it."""
    what = sheet.named(f"{flight.sender}->{flight.to} {text_of(flight.message)}")
    if flight.sent == BEFORE:
        sent = "sent before the record began"
    else:
        sent = f"sent at {sheet.axis.length(sheet.trace.steps[flight.sent].at)}"
    match flight.fate:
        case Fate.TORN:
            return f"{what}: never left, for {flight.sender} crashed"
        case Fate.FLYING:
            return f"{what}, {sent}, is still on its way"
        case Fate.REMEMBERED:
            return f"{what}, {sent}, for itself"
        case Fate.LOST if flight.why:
            sent += f", lost: {flight.why}"
    return f"{what}, {sent}\n{sheet.told(flight.ended)}"


def _write_label(sheet: Sheet, arrow: Arrow, owner: int) -> None:
    to = sheet.called(arrow.flight.to)
    text = f"→{to}" if arrow.flight.unsent else sheet.named(short_text(arrow.flight.message))
    place = sheet.ink.best(text, _places(arrow, text), owner, CROSSED_MAX)
    if place is None:
        return
    sheet.ink.settle(text, place)
    turned: Style = {"transform": f"rotate({place.angle:.1f} {place.x:.1f} {place.y:.1f})"}
    colour = sheet.message_colours[kind_of(arrow.flight.message)]
    style: Style = {
        "fill": colour,
        "text_anchor": "middle",
        **HALO,
        **(turned if place.angle else {}),
    }
    sheet.pen.write(place.x, place.y + MIDDLE, text, **style)


def _places(arrow: Arrow, text: str) -> Iterator[Place]:
    """Places for a label, best first."""
    half = width_of(text) / 2
    if arrow.flight.unsent:
        beyond = 12 if arrow.y2 > arrow.y1 else -12
        yield Place(arrow.x2, arrow.y2 + beyond)
        yield Place(arrow.x2 + half + 8, arrow.y2)
        return
    for part in PARTS:
        (x, y), angle = arrow.at(part), arrow.angle(part)
        if abs(angle) > STEEP:
            yield Place(x + half + 5, y)
            yield Place(x - half - 5, y)
        elif half < arrow.length * min(part, 1 - part) - 4:
            for side in (-8, 8):
                yield Place(x - sin(radians(angle)) * side, y + cos(radians(angle)) * side, angle)
