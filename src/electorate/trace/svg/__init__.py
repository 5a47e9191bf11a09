"""Space-time diagrams: a run as a drawing for the lecture hall, on one lane for each node.

Time runs to the right. A message is an arrow that leans as long as it took; the colour of a lane
shows which leader its node believes in. Everything that the trace says is in the tooltips. The
positions are computed in `electorate.trace.diagram`. Here they are written down, in the styles of
`palette`.
"""

from math import cos, radians, sin

from electorate.trace.diagram.flight import Fate
from electorate.trace.diagram.ink import MIDDLE
from electorate.trace.diagram.layout import Arrow, DiagramLayout, DiagramPart
from electorate.trace.diagram.life import Ending
from electorate.trace.happening import SIGNS, Shape
from electorate.trace.svg.pen import (
    ALARM,
    COLOURS,
    INK,
    SOFT,
    STYLES,
    Attribute,
    Pen,
    Style,
    document,
    number,
)

PLACES = {
    "line": ("x1", "y1", "x2", "y2"),
    "rect": ("x", "y", "width", "height"),
    "circle": ("cx", "cy", "r"),
}
"""What the numbers of a part are called."""
FATES, ENDINGS = frozenset(Fate), frozenset(Ending)
HEAD_LENGTH, HEAD_HALF = 9.0, 3.6
PATTERNS = (
    ("election", 6, 45, "#ffffff", "#aeb6c2", 1.6),
    ("reorganization", 7, 135, "none", "#ffffff", 2.2),
    ("pause", 5, 135, "none", "#6b7280", 0.4),
)


def svg_of(layout: DiagramLayout) -> str:
    """A layout as an SVG file of its own."""
    pen = Pen()
    _draw_patterns(pen)
    for part in layout.parts:
        _draw(pen, part)
    return document(pen, layout.title, layout.width, layout.height)


def _draw(pen: Pen, part: DiagramPart) -> None:
    if part.role in STYLES:
        _draw_plain(pen, part)
    elif part.role in FATES:
        _draw_message(pen, Fate(part.role), Arrow(*part.at), COLOURS[part.colour])
    elif part.role in ENDINGS:
        _draw_timer(pen, Ending(part.role), *part.at)
    elif part.role == "sign":
        x, y = part.at
        for shape in SIGNS[part.text]:
            _draw_shape(pen, x, y, shape)
    else:
        _draw_group(pen, part)


def _draw_plain(pen: Pen, part: DiagramPart) -> None:
    tag, usual = STYLES[part.role]
    style = {**usual, **({"fill": COLOURS[part.colour]} if part.colour else {})}
    if tag != "text":
        pen.draw(tag, **dict(zip(PLACES[tag], part.at, strict=True)), **style)
        return
    x, y, *angle = part.at
    if any(angle):
        style["transform"] = f"rotate({number(angle[0])} {number(x)} {number(y - MIDDLE)})"
    pen.write(x, y, part.text, **style)


def _draw_group(pen: Pen, part: DiagramPart) -> None:
    style: Style = {"class_": part.role}
    at = " ".join(map(number, part.at))
    if at:
        style["data_at"] = at
    if part.role == "item":
        style["transform"] = f"translate({at})"
    style |= {f"data_{name}": fact for name, fact in part.facts.items()}
    with pen.group(part.text, **style, **({"font_size": 12} if part.role == "legend" else {})):
        if part.role == "message" and part.facts["fate"] != Fate.REMEMBERED:
            # A line that is easy to point at.
            hit: Style = {"stroke": "#ffffff", "stroke_opacity": 0, "stroke_width": 11}
            _draw_line(pen, Arrow(*part.at), **hit)
        for inner in part.parts:
            _draw(pen, inner)


