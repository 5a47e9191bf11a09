"""What is possible on a network at all: clique covers, and ways to follow that keep A4.

A clique cover shares out all nodes among cliques (Souto, "Elections", 2021, slides "Solution").
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from electorate.claims.claim import Row
from electorate.claims.connectivity import Connectivity
from electorate.claims.group import CLAIMS
from electorate.core import Members, NodeId, Standing, Status

Cover = tuple[tuple[NodeId, ...], ...]
"""Cliques that share out all nodes, in the order of their first nodes."""
Leaders = dict[NodeId, NodeId]
"""The leader of each node."""


def networks(n: int) -> Iterator[Connectivity]:
    """Every network of the nodes 1 to n."""
    ids = tuple(range(1, n + 1))
    pairs = list(combinations(ids, 2))
    for size in range(len(pairs) + 1):
        for links in combinations(pairs, size):
            yield Connectivity(ids, frozenset(links))


def covers(graph: Connectivity, size_max: int | None = None) -> Iterator[Cover]:
    """Every clique cover of at most so many cliques, each once."""
    most = len(graph.nodes) if size_max is None else size_max

    def shared(left: tuple[NodeId, ...], groups: Cover) -> Iterator[Cover]:
        if not left:
            yield groups
            return
        node, *rest = left
        near = graph.neighbours(node)
        for place, group in enumerate(groups):
            if near.issuperset(group):
                yield from shared(
                    tuple(rest), (*groups[:place], (*group, node), *groups[place + 1 :])
                )
        if len(groups) < most:
            yield from shared(tuple(rest), (*groups, (node,)))

    return shared(graph.nodes, ())


def minimum_covers(graph: Connectivity) -> Iterator[Cover]:
    """The clique covers that need the fewest cliques."""
    return covers(graph, graph.cover())


def row_of(graph: Connectivity, leaders: Sequence[NodeId]) -> Row:
    """A row in which every node is in the one group of its leader."""
    pairs = frozenset(combinations(graph.nodes, 2))
    standings = tuple(Standing(Status.NORMAL, leader, (leader, 1)) for leader in leaders)
    return Row(Members.of(graph.nodes), standings, pairs - graph.links)


def kept_by(claim: str, graph: Connectivity, leaders: Leaders) -> bool:
    """Whether a claim about groups is kept if nodes follow each other like this."""
    row = row_of(graph, [leaders[node] for node in graph.nodes])
    return CLAIMS[claim].judge(row) is None


def way_to_keep_a4(graph: Connectivity) -> Leaders | None:
    """The leader that each node can have so that A4 is kept; None if that is impossible.

    Linked nodes must be in one group, so each connected part is a group; its leader belongs to
    every largest clique of the part, and so is linked to all others in it.
    """
    leaders: Leaders = {}
    for part in graph.parts():
        centres = graph.centres(part)
        if not centres:
            return None
        leaders |= dict.fromkeys(part, centres[0])
    assert kept_by("A4", graph, leaders)
    return leaders


def way_to_keep_a4_weakened(graph: Connectivity) -> Leaders:
    """The same for A4', which can always be kept, for example by a minimum clique cover."""
    cover = next(minimum_covers(graph))
    leaders = {node: group[0] for group in cover for node in group}
    assert kept_by("A4p", graph, leaders)
    return leaders
