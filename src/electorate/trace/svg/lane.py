"""Drawing the lanes: what nodes believe, wait for and see, and when they are down or paused."""

from itertools import pairwise

from electorate.core import Choice, Decision, NodeId, Standing, Status, text_of
from electorate.trace.diagram import Belief, Ending, Life
from electorate.trace.happening import CROSS, Glyph, Phased, Step
from electorate.trace.svg.ink import HEIGHT, MIDDLE, Place
from electorate.trace.svg.palette import INK, ROLES, SOFT, STAGES, UNKNOWN
from electorate.trace.svg.pen import HALO, Pen, Style, width_of
from electorate.trace.svg.sheet import BAND, TIMER, Bar, Sheet, label_left
from electorate.trace.text import lines_of

ELECTION_FILL = "url(#electorate-election)"
PAUSE_FILL = "url(#electorate-pause)"
TIMERS = -2
"""The owner of the bars in the ink."""
REORGANIZATION_FILL = "url(#electorate-reorganization)"


def draw_lanes(sheet: Sheet) -> None:
    """All lanes, without the turns on them."""
    for node, life in sheet.lives.items():
        with sheet.pen.group(class_="lane", data_node=str(node)):
            _draw_head(sheet, node)
            for down in life.downs:
                y = sheet.y(node)
                dotted: Style = {"stroke": SOFT, "stroke_dasharray": "1.5 4", "stroke_width": 1.2}
                sheet.pen.line(sheet.x(down.begin), y, sheet.x(down.end), y, **dotted)
            for belief in life.beliefs:
                _draw_belief(sheet, life, belief)
            for pause in life.pauses:
                left, right = sheet.x(pause.begin), sheet.x(pause.end)
                y, h = sheet.y(node) - BAND / 2 - 5, BAND + 10
                sheet.pen.rect(left, y, right - left, h, fill=PAUSE_FILL, stroke=SOFT)
            for bar in sheet.bars[node]:
                _draw_bar(sheet, node, bar)


def _draw_head(sheet: Sheet, node: NodeId) -> None:
    y = sheet.y(node)
    head: Style = {"fill": sheet.leader_colours[node], "stroke": INK, "stroke_width": 1}
    middle: Style = {"text_anchor": "middle", "font_weight": "bold", "font_size": 14}
    if node not in sheet.names:
        sheet.pen.circle(sheet.begin - 22, y, 13, **head)
        sheet.pen.write(sheet.begin - 22, y + 5, str(node), fill=INK, **middle)
        return
    name = sheet.names[node]
    wide = width_of(name, 14) + 10
    sheet.pen.rect(sheet.begin - wide - 6, y - 12, wide, 24, **head)
    sheet.pen.write(sheet.begin - wide / 2 - 6, y + 5, name, fill=INK, **middle)


# --- beliefs ---


def _draw_belief(sheet: Sheet, life: Life, belief: Belief) -> None:
    left, right = sheet.x(belief.begin), sheet.x(belief.end)
    standing = belief.standing
    if belief.expires is None or standing is None:
        _draw_standing(sheet, life.node, left, right, standing)
        return
    # The office ends when its timer runs out, noticed or not.
    ends = min(right, max(left, sheet.zero + sheet.axis.of_time(belief.expires)))
    _draw_standing(sheet, life.node, left, ends, standing)
    _draw_standing(sheet, life.node, ends, right, standing.expired(frozenset()))


def _draw_standing(
    sheet: Sheet, node: NodeId, left: float, right: float, standing: Standing | None
) -> None:
    if right - left < 0.1:
        return
    y = sheet.y(node)
    box = (left, y - BAND / 2, right - left, BAND)
    texts = _texts(sheet, node, standing)
    with sheet.pen.group(texts[0], class_="belief"):
        sheet.pen.rect(*box, fill=fill_of(sheet, standing))
        if standing is not None and standing.status is Status.REORGANIZATION:
            sheet.pen.rect(*box, fill=REORGANIZATION_FILL)
        sheet.pen.rect(*box, fill="none", stroke="#ffffff", stroke_width=1.5)
    sheet.ink.box(left, y - BAND / 2 + 1, right - left, BAND - 2)


def write_beliefs(sheet: Sheet) -> None:
    """What each band means, where there is room between the turns."""
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
                    is_election = fill_of(sheet, belief.standing) == ELECTION_FILL
                    style: Style = {"fill": INK, **(HALO if is_election else {})}
                    sheet.pen.write(fitting[0] + 12, sheet.y(node) + 4, text, **style)
                    break


def fill_of(sheet: Sheet, standing: Standing | None) -> str:
    """The colour of a band."""
    if standing is None:
        return UNKNOWN
    if isinstance(standing, Decision):
        return STAGES[standing.state]
    if standing.leader is not None:
        return sheet.leader_colours[standing.leader]
    return ELECTION_FILL if standing.status is Status.ELECTION else "#ffffff"


