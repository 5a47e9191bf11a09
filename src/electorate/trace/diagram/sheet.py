"""The sheet of paper: where lanes, timers, strips and edges are, and what has been put there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import NamedTuple
from zlib import crc32

from electorate.core import NodeId, Standing
from electorate.trace.diagram.axis import Axis
from electorate.trace.diagram.flight import BEFORE, flights_of
from electorate.trace.diagram.ink import Ink, width_of
from electorate.trace.diagram.layout import DiagramPart
from electorate.trace.diagram.life import Life, View, Wait, lives_of, severances_of
from electorate.trace.happening import Trace
from electorate.trace.text import lines_of
from electorate.trace.word import kind_of, with_names

MARGIN = 24.0
HEAD = 44.0
"""The width of the column of node numbers."""
LEAD = 96.0
"""How much is shown of the time before the first step."""
TAIL = 96.0
"""How much is shown of the time after the last step."""
WIDTH_MIN = 720.0

BAND = 16.0
"""The height of a lane."""
ABOVE = 34.0
"""Free space above a lane."""
BELOW = 22.0
"""Free space below a lane and its timers."""
TIMER = 14.0
"""The height of a row of timers."""
STRIP = 20.0
"""The height of a row above the lanes."""

NOTE_MAX = 60
"""How many characters of a mark's text stand in one line."""
NOTE = 17.0
"""The height of such a line."""

LEADER_COLOURS, MESSAGE_COLOURS = 12, 8
"""How many can be told apart."""

Mark = tuple[int, str]


class WaitRow(NamedTuple):
    """A wait, with its position below its lane."""

    wait: Wait
    row: int
    left: float
    right: float
    label: str


class Note(NamedTuple):
    """The text of a mark, and the row below the lanes where it begins."""

    x: float
    lines: list[str]
    row: int
    anchor: str


