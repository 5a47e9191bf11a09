"""A network drawn once for each way to share out its nodes; the groups are coloured regions."""

from collections.abc import Sequence
from math import ceil, cos, pi, sin

from electorate.core import NodeId
from electorate.trace.diagram.ink import width_of
from electorate.trace.svg.palette import INK, LEADERS, SOFT
from electorate.trace.svg.pen import Pen, document

Groups = Sequence[Sequence[NodeId]]
Points = dict[NodeId, tuple[float, float]]

NODE = 13
REGION = 46
"""How wide the region of a group is around its nodes."""
GAP = 24
CAPTION = 22
COLUMNS = 4


def drawn_network(
    title: str,
    nodes: Sequence[NodeId],
    links: Sequence[tuple[NodeId, NodeId]],
    ways: Sequence[Groups],
) -> str:
    """The whole drawing, as a file of its own."""
    radius = max(46, 16 * len(nodes))
    captions = [_caption(groups) for groups in ways]
    side = max([2 * radius + REGION, *(width_of(caption) for caption in captions)])
    columns = min(COLUMNS, len(ways))
    pen = Pen()
    pen.write(GAP, GAP, title, font_weight="bold", fill=INK)
    for place, (groups, caption) in enumerate(zip(ways, captions, strict=True)):
        left = GAP + place % columns * (side + GAP)
        top = 2 * GAP + place // columns * (2 * radius + REGION + CAPTION + GAP)
        centre = (left + side / 2, top + radius + REGION / 2)
        points = _points(nodes, centre, radius)
        with pen.group(caption):
            _draw(pen, points, links, groups)
        below = top + 2 * radius + REGION + CAPTION - 6
        pen.write(centre[0], below, caption, text_anchor="middle", fill=INK)
    rows = ceil(len(ways) / columns)
    width = max(GAP + columns * (side + GAP), 2 * GAP + width_of(title) * 1.1)
    height = 2 * GAP + rows * (2 * radius + REGION + CAPTION + GAP)
    return document(pen, title, width, height)


def _caption(groups: Groups) -> str:
    return "  ".join("{" + ", ".join(map(str, group)) + "}" for group in groups)


def _points(nodes: Sequence[NodeId], centre: tuple[float, float], radius: float) -> Points:
    """The nodes on a circle, the first at the top, clockwise."""
    turns = {node: 2 * pi * place / len(nodes) for place, node in enumerate(nodes)}
    if len(nodes) == 1:
        return {nodes[0]: centre}
    x, y = centre
    return {node: (x + radius * sin(a), y - radius * cos(a)) for node, a in turns.items()}


def _draw(pen: Pen, points: Points, links: Sequence[tuple[NodeId, NodeId]], groups: Groups) -> None:
    for place, group in enumerate(groups):
        colour = LEADERS[place % len(LEADERS)]
        if len(group) == 1:
            pen.circle(*points[group[0]], REGION / 2, fill=colour, opacity="0.75")
            continue
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (points[node] for node in group))
        pen.draw(
            "polygon",
            points=corners,
            fill=colour,
            stroke=colour,
            stroke_width=REGION,
            stroke_linejoin="round",
            opacity="0.75",
        )
    for one, other in links:
        pen.line(*points[one], *points[other], stroke=SOFT, stroke_width=2)
    for node, (x, y) in points.items():
        pen.circle(x, y, NODE, fill="#ffffff", stroke=INK, stroke_width=1.5)
        pen.write(x, y + 4, str(node), text_anchor="middle", fill=INK)
