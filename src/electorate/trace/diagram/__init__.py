"""A run as what a space-time diagram shows: flights of messages, lives of nodes, a time axis.

`layout_of` puts all of it on a sheet, as data: every text, line and sign with its position. Nothing
here knows how it is drawn. Positions in a run are numbers of steps; BEFORE stands for all that was
there when the record began, and the number of all steps for what never ended.
"""

from collections.abc import Mapping, Sequence

from electorate.core import NodeId, Standing
from electorate.trace.diagram.arrow import lay_arrows, put_arrows, put_labels
from electorate.trace.diagram.frame import put_frame, put_legend, put_marks
from electorate.trace.diagram.lane import put_beliefs, put_lanes, put_turns
from electorate.trace.diagram.layout import DiagramLayout
from electorate.trace.diagram.life import View
from electorate.trace.diagram.sheet import MARGIN, Mark, Sheet
from electorate.trace.happening import Trace


def layout_of(
    trace: Trace,
    view: View,
    title: str = "",
    marks: Sequence[Mark] = (),
    start: Mapping[NodeId, Standing] | None = None,
    names: Mapping[NodeId, str] | None = None,
    *,
    recorded: bool = False,
) -> DiagramLayout:
    """The layout of a run's picture.

    `view` is the machine's. Each of `marks` is a step's number and a text, such as the claim that
    is broken after that step. `start` has the standings before the first step; without it they are
    known only of nodes whose first turn is in the trace. `names` are those that people use for the
    nodes. A `recorded` run has times in milliseconds.
    """
    sheet = Sheet(trace, view, title, marks, start, names or {}, recorded=recorded)
    arrows = lay_arrows(sheet)
    put_frame(sheet)
    put_lanes(sheet)
    put_arrows(sheet, arrows)
    put_turns(sheet)
    put_marks(sheet)
    put_beliefs(sheet)
    sheet.parts += sheet.timer_names
    put_labels(sheet, arrows)
    height = put_legend(sheet, sheet.legend_y) + MARGIN / 2
    return DiagramLayout(title or trace.setting.text(), sheet.width, height, tuple(sheet.parts))
