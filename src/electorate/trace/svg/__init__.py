"""Space-time diagrams: a run as a drawing for the lecture hall, on one lane for each node.

Time runs to the right. A message is an arrow that leans as long as it took; the colour of a lane
says whom its node takes for the leader. Everything that the trace says is in the tooltips.
"""

from collections.abc import Mapping, Sequence

from electorate.core import NodeId, Standing
from electorate.trace.diagram.life import View
from electorate.trace.step import Trace
from electorate.trace.svg.arrow import lay_arrows
from electorate.trace.svg.frame import draw_frame, draw_marks, draw_patterns
from electorate.trace.svg.lane import draw_lanes, draw_turns, write_beliefs, write_timers
from electorate.trace.svg.legend import draw_legend
from electorate.trace.svg.message import draw_arrows, write_labels
from electorate.trace.svg.pen import FONT, FONT_SIZE, Pen, Style, number
from electorate.trace.svg.sheet import MARGIN, Mark, Sheet


def svg_of(
    trace: Trace,
    view: View,
    title: str = "",
    marks: Sequence[Mark] = (),
    start: Mapping[NodeId, Standing] | None = None,
) -> str:
    """The run as an SVG file of its own.

    `view` is the machine's. Each of `marks` is a step's number and a text, such as the claim that
    is broken after that step. `start` says how nodes stood before the first step; without it that
    is known only of nodes whose first turn the trace has.
    """
    sheet = Sheet(trace, view, title, marks, start)
    arrows = lay_arrows(sheet)
    draw_patterns(sheet)
    draw_frame(sheet)
    draw_lanes(sheet)
    draw_arrows(sheet, arrows)
    draw_turns(sheet)
    draw_marks(sheet)
    write_beliefs(sheet)
    write_timers(sheet)
    write_labels(sheet, arrows)
    height = draw_legend(sheet, sheet.legend_y) + MARGIN / 2
    return _whole(sheet, height)


def _whole(sheet: Sheet, height: float) -> str:
    pen = Pen()
    size: Style = {"width": sheet.width, "height": height, "viewBox": _box(sheet.width, height)}
    font: Style = {"font_family": FONT, "font_size": FONT_SIZE}
    with pen.element("svg", xmlns="http://www.w3.org/2000/svg", role="img", **size, **font):
        pen.title(sheet.title or sheet.trace.setting.text())
        pen.rect(0, 0, sheet.width, height, fill="#ffffff")
        pen.lines += sheet.pen.lines
    return "\n".join(pen.lines) + "\n"


def _box(width: float, height: float) -> str:
    return f"0 0 {number(width)} {number(height)}"
