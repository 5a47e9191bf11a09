"""Where there is ink already, so that texts are put where they can be read."""

from collections.abc import Iterable, Iterator
from math import cos, hypot, radians, sin
from typing import NamedTuple

CELL = 4.0
SOLID = -1
"""The owner of ink that no text may cover."""
CROSSING = 4
"""How much worse a position gets with each cell of other ink."""
HEIGHT = 11.0
"""How high a line of text is."""
MIDDLE = 3.8
"""How far the baseline lies below the middle of a text."""

FONT_SIZE = 11
NARROW = frozenset("iljtfrI.,:;'|()[]{}! ")
WIDE = frozenset("mMW@→↔")

Point = tuple[float, float]


def width_of(text: str, size: float = FONT_SIZE) -> float:
    """About how wide a text is; too much rather than too little."""
    widths = (
        0.3 if c in NARROW else 0.9 if c in WIDE else 0.7 if c.isupper() else 0.57 for c in text
    )
    return size * sum(widths)


class TextPosition(NamedTuple):
    """A position for a text: its middle, and how far it is turned."""

    x: float
    y: float
    angle: float = 0.0


class Ink:
    """A coarse picture of what was drawn in which cell. Texts stay inside its edges."""

    def __init__(self, left: float, right: float) -> None:
        self.left = left
        self.right = right
        self._cells: dict[tuple[int, int], set[int]] = {}

    def line(self, x1: float, y1: float, x2: float, y2: float, owner: int) -> None:
        """Ink along a line; a text may cross it if it must."""
        steps = round(hypot(x2 - x1, y2 - y1) / CELL * 1.5) + 1
        parts = (n / steps for n in range(steps + 1))
        self.mark(((x1 + (x2 - x1) * p, y1 + (y2 - y1) * p) for p in parts), owner)

    def box(self, x: float, y: float, w: float, h: float) -> None:
        """A rectangle that no text may cover."""
        columns, rows = max(1, round(w / CELL)), max(1, round(h / CELL))
        points = (
            (x + w * i / columns, y + h * j / rows)
            for i in range(columns + 1)
            for j in range(rows + 1)
        )
        self.mark(points, SOLID)

    def best(
        self, text: str, places: Iterable[TextPosition], owner: int = SOLID, crossed_max: int = 1000
    ) -> TextPosition | None:
        """The position where the text crosses least; earlier ones are better, None if none is free.

        Ink of the owner does not count: a label may touch its own line.
        """
        found: tuple[int, TextPosition] | None = None
        for bias, place in enumerate(places):
            cost = self._cost(_points(text, place), owner)
            if cost is None or cost > crossed_max * CROSSING:
                continue
            if found is None or cost + bias < found[0]:
                found = (cost + bias, place)
        return None if found is None else found[1]

    def settle(self, text: str, place: TextPosition) -> None:
        """Write a text there: no other may cover it."""
        self.mark(_points(text, place), SOLID)

    def mark(self, points: Iterable[Point], owner: int) -> None:
        """Ink at some points."""
        for x, y in points:
            self._cells.setdefault((int(x // CELL), int(y // CELL)), set()).add(owner)

    def _cost(self, points: Iterable[Point], owner: int) -> int | None:
        crossed = 0
        for x, y in points:
            owners = self._cells.get((int(x // CELL), int(y // CELL)), ())
            if SOLID in owners or not self.left <= x <= self.right:
                return None
            crossed += CROSSING * (len(owners) - (owner in owners))
        return crossed


def _points(text: str, place: TextPosition) -> Iterator[Point]:
    """Points all over a text."""
    half = width_of(text) / 2 + 1
    along = (cos(radians(place.angle)), sin(radians(place.angle)))
    columns = max(1, round(2 * half / CELL))
    for column in range(columns + 1):
        u = -half + 2 * half * column / columns
        for v in (-HEIGHT / 2, -HEIGHT / 6, HEIGHT / 6, HEIGHT / 2):
            yield (place.x + u * along[0] - v * along[1], place.y + u * along[1] + v * along[0])
