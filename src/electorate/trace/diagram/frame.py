"""What surrounds the lanes: title, time axis, grid, cut links and marks."""

from electorate.trace.diagram.axis import Instant
from electorate.trace.diagram.ink import SOLID, Place, width_of
from electorate.trace.diagram.sheet import MARGIN, NOTE, STRIP, Sheet, label_left

TICKS_MAX = 10
"""Up to this T, time is made of ticks and each of them that matters is named."""
LABEL_GAP = 8.0


def put_frame(sheet: Sheet) -> None:
    """Title, setting and grid."""
    if sheet.title:
        sheet.put("title", MARGIN, sheet.title_y, text=sheet.title)
    sheet.put("setting", MARGIN, sheet.setting_y, text=_setting_text(sheet))
    if sheet.axis.measured:
        with sheet.group("grid"):
            for instant in sheet.axis.instants:
                if instant.right > instant.left:
                    _put_instant(sheet, instant)
            taken = -1e9
            for instant in sheet.axis.grid(sheet.right - sheet.zero - 8):
                taken = _put_line(sheet, instant, taken)
            if sheet.trace.setting.timing.T <= TICKS_MAX and not sheet.axis.recorded:
                _name_ticks(sheet)
    axis = "time →" if sheet.axis.measured else "order only, without time →"
    sheet.put("axis", sheet.begin, sheet.axis_y, text=axis)
    _put_links(sheet)


def _setting_text(sheet: Sheet) -> str:
    setting = sheet.trace.setting
    words = setting.text().split()[2 + len(setting.ids) :]
    time = f"T={setting.timing.T}"
    if sheet.axis.measured and time not in words:
        words.insert(0, time)
    nodes = " ".join(map(sheet.called, setting.ids))
    return " · ".join([setting.protocol, f"nodes {nodes}", *words])


def _put_instant(sheet: Sheet, instant: Instant) -> None:
    left, height = sheet.zero + instant.left - 9, sheet.bottom - sheet.grid_top
    wide = instant.right - instant.left + 18
    sheet.put("instant", left, sheet.grid_top, wide, height)


def _put_line(sheet: Sheet, instant: Instant, taken: float) -> float:
    """A whole T, with its name unless that would touch the one before; where that ends."""
    x = sheet.zero + instant.left
    if instant.right == instant.left:
        sheet.put("grid line", x, sheet.grid_top, x, sheet.bottom)
    text = sheet.axis.text(instant.at)
    middle = sheet.zero + (instant.left + instant.right) / 2
    half = width_of(text, 13) / 2
    if middle - half < taken:
        return taken
    sheet.put("time", middle, sheet.axis_y, text=text)
    sheet.ink.settle(text, Place(middle, sheet.axis_y))
    return middle + half + LABEL_GAP


def _name_ticks(sheet: Sheet) -> None:
    """Instants between two whole T."""
    timing = sheet.trace.setting.timing
    for instant in sheet.axis.instants:
        if instant.at % timing.T:
            x = sheet.zero + (instant.left + instant.right) / 2
            sheet.put("tick", x, sheet.axis_y, text=timing.text(instant.at))
            if instant.left == instant.right:
                sheet.put("tick line", x, sheet.grid_top, x, sheet.bottom)


def _put_links(sheet: Sheet) -> None:
    for severance, row in zip(sheet.severances, sheet.links_rows, strict=True):
        left, right = sheet.x(severance.period.begin), sheet.x(severance.period.end)
        y = sheet.links_y + row * STRIP
        start = label_left(left, right, severance.text)
        with sheet.group("cut", at=(left, right)):
            for x in (left, right):
                if x < sheet.right:
                    sheet.put("cut line", x, y - 5, x, y + 5)
            if start < right:
                sheet.put("cut line", left, y, start - 3, y)
                left = start + width_of(severance.text) * 1.1 + 3
            sheet.put("cut line", left, y, right, y)
        sheet.put("cut name", start, y + 4, text=severance.text)


def put_marks(sheet: Sheet) -> None:
    """A line through all lanes for each mark, with its text below."""
    for note in sheet.notes:
        top = sheet.bottom + note.row * NOTE
        end = top + len(note.lines) * NOTE
        with sheet.group("mark", "\n".join(note.lines), (note.x,)):
            sheet.put("mark line", note.x, sheet.grid_top, note.x, end)
            sheet.ink.line(note.x, sheet.grid_top, note.x, end, SOLID)
            x = note.x + (6 if note.anchor == "start" else -6)
            for n, line in enumerate(note.lines, start=1):
                sheet.put(f"mark {note.anchor}", x, top + n * NOTE - 3, text=line)
