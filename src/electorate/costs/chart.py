"""How costs grow with N, drawn: messages on one panel, time on the other, a curve for each case.

Lines are formulas, marks are what was measured. Both axes are logarithmic, so that a steeper line
is a higher power of N; where a case has a least and a most, the band between them is shaded.
"""

from collections.abc import Sequence
from itertools import groupby
from math import log
from typing import NamedTuple

from electorate.costs.case import MESSAGES, TIME, Case
from electorate.costs.measure import CostRow, formula_at
from electorate.trace.diagram.ink import width_of
from electorate.trace.svg.pen import ALARM, GRID, INK, SOFT, Pen, Style, document, number

MARGIN = 24.0
HEAD = 64.0
PANEL_WIDTH, PANEL_HEIGHT = 430.0, 300.0
GAP = 76.0
"""Between the panels; the numbers of the second axis stand there."""
LEFT = 46.0
"""Room for the numbers of the first axis."""
SIGN = 40.0
"""The width of a sign in the legend."""
ROW = 20.0
STEPS = (1, 2, 5)
TICK_GAP = 4.0

ABOUT = "every delay is exactly T · lines: formulas, marks: measured · both axes are logarithmic"
COLOURS = ("#0060a8", "#c64600", "#00805c", "#a13b8c", "#8a6a00", "#3b2a91", "#7c1d3f", "#00788c")
"""Strong colours, as those of messages in other drawings; neighbours differ."""
DASHES = ("none", "7 4", "2 3", "10 3 2 3", "5 2")
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "plus")


class Curve(NamedTuple):
    """One case, and how it is drawn."""

    case: Case
    rows: Sequence[CostRow]
    colour: str
    dash: str
    shape: str


class LogScale(NamedTuple):
    """A logarithmic axis: from a least to a most value, between two positions."""

    least: float
    most: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """The position of a value."""
        share = log(value / self.least) / log(self.most / self.least)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[int]:
        """Round numbers along it."""
        powers = range(len(str(round(self.most))))
        steps = STEPS if self.most > 9 * self.least else range(1, 10)
        numbers = (step * 10**power for power in powers for step in steps)
        return [n for n in numbers if self.least <= n <= self.most]


class Panel(NamedTuple):
    """One measure over N."""

    measure: str
    title: str
    x: LogScale
    y: LogScale


def chart_of(title: str, rows: Sequence[CostRow]) -> str:
    """The growth of all cases as an SVG file of its own."""
    curves = _curves(rows)
    sizes = sorted({row.nodes for row in rows})
    pen = Pen()
    pen.write(MARGIN, 34, title, fill=INK, font_size=19, font_weight="bold")
    pen.write(MARGIN, 52, ABOUT, fill=SOFT, font_size=12)
    panels = [
        _panel(MESSAGES, "messages", curves, sizes, MARGIN + LEFT),
        _panel(TIME, "time, in T", curves, sizes, MARGIN + LEFT + PANEL_WIDTH + GAP),
    ]
    for panel in panels:
        _draw_axes(pen, panel, sizes)
        for curve in curves:
            _draw_curve(pen, panel, curve)
    bottom = _draw_legend(pen, curves, HEAD + PANEL_HEIGHT + 88)
    width = max(MARGIN + LEFT + 2 * PANEL_WIDTH + GAP + MARGIN, _legend_width(curves))
    return document(pen, title, width, bottom + MARGIN)


def _curves(rows: Sequence[CostRow]) -> list[Curve]:
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row.case.name)]
    return [
        Curve(
            group[0].case,
            [row for row in group if row.figures],
            COLOURS[place % len(COLOURS)],
            DASHES[place % len(DASHES)],
            SHAPES[place % len(SHAPES)],
        )
        for place, group in enumerate(groups)
    ]


# --- axes ---


def _panel(
    measure: str, title: str, curves: Sequence[Curve], sizes: Sequence[int], left: float
) -> Panel:
    values = [
        float(value)
        for curve in curves
        for row in curve.rows
        for value in row.figures[measure].measured
        if value > 0
    ]
    least, most = min(values, default=1.0), max(values, default=1.0)
    x = LogScale(sizes[0] / 1.06, sizes[-1] * 1.06, left, left + PANEL_WIDTH)
    y = LogScale(least / 1.5, most * 1.3, HEAD + 24 + PANEL_HEIGHT, HEAD + 24)
    return Panel(measure, title, x, y)


def _draw_axes(pen: Pen, panel: Panel, sizes: Sequence[int]) -> None:
    x, y = panel.x, panel.y
    bold: Style = {"font_size": 13, "font_weight": "bold"}
    with pen.group(class_="axes"):
        pen.write(x.begin, y.end - 8, panel.title, fill=INK, **bold)
        for value in y.ticks():
            pen.line(x.begin, y.at(value), x.end, y.at(value), stroke=GRID)
            place = (x.begin - 6, y.at(value) + 4)
            pen.write(*place, f"{value:,}", fill=SOFT, text_anchor="end")
        taken = x.begin - 20
        for size in sizes:
            pen.line(x.at(size), y.begin, x.at(size), y.begin + 4, stroke=SOFT)
            half = width_of(str(size)) / 2
            if x.at(size) - half > taken:
                pen.write(x.at(size), y.begin + 17, str(size), fill=SOFT, text_anchor="middle")
                taken = x.at(size) + half + TICK_GAP
        pen.line(x.begin, y.begin, x.end, y.begin, stroke=SOFT)
        pen.line(x.begin, y.begin, x.begin, y.end, stroke=SOFT)
        pen.write(x.end, y.begin + 34, "N nodes", fill=INK, text_anchor="end")


