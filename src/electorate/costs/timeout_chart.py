"""What longer timers buy and cost, drawn: two panels over their length, a curve for each law."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from electorate.costs.chart import COLOURS, SHAPES, draw_mark
from electorate.costs.timeout import Point
from electorate.trace.diagram.ink import width_of
from electorate.trace.svg.pen import GRID, INK, SOFT, Pen, Style, document, number

MARGIN, HEAD, LEFT, GAP = 24.0, 64.0, 46.0, 76.0
WIDTH, HEIGHT = 400.0, 280.0
ROW = 20.0
TICKS = 5
BAND = 0.14
"""How strongly an interval is shaded."""
DASH = "6 4"

Position = tuple[float, float]
Bounds = tuple[float, float, float]
"""The value at a point, and the ends of its interval."""


class LinearScale(NamedTuple):
    """An axis from zero to a most value, between two positions."""

    most: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """The position of a value."""
        return self.begin + value / self.most * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Round numbers along it."""
        sizes = (step * 10.0**power for power in range(-3, 4) for step in (1, 2, 5))
        step = next(size for size in sizes if self.most / size <= TICKS)
        return [place * step for place in range(int(self.most / step) + 1)]


def timeout_chart(title: str, about: str, points: Sequence[Point]) -> str:
    """Both panels as an SVG file of its own."""
    curves = [list(group) for _, group in groupby(points, key=lambda point: point.delay)]
    pen = Pen()
    pen.write(MARGIN, 34, title, fill=INK, font_size=19, font_weight="bold")
    pen.write(MARGIN, 52, about, fill=SOFT, font_size=12)
    left = MARGIN + LEFT
    _panel(pen, "runs with two leaders, in %", left, curves, [(_share, "none")])
    times = [(_median, "none"), (_p95, DASH)]
    _panel(pen, "time to a leader, in T", left + WIDTH + GAP, curves, times)
    bottom = _legend(pen, curves, HEAD + 24 + HEIGHT + 62)
    width = left + 2 * WIDTH + GAP + MARGIN
    return document(pen, title, max(width, MARGIN * 2 + width_of(about, 12)), bottom + MARGIN)


def _share(point: Point) -> Bounds | None:
    low, high = point.share_ends
    if low is None or high is None:
        return None
    return 100 * point.share, 100 * low, 100 * high


def _median(point: Point) -> Bounds | None:
    return _time(point, 0.5)


def _p95(point: Point) -> Bounds | None:
    return _time(point, 0.95)


def _time(point: Point, share: float) -> Bounds | None:
    found = point.quantile(share)
    if found is None:
        return None
    low, high = found.ends
    # Where there were too few runs for an end, the band closes at the outermost time seen.
    low, high = low or point.times[0], high or point.times[-1]
    return found.time, low, high


Measure = Callable[[Point], Bounds | None]


def _panel(
    pen: Pen,
    title: str,
    left: float,
    curves: Sequence[Sequence[Point]],
    measures: Sequence[tuple[Measure, str]],
) -> None:
    seen = [bounds for m, _ in measures for c in curves for p in c if (bounds := m(p))]
    top = HEAD + 24
    x = LinearScale(1.04 * max(p.length for c in curves for p in c), left, left + WIDTH)
    y = LinearScale(1.08 * max([high for _, _, high in seen], default=1.0), top + HEIGHT, top)
    _axes(pen, title, x, y, sorted({p.length for c in curves for p in c}))
    for place, curve in enumerate(curves):
        colour, shape = COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]
        with pen.group(curve[0].delay, class_="curve"):
            for measure, dash in measures:
                found = [(x.at(p.length), b) for p in curve if (b := measure(p)) is not None]
                low = [(at, y.at(b[1])) for at, b in found]
                high = [(at, y.at(b[2])) for at, b in found]
                pen.draw("path", d=_path([*low, *high[::-1]]), fill=colour, opacity=BAND)
                line: Style = {"stroke": colour, "stroke_width": 1.6, "fill": "none"}
                middle = [(at, y.at(b[0])) for at, b in found]
                pen.draw("path", d=_path(middle), stroke_dasharray=dash, **line)
                for each in middle:
                    draw_mark(pen, *each, shape, colour)


def _axes(pen: Pen, title: str, x: LinearScale, y: LinearScale, lengths: Sequence[float]) -> None:
    with pen.group(class_="axes"):
        pen.write(x.begin, y.end - 8, title, fill=INK, font_size=13, font_weight="bold")
        for value in y.ticks():
            pen.line(x.begin, y.at(value), x.end, y.at(value), stroke=GRID)
            pen.write(x.begin - 6, y.at(value) + 4, f"{value:g}", fill=SOFT, text_anchor="end")
        taken = x.begin
        for length in lengths:
            at, half = x.at(length), width_of(f"{length:g}") / 2
            pen.line(at, y.begin, at, y.begin + 4, stroke=SOFT)
            if at - half > taken:
                pen.write(at, y.begin + 17, f"{length:g}", fill=SOFT, text_anchor="middle")
                taken = at + half + 4
        pen.line(x.begin, y.begin, x.end, y.begin, stroke=SOFT)
        pen.line(x.begin, y.begin, x.begin, y.end, stroke=SOFT)
        text = "length of the timers, times what T asks for"
        pen.write(x.end, y.begin + 34, text, fill=INK, text_anchor="end")


def _legend(pen: Pen, curves: Sequence[Sequence[Point]], top: float) -> float:
    y = top
    with pen.group(class_="legend", font_size=12):
        for place, curve in enumerate(curves):
            colour = COLOURS[place % len(COLOURS)]
            pen.line(MARGIN, y - 4, MARGIN + 40, y - 4, stroke=colour, stroke_width=1.6)
            draw_mark(pen, MARGIN + 20, y - 4, SHAPES[place % len(SHAPES)], colour)
            late = f"{curve[0].delay}: {100 * curve[0].beyond:.1f} % of messages take longer than T"
            pen.write(MARGIN + 50, y, late, fill=INK)
            y += ROW
        text = "shaded: 95 % intervals · time: solid for the median, dashed for the 95th percentile"
        pen.write(MARGIN, y, text, fill=SOFT)
    return y


def _path(points: Sequence[Position]) -> str:
    return "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points)
