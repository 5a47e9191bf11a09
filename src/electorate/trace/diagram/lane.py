"""The lanes: what nodes believe, wait for and see, and when they are down or paused."""

from collections.abc import Iterator
from itertools import pairwise

from electorate.core import Choice, Decision, NodeId, Standing, Status, text_of
from electorate.trace.diagram.ink import HEIGHT, MIDDLE, TextPosition, width_of
from electorate.trace.diagram.layout import DiagramPart
from electorate.trace.diagram.life import Belief, Life
from electorate.trace.diagram.sheet import BAND, TIMER, Sheet, WaitRow, label_left
from electorate.trace.happening import Phased, Step
from electorate.trace.text import lines_of

TIMERS = -2
"""The owner of the bars in the ink."""


def put_lanes(sheet: Sheet) -> None:
    """All lanes, without the turns on them."""
    for node, life in sheet.lives.items():
        y = sheet.y(node)
        with sheet.group("lane", at=(y,), node=str(node)):
            _put_head(sheet, node)
            for down in life.downs:
                sheet.put("down", sheet.x(down.begin), y, sheet.x(down.end), y)
            for belief in life.beliefs:
                _put_belief(sheet, life, belief)
            for pause in life.pauses:
                left, right = sheet.x(pause.begin), sheet.x(pause.end)
                sheet.put("pause", left, y - BAND / 2 - 5, right - left, BAND + 10)
            for row in sheet.bars[node]:
                _put_timer(sheet, node, row)


def _put_head(sheet: Sheet, node: NodeId) -> None:
    y, colour = sheet.y(node), sheet.leader_colours[node]
    wide = width_of(sheet.names[node], 14) + 10 if node in sheet.names else 32
    if node in sheet.names:
        sheet.put("long head", sheet.begin - wide - 6, y - 12, wide, 24, colour=colour)
    else:
        sheet.put("head", sheet.begin - 22, y, 13, colour=colour)
    sheet.put("head name", sheet.begin - wide / 2 - 6, y + 5, text=sheet.called(node))


# --- beliefs ---


def _put_belief(sheet: Sheet, life: Life, belief: Belief) -> None:
    left, right = sheet.x(belief.begin), sheet.x(belief.end)
    standing = belief.standing
    if belief.expires is None or standing is None:
        _put_standing(sheet, life.node, left, right, standing)
        return
    # The office ends when its timer runs out, noticed or not.
    ends = min(right, max(left, sheet.zero + sheet.axis.of_time(belief.expires)))
    _put_standing(sheet, life.node, left, ends, standing)
    _put_standing(sheet, life.node, ends, right, standing.expired(frozenset()))


def _put_standing(
    sheet: Sheet, node: NodeId, left: float, right: float, standing: Standing | None
) -> None:
    if right - left < 0.1:
        return
    y = sheet.y(node)
    texts = _texts(sheet, node, standing)
    with sheet.group("belief", texts[0], (left, right)):
        sheet.parts += band(sheet, standing, left, y, right - left)
        sheet.put("band edge", left, y - BAND / 2, right - left, BAND)
    sheet.ink.box(left, y - BAND / 2 + 1, right - left, BAND - 2)


def band(
    sheet: Sheet, standing: Standing | None, left: float, y: float, width: float
) -> Iterator[DiagramPart]:
    """The colours of a standing."""
    box = (left, y - BAND / 2, width, BAND)
    yield DiagramPart("band", box, colour=_colour(sheet, standing))
    if standing is not None and standing.status is Status.REORGANIZATION:
        yield DiagramPart("band", box, colour="reorganization")


def put_beliefs(sheet: Sheet) -> None:
    """What each band means, if there is room between the turns."""
    for node, life in sheet.lives.items():
        stops = sheet.stops[node]
        for belief in life.beliefs:
            left, right = sheet.x(belief.begin), sheet.x(belief.end)
            if belief.expires is not None:
                right = min(right, sheet.zero + sheet.axis.of_time(belief.expires))
            inside = [left, *(x for x in stops if left < x < right), right]
            gaps = [(b - a, a) for a, b in pairwise(inside)]
            for text in _texts(sheet, node, belief.standing):
                fitting = [a for wide, a in gaps if wide > width_of(text) + 20]
                if fitting:
                    is_hatched = _colour(sheet, belief.standing) == "election"
                    role = "name on hatching" if is_hatched else "name on band"
                    sheet.put(role, fitting[0] + 12, sheet.y(node) + 4, text=text)
                    break