# --- curves ---


def _draw_curve(pen: Pen, panel: Panel, curve: Curve) -> None:
    with pen.group(curve.case.name, class_="curve"):
        _draw_line(pen, panel, curve)
        for row in curve.rows:
            figure = row.figures[panel.measure]
            x, colour = panel.x.at(row.nodes), ALARM if figure.equal is False else curve.colour
            values = {*figure.measured} if figure.mean is None else {figure.mean}
            places = [panel.y.at(float(value)) for value in values if value > 0]
            if figure.mean and figure.margin:
                ends = (float(figure.mean) - figure.margin, float(figure.mean) + figure.margin)
                pen.line(x, panel.y.at(ends[0]), x, panel.y.at(ends[1]), stroke=colour)
            for y in sorted(places):
                draw_mark(pen, x, y, curve.shape, colour)


def _draw_line(pen: Pen, panel: Panel, curve: Curve) -> None:
    """The formula; without one, a line through what was measured."""
    style: Style = {"stroke": curve.colour, "fill": "none", "stroke_dasharray": curve.dash}
    if panel.measure in curve.case.formulas:
        sizes = range(curve.rows[0].nodes, curve.rows[-1].nodes + 1) if curve.rows else ()
        bounds = [(n, formula_at(curve.case, panel.measure, n)) for n in sizes]
        style["stroke_width"] = 1.6
    else:
        bounds = [(row.nodes, row.figures[panel.measure].measured) for row in curve.rows]
        style |= {"stroke_width": 1, "opacity": 0.5}
    points = [(panel.x.at(n), b) for n, b in bounds if b is not None and b.least > 0]
    if len(points) < 2:
        return
    low = [(x, panel.y.at(float(b.least))) for x, b in points]
    high = [(x, panel.y.at(float(b.most))) for x, b in points]
    if low != high:
        pen.draw("path", d=_path([*low, *high[::-1]]), fill=curve.colour, opacity=0.1)
        pen.draw("path", d=_path(high), **style)
    pen.draw("path", d=_path(low), **style)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points)


def draw_mark(pen: Pen, x: float, y: float, shape: str, colour: str) -> None:
    """The sign of a curve, hollow, so that signs in the same position can all be seen."""
    style: Style = {"stroke": colour, "stroke_width": 1.4, "fill": "none"}
    match shape:
        case "circle":
            pen.circle(x, y, 3.5, **style)
        case "square":
            pen.rect(x - 4, y - 4, 8, 8, **style)
        case "triangle":
            pen.draw("path", d=_path([(x, y - 5), (x + 5, y + 4), (x - 5, y + 4)]) + "Z", **style)
        case "diamond":
            corners = [(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)]
            pen.draw("path", d=_path(corners) + "Z", **style)
        case "cross":
            pen.line(x - 4, y - 4, x + 4, y + 4, **style)
            pen.line(x - 4, y + 4, x + 4, y - 4, **style)
        case _:
            pen.line(x - 5, y, x + 5, y, **style)
            pen.line(x, y - 5, x, y + 5, **style)


# --- legend ---


def _draw_legend(pen: Pen, curves: Sequence[Curve], top: float) -> float:
    """A row for each curve, with its formulas; returns where the last one ends."""
    names, messages = _legend_columns(curves)
    y = top
    with pen.group(class_="legend", font_size=12):
        for place, head in ((names, ""), (messages, "messages"), (_times(curves), "time")):
            pen.write(place, y, head, fill=SOFT)
        for curve in curves:
            y += ROW
            line: Style = {"stroke": curve.colour, "stroke_width": 1.6}
            pen.line(MARGIN, y - 4, MARGIN + SIGN, y - 4, stroke_dasharray=curve.dash, **line)
            draw_mark(pen, MARGIN + SIGN / 2, y - 4, curve.shape, curve.colour)
            pen.write(names, y, curve.case.name, fill=INK)
            for place, measure in ((messages, MESSAGES), (_times(curves), TIME)):
                pen.write(place, y, curve.case.formulas.get(measure, "measured"), fill=INK)
    return y


def _legend_columns(curves: Sequence[Curve]) -> tuple[float, float]:
    """Where names and formulas of messages begin."""
    names = MARGIN + SIGN + 10
    return names, names + max(width_of(curve.case.name, 12) for curve in curves) + 24


def _times(curves: Sequence[Curve]) -> float:
    """Where formulas of time begin."""
    texts = [curve.case.formulas.get(MESSAGES, "measured") for curve in curves]
    return _legend_columns(curves)[1] + max(width_of(text, 12) for text in texts) + 24


def _legend_width(curves: Sequence[Curve]) -> float:
    texts = [curve.case.formulas.get(TIME, "measured") for curve in curves]
    return _times(curves) + max(width_of(text, 12) for text in texts) + MARGIN