def _texts(sheet: Sheet, node: NodeId, standing: Standing | None) -> list[str]:
    """What a band means, from the longest to the shortest way to say it."""
    if standing is None:
        return ["not recorded", "?"]
    if isinstance(standing, Decision):
        leads = [f"{standing.state}, leads"] if standing.leader == node else []
        return [*leads, str(standing.state)]
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


def _draw_bar(sheet: Sheet, node: NodeId, bar: Bar) -> None:
    y = sheet.y(node) + BAND / 2 + TIMER * (bar.row + 0.5) + 3
    wide = width_of(bar.label)
    left = label_left(bar.left, bar.right, bar.label)
    if left < bar.right:
        # Anywhere on the bar will do, best where no message passes.
        count = 1 + int((bar.right - left - wide - 8) // 10)
        places = [Place(left + wide / 2 + 10 * n, y) for n in range(count)]
        place = sheet.ink.best(bar.label, places) or places[0]
        left = place.x - wide / 2
    what = f"{node} {bar.label}: {bar.wait.ending}"
    with sheet.pen.group(what, class_="timer", stroke=SOFT, fill="none"):
        draw_timer(sheet.pen, bar.left, bar.right, y, bar.wait.ending, (left - 3, left + wide + 3))
    sheet.ink.settle(bar.label, Place(left + wide / 2, y))
    sheet.ink.line(bar.left, y, bar.right, y, TIMERS)
    sheet.timer_labels.append((left, y + MIDDLE, bar.label))


def write_timers(sheet: Sheet) -> None:
    """The names of all timers, over whatever passes there."""
    for left, y, label in sheet.timer_labels:
        sheet.pen.write(left, y, label, fill=SOFT, **HALO)


def draw_timer(
    pen: Pen,
    left: float,
    right: float,
    y: float,
    ending: Ending,
    gap: tuple[float, float] | None = None,
) -> None:
    """A bar with the mark that tells how it ended, and a gap for its name."""
    pen.line(left, y - 4, left, y + 4)
    dashes: Style = {"stroke_dasharray": "4 3"} if ending is Ending.PENDING else {}
    end = right - (3 if ending is Ending.CANCELLED else 0)
    if gap is not None and gap[0] < right:
        pen.line(left, y, gap[0], y, **dashes)
        left = gap[1]
    pen.line(left, y, end, y, **dashes)
    match ending:
        case Ending.FIRED:
            pen.rect(right - 3, y - 3, 6, 6, fill=INK, stroke=INK)
        case Ending.CANCELLED:
            pen.circle(right, y, 3, fill="#ffffff")
        case Ending.RESET:
            pen.line(right, y - 4, right, y + 4)


# --- turns ---


def draw_turns(sheet: Sheet) -> None:
    """A dot for every turn, a sign for every fault and every word of a detector."""
    for number, step in enumerate(sheet.trace.steps):
        node = step.happening.where
        if node is None or isinstance(step.happening, Phased):
            continue
        x, y = sheet.x(number), sheet.y(node)
        with sheet.pen.group(sheet.told(number), class_="turn"):
            sheet.pen.circle(x, y, 8, fill="#ffffff", fill_opacity=0)
            draw_glyph(sheet.pen, x, y, step.happening.sign)
            draw_glyph(sheet.pen, x, y, CROSS if step.torn else ())
        _write_flag(sheet, step, x, y)


def draw_glyph(pen: Pen, x: float, y: float, glyph: Glyph) -> None:
    """A sign, around a place."""
    for shape in glyph:
        edge: Style = {"stroke": ROLES[shape.stroke], "stroke_width": shape.width}
        style: Style = {"fill": ROLES[shape.fill], **(edge if shape.width else {})}
        if shape.fill == "none":
            style = {**edge, "stroke_linecap": "round", "fill": "none"}
        if shape.path:
            d = f"M{x + shape.x:.1f} {y + shape.y:.1f}{shape.path}"
            pen.draw("path", d=d, **style)
        else:
            pen.circle(x, y, shape.radius, **style)


def _write_flag(sheet: Sheet, step: Step, x: float, y: float) -> None:
    if not step.happening.flagged:
        return
    text = sheet.named(next(lines_of(step, sheet.trace.setting.timing)).split(" ", 1)[1])
    half = width_of(text) / 2
    rows = [y - BAND / 2 - HEIGHT + 2 - 14 * row for row in range(3)]
    places = [Place(x + shift, row) for row in rows for shift in (half - 6, 0, 6 - half)]
    place = sheet.ink.best(text, places[:3]) or sheet.ink.best(text, places[3:])
    if place is None:
        return
    sheet.ink.settle(text, place)
    style: Style = {"fill": INK, "font_style": "italic", "text_anchor": "middle", **HALO}
    sheet.pen.write(place.x, place.y + MIDDLE, text, **style)