def _colour(sheet: Sheet, standing: Standing | None) -> str:
    """The colour of a band."""
    if standing is None:
        return "unknown"
    if isinstance(standing, Decision):
        return str(standing.state)
    if standing.leader is not None:
        return sheet.leader_colours[standing.leader]
    return "election" if standing.status is Status.ELECTION else "paper"


def _texts(sheet: Sheet, node: NodeId, standing: Standing | None) -> list[str]:
    """What a band means, from the longest to the shortest way to say it."""
    if standing is None:
        return ["not recorded", "?"]
    if isinstance(standing, Decision):
        stage = "forgotten" if standing.has_forgotten else str(standing.state)
        leads = [f"{stage}, leads"] if standing.leader == node else []
        return [*leads, stage]
    follows = "leads" if standing.leader == node else f"follows {sheet.called(standing.leader)}"
    text = follows if standing.leader is not None else "no leader"
    if standing.status is Status.ELECTION:
        text = "election" if standing.leader is None else f"election, {follows}"
    elif standing.status is Status.REORGANIZATION:
        text = f"reorganization, {follows}"
    decided = standing.decided if isinstance(standing, Choice) else None
    if decided is not None:
        return [f"{text}, decided {decided}", f"decided {decided}", f"={decided}"]
    short = [] if standing.leader is None else [sheet.called(standing.leader)]
    number = sheet.named(text_of(standing.group))
    group = [] if standing.group is None else [f"{text}, group {number}"]
    token = [] if standing.token is None else [f"{text}, token {standing.token}"]
    return [*group, *token, text, *short]


# --- timers ---


def _put_timer(sheet: Sheet, node: NodeId, row: WaitRow) -> None:
    y = sheet.y(node) + BAND / 2 + TIMER * (row.row + 0.5) + 3
    wide, ending = width_of(row.label), row.wait.ending
    left = label_left(row.left, row.right, row.label)
    if left < row.right:
        # Anywhere on the bar will do, best where no message passes.
        count = 1 + int((row.right - left - wide - 8) // 10)
        places = [TextPosition(left + wide / 2 + 10 * n, y) for n in range(count)]
        place = sheet.ink.best(row.label, places) or places[0]
        left = place.x - wide / 2
    with sheet.group("timer", f"{node} {row.label}: {ending}", (row.left, row.right, y)):
        sheet.put(ending, row.left, row.right, y, left - 3, left + wide + 3)
    sheet.ink.settle(row.label, TextPosition(left + wide / 2, y))
    sheet.ink.line(row.left, y, row.right, y, TIMERS)
    sheet.timer_names.append(DiagramPart("timer name", (left, y + MIDDLE), row.label))


# --- turns ---


def put_turns(sheet: Sheet) -> None:
    """A dot for every turn, a sign for every fault and every word of a detector."""
    for number, step in enumerate(sheet.trace.steps):
        node = step.happening.where
        if node is None or isinstance(step.happening, Phased):
            continue
        x, y = sheet.x(number), sheet.y(node)
        with sheet.group("turn", sheet.told(number), (x, y)):
            sheet.put("hit", x, y, 8)
            for sign in step.signs:
                sheet.put("sign", x, y, text=sign)
        if step.happening.flagged:
            _put_flag(sheet, step, x, y)


def _put_flag(sheet: Sheet, step: Step, x: float, y: float) -> None:
    text = sheet.named(next(lines_of(step, sheet.trace.setting.timing)).split(" ", 1)[1])
    half = width_of(text) / 2
    rows = [y - BAND / 2 - HEIGHT + 2 - 14 * row for row in range(3)]
    places = [TextPosition(x + shift, row) for row in rows for shift in (half - 6, 0, 6 - half)]
    place = sheet.ink.best(text, places[:3]) or sheet.ink.best(text, places[3:])
    if place is not None:
        sheet.ink.settle(text, place)
        sheet.put("flag", place.x, place.y + MIDDLE, text=text)
