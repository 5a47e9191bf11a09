"""Writing SVG: elements with escaped texts and short numbers, the same bytes every time."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from xml.sax.saxutils import escape, quoteattr

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
