"""The legend: what every colour and sign that occurs in the picture means."""

from collections.abc import Iterator
from typing import Any

from electorate.core import Decision, Stage, Standing, Status
from electorate.trace.diagram.flight import Fate
from electorate.trace.diagram.ink import width_of
from electorate.trace.diagram.lane import band
from electorate.trace.diagram.layout import Part
from electorate.trace.diagram.life import Ending
from electorate.trace.diagram.sheet import BAND, MARGIN, Sheet
from electorate.trace.happening import SIGNS, signs_of

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
    """Put it below `top`; where it ends."""
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
        yield kind, Part(Fate.ARRIVED, SHORT, colour=colour)
    fates = {flight.fate for flight in sheet.flights}
    for fate, text in FATES.items():
        if fate in fates:
            yield text, Part(fate, SHORT, colour="soft")
    if Fate.REMEMBERED in fates:
        yield "to itself", Part(Fate.REMEMBERED, (15, 6, 16, -8, 0), colour="soft")


def _beliefs(sheet: Sheet) -> Iterator[Item]:
    beliefs = [belief for life in sheet.lives.values() for belief in life.beliefs]
    standings = [belief.standing for belief in beliefs if belief.standing is not None]
    known = _known(sheet, standings, any(belief.expires is not None for belief in beliefs))
    for text, standing in known:
        edge = [Part("edge", WHOLE)] if standing.leader is None else []
        yield text, *band(sheet, standing, 0, 0, SIGN), *edge
    if len(standings) < len(beliefs):
        yield "belief not recorded", *band(sheet, None, 0, 0, SIGN)
    if any(life.downs for life in sheet.lives.values()):
        yield "down", Part("down", LINE)
    if any(life.pauses for life in sheet.lives.values()):
        yield "paused", Part("pause", WHOLE)


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
    shown = {sign for step in sheet.trace.steps for sign in signs_of(step)}
    for sign in SIGNS:
        if sign in shown:
            yield sign, Part("sign", (SIGN / 2, 0), sign)
    if sheet.severances:
        yield "links are cut", Part("cut line", LINE)


def _timers(sheet: Sheet) -> Iterator[Item]:
    endings = {row.wait.ending for rows in sheet.bars.values() for row in rows}
    for ending, text in ENDINGS.items():
        if ending in endings:
            yield text, Part(ending, (0, SIGN - 4, 0))


def _axis(sheet: Sheet) -> Iterator[Item]:
    if sheet.axis.measured and any(instant.right > instant.left for instant in sheet.axis.instants):
        yield FANNED, Part("fan", WHOLE)
