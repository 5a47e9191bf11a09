"""`electorate graph`: the cliques and clique covers of a network, and whether A4 can be kept."""

import argparse
from collections.abc import Sequence
from itertools import islice
from math import ceil, cos, pi, sin
from pathlib import Path
from typing import Any

import msgspec

from electorate.claims.connectivity import Connectivity
from electorate.claims.network import (
    Cover,
    Leaders,
    covers,
    minimum_covers,
    networks,
    way_to_keep_a4,
    way_to_keep_a4_weakened,
)
from electorate.cli.error import EXIT_DONE, UsageError
from electorate.cli.picture import write
from electorate.cli.protocol import graph_given, node_count
from electorate.core import NodeId
from electorate.trace.diagram.ink import width_of
from electorate.trace.svg.pen import INK, LEADERS, SOFT, Pen, document

NAME = "graph"
SUMMARY = "Show the cliques and clique covers of a network, and whether A4 and A4' can be kept."
EXAMPLES = """examples:
  electorate graph path:3
  electorate graph 1-2,2-3,3-4,1-4 --svg covers.svg
  electorate graph 1-2 --nodes 3
  electorate graph --count 3 4 5

A clique cover shares out all nodes among sets of nodes that are all linked to each other. A4 wants
every largest such set to be one group, A4' no more groups than the smallest cover has.
exit code: 0 done, 2 bad usage or input"""

NODES_MAX = 12
"""A network of more nodes may have more covers than can be listed."""
COUNT_MAX = 6
"""There are 2,097,152 networks of seven nodes."""
SHOWN_MAX = 24
"""At most this many covers are listed and drawn."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `graph`."""
    parser.add_argument(
        "graph",
        nargs="?",
        metavar="G",
        help="path:4, cycle:4, star:4 or complete:4 nodes, or a list of links: 1-2,2-3",
    )
    parser.add_argument(
        "--nodes",
        type=node_count,
        metavar="N",
        help="with a list of links; default: up to the last",
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw each minimum clique cover")
    parser.add_argument(
        "--all", action="store_true", help="list and draw every clique cover, not only the smallest"
    )
    parser.add_argument(
        "--count",
        nargs="+",
        type=_size,
        metavar="N",
        help=f"of all networks of N nodes, count those on which A4 can be kept; up to {COUNT_MAX}",
    )


def _size(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= COUNT_MAX:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to {COUNT_MAX}, not {text}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Show one network, or count all."""
    if (options.graph is None) is (options.count is None):
        raise UsageError("graph takes a network, as in path:3, or --count 3 4 5, and not both")
    if options.count is not None:
        if options.svg or options.all or options.nodes:
            raise UsageError("--count goes with none of --svg, --all and --nodes")
        _count(options.count, as_json=options.json)
        return EXIT_DONE
    graph = _graph(options.graph, options.nodes)
    found = covers(graph) if options.all else minimum_covers(graph)
    listed = list(islice(found, SHOWN_MAX))
    more = next(found, None) is not None
    if options.svg:
        which = "clique covers" if options.all else "minimum clique covers"
        title = f"{options.graph}: {'some of its' if more else 'its'} {which}"
        write(options.svg, drawn_network(title, graph.nodes, sorted(graph.links), listed))
    if options.json:
        print(msgspec.json.encode(_object(graph, listed, more)).decode())
    else:
        _show(graph, listed, "clique cover" if options.all else "minimum clique cover", more=more)
    return EXIT_DONE


def _graph(text: str, nodes: int | None) -> Connectivity:
    named = [int(word) for word in text.replace(",", "-").split("-") if word.isdecimal()]
    if nodes is not None and ":" in text:
        raise UsageError(f"--nodes goes with a list of links; {text} says how many there are")
    if nodes is not None and max(named, default=1) > nodes:
        raise UsageError(f"graph {text}: {max(named)} is not one of the {nodes} nodes")
    count, links = graph_given(text, nodes or max(named, default=1))
    if count > NODES_MAX:
        raise UsageError(f"graph {text}: at most {NODES_MAX} nodes, not {count}")
    ids = tuple(range(1, count + 1))
    if links is None:
        links = tuple((a, b) for a in ids for b in ids if a < b)
    for a, b in links:
        if a == b or not {a, b} <= set(ids):
            raise UsageError(f"graph {text}: {a}-{b} is no link between two nodes of 1 to {count}")
    return Connectivity(ids, frozenset(links))


def _show(graph: Connectivity, listed: Sequence[Cover], kind: str, *, more: bool) -> None:
    links = ", ".join(f"{a}-{b}" for a, b in sorted(graph.links)) or "none"
    print(f"{len(graph.nodes)} nodes, links: {links}")
    print(f"largest cliques: {_sets(graph.cliques())}")
    print(f"connected parts: {_sets(graph.parts())}")
    count = f"more than {len(listed)}" if more else str(len(listed))
    print(f"{count} {kind}{'' if count == '1' else 's'}{', the first of them' if more else ''}:")
    for cover in listed:
        print(f"  {_sets(cover)}")
    leaders = way_to_keep_a4(graph)
    print(f"A4 can be kept: {_way(leaders)}" if leaders else f"A4 cannot be kept: {_lack(graph)}")
    print(f"A4' can be kept: {_way(way_to_keep_a4_weakened(graph))}")


def _sets(groups: Sequence[Sequence[int]]) -> str:
    return " ".join("{" + ", ".join(map(str, group)) + "}" for group in groups)


def _way(leaders: Leaders) -> str:
    groups: dict[int, list[int]] = {}
    for node, leader in leaders.items():
        groups.setdefault(leader, []).append(node)
    return ", ".join(f"{leader} leads {_sets([group])}" for leader, group in groups.items())


def _lack(graph: Connectivity) -> str:
    part = next(part for part in graph.parts() if not graph.centres(part))
    return f"no node of {_sets([part])} is linked to all others of it"


def _object(graph: Connectivity, listed: Sequence[Cover], more: bool) -> dict[str, Any]:
    leaders = way_to_keep_a4(graph)
    return {
        "nodes": graph.nodes,
        "links": sorted(graph.links),
        "cliques": graph.cliques(),
        "parts": graph.parts(),
        "minimum": graph.cover(),
        "covers": listed,
        "more": more,
        "A4": leaders and {str(node): leader for node, leader in leaders.items()},
        "A4p": {str(n): leader for n, leader in way_to_keep_a4_weakened(graph).items()},
    }


def _count(sizes: Sequence[int], *, as_json: bool) -> None:
    counted = []
    for n in sizes:
        kept = [way_to_keep_a4(graph) is not None for graph in networks(n)]
        counted.append({"nodes": n, "networks": len(kept), "A4": sum(kept)})
        if not as_json:
            print(
                f"{n} nodes: A4 can be kept on {sum(kept):,} of {len(kept):,} networks", flush=True
            )
    if as_json:
        print(msgspec.json.encode({"counts": counted}).decode())


# --- drawn once for each way to share out its nodes; the groups are coloured regions ---

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