class Sheet:
    """Everything to draw, with its position."""

    def __init__(
        self,
        trace: Trace,
        view: View,
        title: str,
        marks: Sequence[Mark],
        start: Mapping[NodeId, Standing] | None,
        names: Mapping[NodeId, str],
        *,
        recorded: bool,
    ) -> None:
        self.trace = trace
        self.names = names
        self.title = title
        self.parts: list[DiagramPart] = []
        """What has been put on the sheet, the undermost first."""
        self.flights = flights_of(trace)
        self.lives: dict[NodeId, Life] = lives_of(trace, view, start)
        self.severances = severances_of(trace)
        self.axis = Axis(trace, self.flights, (step for step, _ in marks), recorded=recorded)
        self.leader_colours = {
            node: f"leader {number % LEADER_COLOURS}"
            for number, node in enumerate(sorted(trace.setting.ids))
        }
        self.message_colours = _message_colours(kind_of(f.message) for f in self.flights)
        widest = max((width_of(name, 14) + 18 for name in names.values()), default=0.0)
        self.begin = MARGIN + max(HEAD, widest)
        self.zero = self.begin + LEAD
        self.right = max(self.zero + self.axis.end + TAIL, WIDTH_MIN - MARGIN)
        self.width = self.right + MARGIN
        self.ink = Ink(self.begin, self.right)
        self.timer_names: list[DiagramPart] = []
        """The names of the timers, which are drawn over all that passes there."""
        self.stops: dict[NodeId, list[float]] = {node: [] for node in self.lives}
        """Where something stands on each lane."""
        for number, step in enumerate(trace.steps):
            node = step.happening.where
            if node is not None:
                self.stops[node].append(self.x(number))
        self._lay_rows(marks)

    def x(self, step: int) -> float:
        """Where a step stands; BEFORE is the left edge, and what never comes is the right one."""
        if step == BEFORE:
            return self.begin
        return self.zero + self.axis.steps[step] if step < len(self.axis.steps) else self.right

    def called(self, node: NodeId | None) -> str:
        """What people call a node."""
        return str(node) if node is None else self.names.get(node, str(node))

    def named(self, text: str) -> str:
        """A text in which the names that people use stand for numbers."""
        return with_names(text, self.names)

    def y(self, node: NodeId) -> float:
        """The middle of a node's lane."""
        return self._ys[node]

    def told(self, step: int) -> str:
        """What the trace says about a step."""
        timing = self.trace.setting.timing
        what = self.trace.steps[step]
        return self.named("\n".join([f"at {self.axis.length(what.at)}", *lines_of(what, timing)]))

    def put(self, role: str, *at: float, text: str = "", colour: str = "") -> None:
        """Put something on the sheet."""
        self.parts.append(DiagramPart(role, at, text, colour))

    @contextmanager
    def group(
        self, role: str, text: str = "", at: tuple[float, ...] = (), **facts: str
    ) -> Iterator[None]:
        """Put all that is drawn in here together."""
        outer, self.parts = self.parts, []
        yield
        outer.append(DiagramPart(role, at, text, parts=tuple(self.parts), facts=facts))
        self.parts = outer

    def _lay_rows(self, marks: Sequence[Mark]) -> None:
        y = MARGIN + (28 if self.title else 0) + 18
        self.title_y, self.setting_y = MARGIN + 16, y - 4
        y += 14
        self.axis_y = y + 12
        y += 24
        self.grid_top = y
        self.links_y = y + STRIP / 2 + 2
        spans = [(self.x(s.period.begin), self.x(s.period.end), s.text) for s in self.severances]
        self.links_rows, rows = _rows(spans)
        y += STRIP * rows
        self.bars: dict[NodeId, list[WaitRow]] = {}
        self._ys: dict[NodeId, float] = {}
        for node, life in self.lives.items():
            self.bars[node], rows = self._lay_bars(life)
            y += ABOVE + BAND / 2
            self._ys[node] = y
            y += BAND / 2 + TIMER * rows + BELOW
        self.bottom = y
        self.notes, rows = self._lay_notes(marks)
        self.legend_y = y + NOTE * rows

    def _lay_notes(self, marks: Sequence[Mark]) -> tuple[list[Note], int]:
        """Each mark stands right of all that has happened by then; texts go down until they fit."""
        notes: list[Note] = []
        ends: list[float] = []
        for step, text in sorted(marks):
            x = self.zero + max(self.axis.steps[: step + 1], default=0.0) + 9
            lines = wrap(text, NOTE_MAX) or [""]
            wide = max(map(width_of, lines)) * 1.1 + 8
            anchor = "start" if x + wide < self.right else "end"
            left = x if anchor == "start" else x - wide
            row = 0
            while any(end > left for end in ends[row : row + len(lines)]):
                row += 1
            ends += [0.0] * (row + len(lines) - len(ends))
            ends[row : row + len(lines)] = [left + wide] * len(lines)
            notes.append(Note(x, lines, row, anchor))
        return notes, len(ends)

    def _lay_bars(self, life: Life) -> tuple[list[WaitRow], int]:
        spans = []
        for wait in life.waits:
            after = "" if wait.after is None else f" {self.axis.length(wait.after)}"
            spans.append((self.x(wait.begin), self.x(wait.end), wait.timer + after))
        rows, count = _rows(spans)
        bars = [
            WaitRow(wait, row, *span)
            for wait, row, span in zip(life.waits, rows, spans, strict=True)
        ]
        return bars, count


def _rows(spans: Sequence[tuple[float, float, str]]) -> tuple[list[int], int]:
    """A row for each span, so that neither they nor their labels overlap; and how many rows."""
    ends: list[float] = []
    rows: list[int] = []
    for left, right, label in spans:
        row = next((n for n, end in enumerate(ends) if end <= left), len(ends))
        if row == len(ends):
            ends.append(0.0)
        ends[row] = max(right + 8, label_left(left, right, label) + width_of(label) + 6)
        rows.append(row)
    return rows, len(ends)


def label_left(left: float, right: float, label: str) -> float:
    """Where the label of a bar begins: on the bar if there is room, otherwise behind it."""
    return left + 8 if right - left > width_of(label) + 20 else right + 8


def _message_colours(kinds: Iterable[str]) -> dict[str, str]:
    """One colour for each kind of message, the same in most diagrams that have it."""
    colours: dict[str, str] = {}
    for kind in sorted(set(kinds)):
        first = crc32(kind.encode())
        wanted = [f"message {(first + n) % MESSAGE_COLOURS}" for n in range(MESSAGE_COLOURS)]
        free = (colour for colour in wanted if colour not in colours.values())
        colours[kind] = next(free, wanted[0])
    return colours
