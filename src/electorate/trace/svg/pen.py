"""Writing SVG: elements with escaped texts and short numbers, the same bytes every time; styles."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from xml.sax.saxutils import escape, quoteattr

from electorate.core import Stage
from electorate.trace.diagram.ink import FONT_SIZE

Attribute = str | float
Style = dict[str, Attribute]

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
HALO: Style = {"stroke": "#ffffff", "stroke_width": 3, "paint_order": "stroke"}
"""A white edge, for texts that stand on other things."""

UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def number(value: float) -> str:
    """A number with one decimal at most."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def clean(text: str) -> str:
    """The text without characters that XML does not know."""
    return UNPRINTABLE.sub("\ufffd", text)


class Pen:
    """Collects the lines of a drawing."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def draw(self, tag: str, **attributes: Attribute) -> None:
        """An element without content."""
        self.lines.append(f"<{tag}{_attributes(attributes)}/>")

    def write(self, x: float, y: float, text: str, **attributes: Attribute) -> None:
        """A line of text."""
        inside = escape(clean(text))
        self.lines.append(f"<text{_attributes({'x': x, 'y': y, **attributes})}>{inside}</text>")

    def title(self, text: str) -> None:
        """What is shown when the pointer is on the element around it."""
        self.lines.append(f"<title>{escape(clean(text))}</title>")

    @contextmanager
    def element(self, tag: str, **attributes: Attribute) -> Iterator[None]:
        """An element around all that is drawn inside."""
        self.lines.append(f"<{tag}{_attributes(attributes)}>")
        yield
        self.lines.append(f"</{tag}>")

    @contextmanager
    def group(self, title: str = "", **attributes: Attribute) -> Iterator[None]:
        """All that is drawn inside belongs together, and is explained by one title."""
        with self.element("g", **attributes):
            if title:
                self.title(title)
            yield

    def line(self, x1: float, y1: float, x2: float, y2: float, **attributes: Attribute) -> None:
        """A straight line."""
        self.draw("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)

    def rect(self, x: float, y: float, w: float, h: float, **attributes: Attribute) -> None:
        """A rectangle, from its upper left corner."""
        self.draw("rect", x=x, y=y, width=w, height=h, **attributes)

    def circle(self, x: float, y: float, r: float, **attributes: Attribute) -> None:
        """A circle around a point."""
        self.draw("circle", cx=x, cy=y, r=r, **attributes)


def document(drawn: Pen, title: str, width: float, height: float) -> str:
    """A drawing as a file of its own."""
    pen = Pen()
    size: Style = {"width": width, "height": height}
    box = f"0 0 {number(width)} {number(height)}"
    font: Style = {"font_family": FONT, "font_size": FONT_SIZE}
    with pen.element(
        "svg", xmlns="http://www.w3.org/2000/svg", role="img", **size, viewBox=box, **font
    ):
        pen.title(title)
        pen.rect(0, 0, width, height, fill="#ffffff")
        pen.lines += drawn.lines
    return "\n".join(pen.lines) + "\n"


def _attributes(attributes: Style) -> str:
    texts = []
    for name, value in attributes.items():
        text = value if isinstance(value, str) else number(value)
        texts.append(f" {name.rstrip('_').replace('_', '-')}={quoteattr(clean(text))}")
    return "".join(texts)


# --- colours that people with any kind of sight can tell apart, as far as there are so many ---
# Leaders have pale ones, for bands with dark text on them; messages strong ones, for thin lines on
# white paper. What a colour says is also said by a text or a shape.

INK = "#1d2430"
SOFT = "#6b7280"
GRID = "#d5d9e0"
INSTANT = "#eef1f6"
ALARM = "#b3001b"

LEADERS = (
    *("#8fbbe8", "#f2a67f", "#7fd1b3", "#f0de8a", "#f7b3c8", "#c3d15c"),
    *("#a9e2f5", "#c4b0e3", "#c9c08b", "#d9b99b", "#9fb4c0", "#d8a3c4"),
)
MESSAGES = ("#00788c", "#0060a8", "#00805c", "#a13b8c", "#8a6a00", "#3b2a91", "#7c1d3f", "#c64600")

MIDDLE: Style = {"text_anchor": "middle"}
MARK: Style = {"fill": ALARM, "font_weight": "bold", "font_size": 12}
COLOURS = {
    "ink": INK,
    "soft": SOFT,
    "alarm": ALARM,
    "paper": "#ffffff",
    "none": "none",
    "unknown": "#e7e7e7",
    "election": "url(#electorate-election)",
    "reorganization": "url(#electorate-reorganization)",
    Stage.WORKING: "#ffffff",
    Stage.UNCERTAIN: "#f0de8a",
    Stage.COMMITTABLE: "#c8e6b0",
    Stage.ABORTABLE: "#f7cdb8",
    Stage.COMMITTED: "#7fd1b3",
    Stage.ABORTED: "#f2a67f",
    **{f"leader {number}": colour for number, colour in enumerate(LEADERS)},
    **{f"message {number}": colour for number, colour in enumerate(MESSAGES)},
}
"""What layouts call their colours."""

STYLES: dict[str, tuple[str, Style]] = {
    "title": ("text", {"fill": INK, "font_size": 19, "font_weight": "bold"}),
    "setting": ("text", {"fill": SOFT, "font_size": 12}),
    "axis": ("text", {"fill": SOFT, "font_style": "italic"}),
    "time": ("text", {"fill": INK, "font_size": 13, "font_weight": "bold", **MIDDLE}),
    "tick": ("text", {"fill": SOFT, **MIDDLE}),
    "cut name": ("text", {"fill": ALARM, "font_weight": "bold", **HALO}),
    "mark start": ("text", MARK),
    "mark end": ("text", {**MARK, "text_anchor": "end"}),
    "head name": ("text", {"fill": INK, "font_weight": "bold", "font_size": 14, **MIDDLE}),
    "name on band": ("text", {"fill": INK}),
    "name on hatching": ("text", {"fill": INK, **HALO}),
    "timer name": ("text", {"fill": SOFT, **HALO}),
    "flag": ("text", {"fill": INK, "font_style": "italic", **MIDDLE, **HALO}),
    "label": ("text", {**MIDDLE, **HALO}),
    "meaning": ("text", {"fill": INK}),
    "grid line": ("line", {"stroke": GRID, "stroke_width": 1}),
    "tick line": ("line", {"stroke": GRID, "stroke_dasharray": "2 3"}),
    "down": ("line", {"stroke": SOFT, "stroke_dasharray": "1.5 4", "stroke_width": 1.2}),
    "cut line": ("line", {"stroke": ALARM, "stroke_width": 2.5}),
    "mark line": ("line", {"stroke": ALARM, "stroke_width": 2}),
    "instant": ("rect", {"fill": INSTANT, "rx": 4}),
    "fan": ("rect", {"fill": INSTANT, "stroke": GRID}),
    "long head": ("rect", {"stroke": INK, "stroke_width": 1}),
    "head": ("circle", {"stroke": INK, "stroke_width": 1}),
    "pause": ("rect", {"fill": "url(#electorate-pause)", "stroke": SOFT}),
    "band": ("rect", {}),
    "band edge": ("rect", {"fill": "none", "stroke": "#ffffff", "stroke_width": 1.5}),
    "edge": ("rect", {"fill": "none", "stroke": GRID}),
    "hit": ("circle", {"fill": "#ffffff", "fill_opacity": 0}),
}
"""What the parts of a layout look like, by their roles."""
