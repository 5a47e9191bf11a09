"""What surrounds the lanes: title, time axis, grid, cut links, marks, and the legend."""

from collections.abc import Iterator
from typing import Any

from electorate.core import Decision, Stage, Standing, Status
from electorate.trace.diagram.axis import Instant
from electorate.trace.diagram.flight import Fate
from electorate.trace.diagram.ink import SOLID, TextPosition, width_of
from electorate.trace.diagram.lane import band
from electorate.trace.diagram.layout import DiagramPart
from electorate.trace.diagram.life import Ending
from electorate.trace.diagram.sheet import BAND, MARGIN, NOTE, STRIP, Sheet, label_left
from electorate.trace.happening import SIGNS

TICKS_MAX = 10
"""If a T has at most this many ticks, each tick that matters is named."""
LABEL_GAP = 8.0


def put_frame(sheet: Sheet) -> None:
    """Title, setting and grid."""
    if sheet.title:
        sheet.put("title", MARGIN, sheet.title_y, text=sheet.title)
    sheet.put("setting", MARGIN, sheet.setting_y, text=_setting_text(sheet))
    if sheet.axis.measured:
        with sheet.group("grid"):
            for instant in sheet.axis.instants:
                wide, height = instant.right - instant.left, sheet.bottom - sheet.grid_top
                if wide > 0:
                    left = sheet.zero + instant.left - 9
                    sheet.put("instant", left, sheet.grid_top, wide + 18, height)
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


def _put_line(sheet: Sheet, instant: Instant, taken: float) -> float:
    """A whole T, named unless the name would touch the one before; returns where the name ends."""
    x = sheet.zero + instant.left
    if instant.right == instant.left:
        sheet.put("grid line", x, sheet.grid_top, x, sheet.bottom)
    text = sheet.axis.text(instant.at)
    middle = sheet.zero + (instant.left + instant.right) / 2
    half = width_of(text, 13) / 2
    if middle - half < taken:
        return taken
    sheet.put("time", middle, sheet.axis_y, text=text)
    sheet.ink.settle(text, TextPosition(middle, sheet.axis_y))
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


# --- the legend: what every colour and sign that occurs means ---

SIGN = 34.0
"""The width of a sign."""
ROW = 22.0
SIZE = 12

Item = tuple[Any, ...]
"""A text and the parts of the sign that it explains, from its left end and around its height."""

FATES = {Fate.LOST: "lost", Fate.FLYING: "still on its way", Fate.TORN: "never left: crash"}
ENDINGS = {
    Ending.FIRED: "timer fires",
    Ending.CANCELLED: "timer is cancelled",
    Ending.RESET: "timer is set again",
    Ending.CRASHED: "timer is lost with its node",
    Ending.PENDING: "timer still runs",
}
FANNED = "one instant, fanned out in the order in which its steps depend on each other"
WHOLE = (0, -BAND / 2, SIGN, BAND)
LINE, SHORT = (0, 0, SIGN, 0), (0, 0, SIGN - 4, 0, 0)


def put_legend(sheet: Sheet, top: float) -> float:
    """Put it below `top`; returns where it ends."""
    y = top + ROW
    groups = [_messages(sheet), _beliefs(sheet), _signs(sheet), _timers(sheet), _axis(sheet)]
    with sheet.group("legend"):
        for group in groups:
            x = MARGIN
            for text, *parts in group:
                wide = SIGN + 8 + width_of(text, SIZE) + 20
                if x > MARGIN and x + wide > sheet.width - MARGIN:
                    x, y = MARGIN, y + ROW
                with sheet.group("item", at=(x, y)):
                    sheet.parts += parts
                    sheet.put("meaning", SIGN + 8, 4, text=text)
                x += wide
            y += ROW if x > MARGIN else 0
    return y


def _messages(sheet: Sheet) -> Iterator[Item]:
    for kind, colour in sheet.message_colours.items():
        yield kind, DiagramPart(Fate.ARRIVED, SHORT, colour=colour)
    fates = {flight.fate for flight in sheet.flights}
    for fate, text in FATES.items():
        if fate in fates:
            yield text, DiagramPart(fate, SHORT, colour="soft")
    if Fate.REMEMBERED in fates:
        yield "to itself", DiagramPart(Fate.REMEMBERED, (15, 6, 16, -8, 0), colour="soft")


def _beliefs(sheet: Sheet) -> Iterator[Item]:
    beliefs = [belief for life in sheet.lives.values() for belief in life.beliefs]
    standings = [belief.standing for belief in beliefs if belief.standing is not None]
    known = _known(sheet, standings, any(belief.expires is not None for belief in beliefs))
    for text, standing in known:
        edge = [DiagramPart("edge", WHOLE)] if standing.leader is None else []
        yield text, *band(sheet, standing, 0, 0, SIGN), *edge
    if len(standings) < len(beliefs):
        yield "belief not recorded", *band(sheet, None, 0, 0, SIGN)
    if any(life.downs for life in sheet.lives.values()):
        yield "down", DiagramPart("down", LINE)
    if any(life.pauses for life in sheet.lives.values()):
        yield "paused", DiagramPart("pause", WHOLE)


def _known(sheet: Sheet, standings: list[Standing], expire: bool) -> Iterator[tuple[str, Standing]]:
    """What is told apart of the standings that nodes had; some may have run out."""
    stages = {standing.state for standing in standings if isinstance(standing, Decision)}
    for stage in (stage for stage in Stage if stage in stages):
        yield stage, Decision(Status.NORMAL, state=stage)
    standings = [standing for standing in standings if not isinstance(standing, Decision)]
    leaders = {standing.leader for standing in standings if standing.leader is not None}
    for leader in sorted(leaders):
        yield f"leader {sheet.called(leader)}", Standing(Status.NORMAL, leader)
    if expire or any(s.status is Status.ELECTION and s.leader is None for s in standings):
        yield "election", Standing(Status.ELECTION)
    if any(s.status is Status.REORGANIZATION for s in standings):
        yield "reorganization", Standing(Status.REORGANIZATION, min(leaders, default=None))
    if any(s.leader is None and s.status is not Status.ELECTION for s in standings):
        yield "no leader", Standing(Status.NORMAL)


def _signs(sheet: Sheet) -> Iterator[Item]:
    shown = {sign for step in sheet.trace.steps for sign in step.signs}
    for sign in SIGNS:
        if sign in shown:
            yield sign, DiagramPart("sign", (SIGN / 2, 0), sign)
    for done in sorted({severance.done for severance in sheet.severances}):
        yield f"links are {done}", DiagramPart("cut line", LINE)


def _timers(sheet: Sheet) -> Iterator[Item]:
    endings = {row.wait.ending for rows in sheet.bars.values() for row in rows}
    for ending, text in ENDINGS.items():
        if ending in endings:
            yield text, DiagramPart(ending, (0, SIGN - 4, 0))


def _axis(sheet: Sheet) -> Iterator[Item]:
    if sheet.axis.measured and any(instant.right > instant.left for instant in sheet.axis.instants):
        yield FANNED, DiagramPart("fan", WHOLE)
