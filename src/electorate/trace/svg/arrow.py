"""Drawing the messages: an arrow from each send to the step that ended its flight."""

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from math import atan2, cos, degrees, hypot, radians, sin
from typing import NamedTuple

from electorate.core import NodeId, text_of
from electorate.trace.diagram import BEFORE, Fate, Flight
from electorate.trace.svg.ink import MIDDLE, Place
from electorate.trace.svg.palette import ALARM, SOFT
from electorate.trace.svg.pen import HALO, Pen, width_of
from electorate.trace.svg.sheet import BAND, Sheet, kind_of, short_text

HEAD_LENGTH, HEAD_HALF = 9.0, 3.6
STEEP = 55.0
"""Beyond this angle a label stands beside its arrow instead of along it."""
BENDS = (0.0, 14.0, -14.0, 26.0, -26.0)
"""How far an arrow may be bent."""
CLEAR = 11.0
"""How close it may come to a turn that is not its own."""
CROSSED_MAX = 9
"""How much other ink a label may cover; where there is more, the colour has to do."""
PARTS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
"""Where along an arrow its label may be."""


class Arrow(NamedTuple):
    """A flight and the line that it takes on the sheet; bent where it would hide something."""

    flight: Flight
    x1: float
    y1: float
    x2: float
    y2: float
    bend: float = 0.0
    """How far the middle lies beside the straight line."""

    @property
    def length(self) -> float:
        """How far it is from one end to the other."""
        return hypot(self.x2 - self.x1, self.y2 - self.y1) or 1.0

    @property
    def control(self) -> tuple[float, float]:
        """The point that the line bends towards."""
        ux, uy = (self.x2 - self.x1) / self.length, (self.y2 - self.y1) / self.length
        x, y = (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2
        return x - 2 * self.bend * uy, y + 2 * self.bend * ux

    def at(self, part: float) -> tuple[float, float]:
        """A point on the line."""
        (cx, cy), rest = self.control, 1 - part
        first, middle, last = rest * rest, 2 * rest * part, part * part
        x = first * self.x1 + middle * cx + last * self.x2
        return x, first * self.y1 + middle * cy + last * self.y2

    def angle(self, part: float) -> float:
        """How far it points down there, in degrees."""
        (cx, cy), rest = self.control, 1 - part
        dx = rest * (cx - self.x1) + part * (self.x2 - cx)
        return degrees(atan2(rest * (cy - self.y1) + part * (self.y2 - cy), dx))

    def cut_short(self, by: float) -> "Arrow":
        """The same arrow with its end further from where it points to."""
        x2, y2 = self.at(max(0.0, 1 - by / self.length))
        return self._replace(x2=x2, y2=y2)


def lay_arrows(sheet: Sheet) -> list[Arrow]:
    """The line of each message; all of them are in the ink then."""
    ranks: Counter[tuple[int, ...]] = Counter()
    arrows: list[Arrow] = []
    for owner, flight in enumerate(sheet.flights):
        channel = (flight.sender, flight.to)
        rivals = (flight.sent, flight.to > flight.sender) if is_stub(flight) else channel
        ranks[rivals] += is_stub(flight) or flight.fate is Fate.FLYING
        arrow = _unhidden(sheet, _arrow(sheet, flight, ranks[rivals]))
        parts = range(round(arrow.length / 3) + 1)
        sheet.ink.mark((arrow.at(part / len(parts)) for part in parts), owner)
        if flight.fate in (Fate.LOST, Fate.TORN):
            sheet.ink.box(arrow.x2 - 5, arrow.y2 - 5, 10, 10)
        arrows.append(arrow)
    return arrows


def draw_arrows(sheet: Sheet, arrows: list[Arrow]) -> None:
    """All messages, without their labels."""
    for arrow in arrows:
        _draw(sheet, arrow)


def write_labels(sheet: Sheet, arrows: list[Arrow]) -> None:
    """The kind of each message, beside its arrow where there is room."""
    for owner, arrow in enumerate(arrows):
        if arrow.flight.fate is not Fate.REMEMBERED:
            _write_label(sheet, arrow, owner)


def is_stub(flight: Flight) -> bool:
    """Whether the message never got out into the network."""
    return flight.sent == flight.ended and flight.fate in (Fate.TORN, Fate.LOST)


def _arrow(sheet: Sheet, flight: Flight, rank: int) -> Arrow:
    x1, y1 = sheet.x(flight.sent), sheet.y(flight.sender)
    x2, y2 = sheet.x(flight.ended), sheet.y(flight.to)
    whole = Arrow(flight, x1, y1, x2, y2)
    down = 1 if y2 > y1 else -1
    if is_stub(flight):
        return whole._replace(x2=x1 + 18 * rank - 4, y2=y1 + down * (BAND / 2 + 12))
    match flight.fate:
        case Fate.ARRIVED:
            return whole.cut_short(4)
        case Fate.FLYING:
            # Who left first is ahead.
            return _part_of_the_way(whole, max(0.2, 0.9 - 0.18 * rank))
        case Fate.REMEMBERED:
            return whole._replace(y1=y1 - BAND / 2, x2=x1 + 1, y2=y1 - BAND / 2 - 14)
    if flight.why.endswith("is cut"):
        return _part_of_the_way(whole, 0.35)
    if flight.why:
        return whole._replace(y2=y2 - down * (BAND / 2 - 2))
    return _part_of_the_way(whole, 0.6)


def _part_of_the_way(arrow: Arrow, part: float) -> Arrow:
    """An arrow that never reaches the lane that it is meant for."""
    return arrow._replace(y2=arrow.y1 + part * (arrow.y2 - arrow.y1))


def _unhidden(sheet: Sheet, arrow: Arrow) -> Arrow:
    """The arrow, bent if it would run through a turn of a node that it only passes by."""
    top, bottom = sorted((arrow.y1, arrow.y2))
    passed = [node for node in sheet.lives if top + BAND < sheet.y(node) < bottom - BAND]
    bent = (arrow._replace(bend=bend) for bend in BENDS)
    free = (one for one in bent if not any(_hits(sheet, one, node) for node in passed))
    return next(free, arrow)


def _hits(sheet: Sheet, arrow: Arrow, node: NodeId) -> bool:
    y, parts = sheet.y(node), max(8, round(arrow.length / 6))
    points = (arrow.at(part / parts) for part in range(1, parts))
    x = min(points, key=lambda point: abs(point[1] - y))[0]
    stops = sheet.stops[node]
    near = stops[max(0, bisect(stops, x) - 1) :][:2]
    return any(abs(stop - x) < CLEAR for stop in near)


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
    style: dict[str, str | float] = {"stroke": colour, "stroke_width": 1.7}
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


def _draw_line(pen: Pen, arrow: Arrow, **style: str | float) -> None:
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
    timing = sheet.trace.setting.timing
    what = f"{flight.sender}->{flight.to} {text_of(flight.message)}"
    if flight.sent == BEFORE:
        sent = "sent before the record began"
    else:
        sent = f"sent at {timing.text(sheet.trace.steps[flight.sent].at)}"
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
    text = f"→{arrow.flight.to}" if is_stub(arrow.flight) else short_text(arrow.flight.message)
    place = sheet.ink.best(text, _places(arrow, text), owner, CROSSED_MAX)
    if place is None:
        return
    sheet.ink.settle(text, place)
    turned = {"transform": f"rotate({place.angle:.1f} {place.x:.1f} {place.y:.1f})"}
    colour = sheet.message_colours[kind_of(arrow.flight.message)]
    style = {"fill": colour, "text_anchor": "middle", **HALO, **(turned if place.angle else {})}
    sheet.pen.write(place.x, place.y + MIDDLE, text, **style)


def _places(arrow: Arrow, text: str) -> Iterator[Place]:
    """Places for a label, best first."""
    half = width_of(text) / 2
    if is_stub(arrow.flight):
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
