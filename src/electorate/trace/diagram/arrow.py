"""The way of each message: from its send to the step that ended its flight, and its label."""

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from math import cos, radians, sin

from electorate.core import NodeId, text_of
from electorate.trace.diagram.flight import BEFORE, Fate, Flight
from electorate.trace.diagram.ink import MIDDLE, TextPosition, width_of
from electorate.trace.diagram.layout import Arrow
from electorate.trace.diagram.sheet import BAND, Sheet
from electorate.trace.word import kind_of, short_text

BENDS = (0.0, 14.0, -14.0, 26.0, -26.0)
"""How far an arrow may be bent."""
CLEAR = 11.0
"""How close it may come to a turn that is not its own."""
STEEP = 55.0
"""Beyond this angle a label stands beside its arrow instead of along it."""
CROSSED_MAX = 9
"""How much other ink a label may cover; if there is more, the colour has to do."""
PARTS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
"""Where along an arrow its label may be."""


def lay_arrows(sheet: Sheet) -> list[Arrow]:
    """The way of each message; all of them are in the ink then."""
    stubs: Counter[tuple[int, bool]] = Counter()
    flying: Counter[tuple[NodeId, NodeId]] = Counter()
    arrows: list[Arrow] = []
    for owner, flight in enumerate(sheet.flights):
        side, channel = (flight.sent, flight.to > flight.sender), (flight.sender, flight.to)
        stubs[side] += flight.unsent
        flying[channel] += flight.fate is Fate.FLYING
        rank = stubs[side] if flight.unsent else flying[channel]
        arrow = _unhidden(sheet, _arrow(sheet, flight, rank))
        parts = range(round(arrow.length / 3) + 1)
        sheet.ink.mark((arrow.at(part / len(parts)) for part in parts), owner)
        if flight.fate in (Fate.LOST, Fate.TORN):
            sheet.ink.box(arrow.x2 - 5, arrow.y2 - 5, 10, 10)
        arrows.append(arrow)
    return arrows


def _arrow(sheet: Sheet, flight: Flight, rank: int) -> Arrow:
    """The straight line of a flight that is the rank-th of its like."""
    x1, y1 = sheet.x(flight.sent), sheet.y(flight.sender)
    x2, y2 = sheet.x(flight.ended), sheet.y(flight.to)
    whole = Arrow(x1, y1, x2, y2)
    down = 1 if y2 > y1 else -1
    if flight.unsent:
        return whole._replace(x2=x1 + 18 * rank - 4, y2=y1 + down * (BAND / 2 + 12))
    match flight.fate:
        case Fate.ARRIVED:
            return whole.cut_short(4)
        case Fate.FLYING:
            # Who left first is ahead.
            return _part_of_the_way(whole, max(0.2, 0.9 - 0.18 * rank))
        case Fate.REMEMBERED:
            return whole._replace(y1=y1 - BAND / 2, x2=x1 + 1, y2=y1 - BAND / 2 - 14)
    if flight.why and not flight.why.endswith("is cut"):
        return whole._replace(y2=y2 - down * (BAND / 2 - 2))
    return _part_of_the_way(whole, 0.6)


def _part_of_the_way(arrow: Arrow, part: float) -> Arrow:
    """An arrow that never reaches the lane that it points to."""
    return arrow._replace(y2=arrow.y1 + part * (arrow.y2 - arrow.y1))


def _unhidden(sheet: Sheet, arrow: Arrow) -> Arrow:
    """The arrow, bent if it would run through a turn of a node in between."""
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


def put_arrows(sheet: Sheet, arrows: list[Arrow]) -> None:
    """All messages, without their labels."""
    for flight, arrow in zip(sheet.flights, arrows, strict=True):
        facts = {"fate": str(flight.fate), "from": str(flight.sender), "to": str(flight.to)}
        colour = sheet.message_colours[kind_of(flight.message)]
        with sheet.group("message", _told(sheet, flight), arrow, **facts):
            sheet.put(flight.fate, *arrow, colour=colour)


def put_labels(sheet: Sheet, arrows: list[Arrow]) -> None:
    """The kind of each message, beside its arrow if there is room."""
    for owner, (flight, arrow) in enumerate(zip(sheet.flights, arrows, strict=True)):
        if flight.fate is Fate.REMEMBERED:
            continue
        to = f"→{sheet.called(flight.to)}"
        text = to if flight.unsent else sheet.named(short_text(flight.message))
        places = _beside(arrow, text) if flight.unsent else _along(arrow, text)
        place = sheet.ink.best(text, places, owner, CROSSED_MAX)
        if place is not None:
            sheet.ink.settle(text, place)
            colour = sheet.message_colours[kind_of(flight.message)]
            sheet.put("label", place.x, place.y + MIDDLE, place.angle, text=text, colour=colour)


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


def _beside(arrow: Arrow, text: str) -> Iterator[TextPosition]:
    """Positions for the label of a message that never left, best first."""
    yield TextPosition(arrow.x2, arrow.y2 + (12 if arrow.y2 > arrow.y1 else -12))
    yield TextPosition(arrow.x2 + width_of(text) / 2 + 8, arrow.y2)


def _along(arrow: Arrow, text: str) -> Iterator[TextPosition]:
    """Positions for any other label, best first."""
    half = width_of(text) / 2
    for part in PARTS:
        (x, y), angle = arrow.at(part), arrow.angle(part)
        if abs(angle) > STEEP:
            yield TextPosition(x + half + 5, y)
            yield TextPosition(x - half - 5, y)
        elif half < arrow.length * min(part, 1 - part) - 4:
            for side in (-8, 8):
                yield TextPosition(
                    x - sin(radians(angle)) * side, y + cos(radians(angle)) * side, angle
                )