def _draw_patterns(pen: Pen) -> None:
    """Hatchings, to be filled in by name."""
    with pen.element("defs"):
        for name, size, angle, ground, stroke, width in PATTERNS:
            attributes: Style = {
                "id": f"electorate-{name}",
                "width": size,
                "height": size,
                "patternUnits": "userSpaceOnUse",
                "patternTransform": f"rotate({angle})",
            }
            with pen.element("pattern", **attributes):
                pen.rect(0, 0, size, size, fill=ground)
                pen.line(0, 0, 0, size, stroke=stroke, stroke_width=2 * width)


def _draw_shape(pen: Pen, x: float, y: float, shape: Shape) -> None:
    """A part of a sign, around a position."""
    edge: Style = {"stroke": COLOURS[shape.stroke], "stroke_width": shape.width}
    style: Style = {"fill": COLOURS[shape.fill], **(edge if shape.width else {})}
    if shape.path:
        rounded: Style = {"stroke_linecap": "round"} if shape.fill == "none" else {}
        d = f"M{x + shape.x:.1f} {y + shape.y:.1f}{shape.path}"
        pen.draw("path", d=d, **style, **rounded)
    else:
        pen.circle(x, y, shape.radius, **style)


# --- messages ---


def _draw_message(pen: Pen, fate: Fate, arrow: Arrow, colour: str) -> None:
    """A line, and at its end what became of the message."""
    if fate is Fate.REMEMBERED:
        d = f"M{arrow.x1:.1f} {arrow.y1:.1f}c-14 -18 14 -18 2 -1"
        pen.draw("path", d=d, fill="none", stroke=colour, stroke_width=1.5)
        return
    line = arrow.cut_short(HEAD_LENGTH - 2) if fate in (Fate.ARRIVED, Fate.FLYING) else arrow
    style: Style = {"stroke": colour, "stroke_width": 1.7}
    if fate is Fate.FLYING:
        style["stroke_dasharray"] = "6 4"
    if fate is Fate.TORN:
        style = {"stroke": SOFT, "stroke_width": 1.5, "stroke_dasharray": "2 2.5"}
    _draw_line(pen, line, **style)
    match fate:
        case Fate.ARRIVED | Fate.FLYING:
            _draw_head(pen, arrow, colour, is_open=fate is Fate.FLYING)
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


def _draw_head(pen: Pen, arrow: Arrow, colour: str, *, is_open: bool) -> None:
    """The head as a shape of its own, for markers do not take the colour of their line."""
    angle = radians(arrow.angle(1))
    ux, uy = cos(angle), sin(angle)
    bx, by = arrow.x2 - ux * HEAD_LENGTH, arrow.y2 - uy * HEAD_LENGTH
    points = [
        (arrow.x2, arrow.y2),
        (bx - uy * HEAD_HALF, by + ux * HEAD_HALF),
        (bx + uy * HEAD_HALF, by - ux * HEAD_HALF),
    ]
    texts = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    pen.draw("polygon", points=texts, fill="#ffffff" if is_open else colour, stroke=colour)


# --- timers ---


def _draw_timer(pen: Pen, ending: Ending, left: float, right: float, y: float, *gap: float) -> None:
    """A bar whose mark shows how it ended, and a gap for its name."""
    grey: Style = {"stroke": SOFT}
    pen.line(left, y - 4, left, y + 4, **grey)
    dashes: Style = {"stroke_dasharray": "4 3"} if ending is Ending.PENDING else {}
    end = right - (3 if ending is Ending.CANCELLED else 0)
    if gap and gap[0] < right:
        pen.line(left, y, gap[0], y, **grey, **dashes)
        left = gap[1]
    pen.line(left, y, end, y, **grey, **dashes)
    match ending:
        case Ending.FIRED:
            pen.rect(right - 3, y - 3, 6, 6, fill=INK, stroke=INK)
        case Ending.CANCELLED:
            pen.circle(right, y, 3, fill="#ffffff", **grey)
        case Ending.RESET:
            pen.line(right, y - 4, right, y + 4, **grey)
