"""The legend: what every colour and sign that occurs in the drawing means."""

from collections.abc import Callable, Iterator

from electorate.core import Decision, Message, Stage, Standing, Status
from electorate.trace.diagram import Ending, Fate, Flight
from electorate.trace.happening import CROSS, KINDS, Glyph
from electorate.trace.svg.arrow import Arrow
from electorate.trace.svg.lane import (
    PAUSE_FILL,
    REORGANIZATION_FILL,
    draw_glyph,
    draw_timer,
    fill_of,
)
from electorate.trace.svg.message import draw_arrow
from electorate.trace.svg.palette import ALARM, GRID, INK, INSTANT, SOFT
from electorate.trace.svg.pen import Style, width_of
from electorate.trace.svg.sheet import BAND, MARGIN, Sheet

SIGN = 34.0
"""The width of a sign."""
ROW = 22.0
SIZE = 12

Sign = Callable[[float, float], None]
"""Draws a sign, from a left end and around a height."""
Item = tuple[str, Sign]


def draw_legend(sheet: Sheet, top: float) -> float:
    """Draw it below `top`; where it ends."""
    y = top + ROW
    groups = [_messages(sheet), _beliefs(sheet), _signs(sheet), _timers(sheet), _axis(sheet)]
    with sheet.pen.group(class_="legend", font_size=SIZE):
        for group in groups:
            x = MARGIN
            for text, draw in group:
                wide = SIGN + 8 + width_of(text, SIZE) + 20
                if x > MARGIN and x + wide > sheet.width - MARGIN:
                    x, y = MARGIN, y + ROW
                draw(x, y)
                sheet.pen.write(x + SIGN + 8, y + 4, text, fill=INK)
                x += wide
            y += ROW if x > MARGIN else 0
    return y


def _messages(sheet: Sheet) -> Iterator[Item]:
    def sign(colour: str, fate: Fate) -> Sign:
        flight = Flight(0, 0, Message(), 0, 0, fate)
        return lambda x, y: draw_arrow(sheet.pen, Arrow(flight, x, y, x + SIGN - 4, y), colour)

    for kind, colour in sheet.message_colours.items():
        yield kind, sign(colour, Fate.ARRIVED)
    texts = {Fate.LOST: "lost", Fate.FLYING: "still on its way", Fate.TORN: "never left: crash"}
    fates = {flight.fate for flight in sheet.flights}
    for fate, text in texts.items():
        if fate in fates:
            yield text, sign(SOFT, fate)
    if Fate.REMEMBERED in fates:
        yield (
            "to itself",
            lambda x, y: sheet.pen.draw(
                "path", d=f"M{x + 15} {y + 6}c-14 -18 14 -18 2 -1", fill="none", stroke=SOFT
            ),
        )


def _beliefs(sheet: Sheet) -> Iterator[Item]:
    def band(standing: Standing | None) -> Sign:
        def draw(x: float, y: float) -> None:
            box = (x, y - BAND / 2, SIGN, BAND)
            edge = GRID if standing and standing.leader is None else "none"
            sheet.pen.rect(*box, fill=fill_of(sheet, standing), stroke=edge)
            if standing and standing.status is Status.REORGANIZATION:
                sheet.pen.rect(*box, fill=REORGANIZATION_FILL)

        return draw

    beliefs = [belief for life in sheet.lives.values() for belief in life.beliefs]
    standings = [belief.standing for belief in beliefs if belief.standing is not None]
    stages = {standing.state for standing in standings if isinstance(standing, Decision)}
    for stage in (stage for stage in Stage if stage in stages):
        yield stage, band(Decision(Status.NORMAL, state=stage))
    known, standings = len(standings), [s for s in standings if not isinstance(s, Decision)]
    leaders = {standing.leader for standing in standings if standing.leader is not None}
    for leader in sorted(leaders):
        yield f"leader {sheet.called(leader)}", band(Standing(Status.NORMAL, leader))
    expire = any(belief.expires is not None for belief in beliefs)
    if expire or any(s.status is Status.ELECTION and s.leader is None for s in standings):
        yield "election", band(Standing(Status.ELECTION))
    if any(s.status is Status.REORGANIZATION for s in standings):
        first = min(leaders, default=None)
        yield "reorganization", band(Standing(Status.REORGANIZATION, first))
    if any(s.leader is None and s.status is not Status.ELECTION for s in standings):
        yield "no leader", band(Standing(Status.NORMAL))
    if known < len(beliefs):
        yield "belief not recorded", band(None)
    if any(life.downs for life in sheet.lives.values()):
        dotted: Style = {"stroke": SOFT, "stroke_dasharray": "1.5 4", "stroke_width": 1.2}
        yield "down", lambda x, y: sheet.pen.line(x, y, x + SIGN, y, **dotted)
    if any(life.pauses for life in sheet.lives.values()):
        yield (
            "paused",
            lambda x, y: sheet.pen.rect(x, y - 8, SIGN, 16, fill=PAUSE_FILL, stroke=SOFT),
        )


def _signs(sheet: Sheet) -> Iterator[Item]:
    steps = sheet.trace.steps
    shown = {step.happening.sign for step in steps if step.happening.legend}
    if any(step.torn for step in steps):
        shown.add(CROSS)
    meanings = {kind.legend: kind.sign for kind in KINDS.values() if kind.sign in shown}
    for text, glyph in meanings.items():
        yield text, _sign(sheet, glyph)
    if sheet.severances:
        yield (
            "links are cut",
            lambda x, y: sheet.pen.line(x, y, x + SIGN, y, stroke=ALARM, stroke_width=3),
        )


def _sign(sheet: Sheet, glyph: Glyph) -> Sign:
    return lambda x, y: draw_glyph(sheet.pen, x + SIGN / 2, y, glyph)


def _timers(sheet: Sheet) -> Iterator[Item]:
    def sign(ending: Ending) -> Sign:
        def draw(x: float, y: float) -> None:
            with sheet.pen.group(stroke=SOFT, fill="none"):
                draw_timer(sheet.pen, x, x + SIGN - 4, y, ending)

        return draw

    endings = {bar.wait.ending for bars in sheet.bars.values() for bar in bars}
    texts = {
        Ending.FIRED: "timer fires",
        Ending.CANCELLED: "timer is cancelled",
        Ending.RESET: "timer is set again",
        Ending.CRASHED: "timer is lost with its node",
        Ending.PENDING: "timer still runs",
    }
    for ending, text in texts.items():
        if ending in endings:
            yield text, sign(ending)


def _axis(sheet: Sheet) -> Iterator[Item]:
    def sign(x: float, y: float) -> None:
        sheet.pen.rect(x, y - 8, SIGN, 16, fill=INSTANT, stroke=GRID)

    if sheet.axis.measured and any(instant.right > instant.left for instant in sheet.axis.instants):
        yield "one instant, fanned out in the order in which its steps depend on each other", sign
