"""What a picture of a run consists of: texts, lines, boxes and signs, all with their positions.

Everything is a number, a text or the name of a role. What a role looks like is decided by the code
that draws.
"""

from collections.abc import Mapping
from math import atan2, degrees, hypot
from typing import NamedTuple

from electorate.core import Value


class DiagramPart(Value):
    """One thing to draw, or several that belong together."""

    role: str
    at: tuple[float, ...] = ()
    """Where: x and y of a point or of both ends, or of a corner with width and height."""
    text: str = ""
    """What is written there; for parts that belong together, what is said of them."""
    colour: str = ""
    """What it is filled with, if its role does not say it."""
    parts: tuple["DiagramPart", ...] = ()
    facts: Mapping[str, str] = {}
    """Its node, and what became of it."""


class DiagramLayout(Value):
    """A whole picture, the undermost part first."""

    title: str
    width: float
    height: float
    parts: tuple[DiagramPart, ...]


class Arrow(NamedTuple):
    """A line from one position to another; bent if it would hide something."""

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
        """The point towards which the line bends."""
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
        """The slope of the line there, in degrees downwards."""
        (cx, cy), rest = self.control, 1 - part
        dx = rest * (cx - self.x1) + part * (self.x2 - cx)
        return degrees(atan2(rest * (cy - self.y1) + part * (self.y2 - cy), dx))

    def cut_short(self, by: float) -> "Arrow":
        """The same arrow with its end further from where it points to."""
        x2, y2 = self.at(max(0.0, 1 - by / self.length))
        return self._replace(x2=x2, y2=y2)
