"""Drawing what surrounds the lanes: title, time axis, grid, cut links and marks."""

from electorate.trace.diagram import Instant
from electorate.trace.svg.ink import SOLID, Place
from electorate.trace.svg.palette import ALARM, GRID, INK, INSTANT, SOFT
from electorate.trace.svg.pen import HALO, Style, width_of
from electorate.trace.svg.sheet import MARGIN, NOTE, STRIP, Sheet, label_left

TICKS_MAX = 10
"""Up to this T, time is made of ticks and each of them that matters is named."""
LABEL_GAP = 8.0

ITALIC: Style = {"fill": SOFT, "font_style": "italic"}
PATTERNS = (
    ("election", 6, 45, "#ffffff", "#aeb6c2", 1.6),
    ("reorganization", 7, 135, "none", "#ffffff", 2.2),
    ("pause", 5, 135, "none", "#6b7280", 0.4),
)


def draw_patterns(sheet: Sheet) -> None:
    """Hatchings, to be filled in by name."""
    with sheet.pen.element("defs"):
        for name, size, angle, ground, stroke, width in PATTERNS:
            attributes: Style = {
                "id": f"electorate-{name}",
                "width": size,
                "height": size,
                "patternUnits": "userSpaceOnUse",
                "patternTransform": f"rotate({angle})",
            }
            with sheet.pen.element("pattern", **attributes):
                sheet.pen.rect(0, 0, size, size, fill=ground)
                sheet.pen.line(0, 0, 0, size, stroke=stroke, stroke_width=2 * width)


def draw_frame(sheet: Sheet) -> None:
    """Title, setting and grid."""
    pen = sheet.pen
    if sheet.title:
        pen.write(MARGIN, sheet.title_y, sheet.title, fill=INK, font_size=19, font_weight="bold")
    pen.write(MARGIN, sheet.setting_y, _setting_text(sheet), fill=SOFT, font_size=12)
    if not sheet.axis.measured:
        pen.write(sheet.begin, sheet.axis_y, "order only, without time →", **ITALIC)
        _draw_links(sheet)
        return
    with pen.group(class_="grid"):
        for instant in sheet.axis.instants:
            if instant.right > instant.left:
                _draw_instant(sheet, instant)
        taken = -1e9
        for instant in sheet.axis.grid(sheet.right - sheet.zero - 8):
            taken = _draw_line(sheet, instant, taken)
        if sheet.trace.setting.timing.T <= TICKS_MAX and not sheet.axis.recorded:
            _name_ticks(sheet)
    pen.write(sheet.begin, sheet.axis_y, "time →", **ITALIC)
    _draw_links(sheet)


def _setting_text(sheet: Sheet) -> str:
    setting = sheet.trace.setting
    words = setting.text().split()[2 + len(setting.ids) :]
    time = f"T={setting.timing.T}"
    if sheet.axis.measured and time not in words:
        words.insert(0, time)
    nodes = " ".join(map(sheet.called, setting.ids))
    return " · ".join([setting.protocol, f"nodes {nodes}", *words])


def _draw_instant(sheet: Sheet, instant: Instant) -> None:
    left = sheet.zero + instant.left - 9
    wide = instant.right - instant.left + 18
    sheet.pen.rect(left, sheet.grid_top, wide, sheet.bottom - sheet.grid_top, fill=INSTANT, rx=4)


def _draw_line(sheet: Sheet, instant: Instant, taken: float) -> float:
    """A whole T, with its name unless that would touch the one before; where that ends."""
    x = sheet.zero + instant.left
    if instant.right == instant.left:
        sheet.pen.line(x, sheet.grid_top, x, sheet.bottom, stroke=GRID, stroke_width=1)
    text = sheet.axis.text(instant.at)
    middle = sheet.zero + (instant.left + instant.right) / 2
    half = width_of(text, 13) / 2
    if middle - half < taken:
        return taken
    bold: Style = {"font_size": 13, "font_weight": "bold", "text_anchor": "middle"}
    sheet.pen.write(middle, sheet.axis_y, text, fill=INK, **bold)
    sheet.ink.settle(text, Place(middle, sheet.axis_y))
    return middle + half + LABEL_GAP


def _name_ticks(sheet: Sheet) -> None:
    """Instants between two whole T."""
    timing = sheet.trace.setting.timing
    for instant in sheet.axis.instants:
        if instant.at % timing.T:
            middle = sheet.zero + (instant.left + instant.right) / 2
            text = timing.text(instant.at)
            sheet.pen.write(middle, sheet.axis_y, text, fill=SOFT, text_anchor="middle")
            if instant.left == instant.right:
                dots: Style = {"stroke": GRID, "stroke_dasharray": "2 3"}
                sheet.pen.line(middle, sheet.grid_top, middle, sheet.bottom, **dots)


def _draw_links(sheet: Sheet) -> None:
    for severance, row in zip(sheet.severances, sheet.links_rows, strict=True):
        left, right = sheet.x(severance.period.begin), sheet.x(severance.period.end)
        y = sheet.links_y + row * STRIP
        start = label_left(left, right, severance.text)
        with sheet.pen.group(class_="cut", stroke=ALARM, stroke_width=2.5):
            for x in (left, right):
                if x < sheet.right:
                    sheet.pen.line(x, y - 5, x, y + 5)
            if start < right:
                sheet.pen.line(left, y, start - 3, y)
                left = start + width_of(severance.text) * 1.1 + 3
            sheet.pen.line(left, y, right, y)
        sheet.pen.write(start, y + 4, severance.text, fill=ALARM, font_weight="bold", **HALO)


def draw_marks(sheet: Sheet) -> None:
    """A line through all lanes for each mark, with its text below."""
    for note in sheet.notes:
        top = sheet.bottom + note.row * NOTE
        end = top + len(note.lines) * NOTE
        with sheet.pen.group("\n".join(note.lines), class_="mark"):
            sheet.pen.line(note.x, sheet.grid_top, note.x, end, stroke=ALARM, stroke_width=2)
            sheet.ink.line(note.x, sheet.grid_top, note.x, end, SOLID)
            shift = 6 if note.anchor == "start" else -6
            for n, line in enumerate(note.lines, start=1):
                bold: Style = {"font_weight": "bold", "font_size": 12, "text_anchor": note.anchor}
                sheet.pen.write(note.x + shift, top + n * NOTE - 3, line, fill=ALARM, **bold)
