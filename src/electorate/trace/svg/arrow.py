"""The line of each message: from its send to the step that ended its flight."""

from bisect import bisect
from collections import Counter
from math import atan2, degrees, hypot
from typing import NamedTuple

from electorate.core import NodeId
from electorate.trace.diagram import Fate, Flight
from electorate.trace.svg.sheet import BAND, Sheet

BENDS = (0.0, 14.0, -14.0, 26.0, -26.0)
"""How far an arrow may be bent."""
CLEAR = 11.0
"""How close it may come to a turn that is not its own."""


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
    whole = Arrow(flight, x1, y1, x2, y2)
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
