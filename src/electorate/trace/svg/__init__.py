"""Space-time diagrams: a run as a drawing for the lecture hall, on one lane for each node.

Time runs to the right. A message is an arrow that leans as long as it took; the colour of a lane
says whom its node takes for the leader. Everything that the trace says is in the tooltips.
"""

from collections.abc import Mapping, Sequence

from electorate.core import NodeId, Standing
from electorate.trace.diagram.life import View
from electorate.trace.happening import Trace
from electorate.trace.svg.arrow import lay_arrows
from electorate.trace.svg.frame import draw_frame, draw_marks, draw_patterns
from electorate.trace.svg.lane import draw_lanes, draw_turns, write_beliefs, write_timers
from electorate.trace.svg.legend import draw_legend
from electorate.trace.svg.message import draw_arrows, write_labels
from electorate.trace.svg.pen import document
from electorate.trace.svg.sheet import MARGIN, Mark, Sheet


def svg_of(
    trace: Trace,
    view: View,
    title: str = "",
    marks: Sequence[Mark] = (),
    start: Mapping[NodeId, Standing] | None = None,
    names: Mapping[NodeId, str] | None = None,
    *,
    recorded: bool = False,
) -> str:
    """The run as an SVG file of its own.

    `view` is the machine's. Each of `marks` is a step's number and a text, such as the claim that
    is broken after that step. `start` says how nodes stood before the first step; without it that
    is known only of nodes whose first turn the trace has. `names` is what people call the nodes.
    A `recorded` run has times in milliseconds.
    """
    sheet = Sheet(trace, view, title, marks, start, names or {}, recorded=recorded)
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
    title = sheet.title or trace.setting.text()
    return document(sheet.pen, title, sheet.width, height)
