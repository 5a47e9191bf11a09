"""Who is linked to whom, and what groups such a network allows."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

from electorate.claims import Row
from electorate.core import NodeId, Status

Link = tuple[NodeId, NodeId]


class Graph(NamedTuple):
    """Nodes and the links between them, each with the smaller node first."""

    ids: tuple[NodeId, ...]
    links: frozenset[Link]

    def linked(self, *nodes: NodeId) -> bool:
        """Whether each of the nodes is linked to each other one."""
        return all(pair in self.links for pair in combinations(sorted(nodes), 2))

    def missing(self) -> list[Link]:
        return [pair for pair in combinations(self.ids, 2) if pair not in self.links]

    def cliques(self) -> list[frozenset[NodeId]]:
        """The largest sets of nodes that are all linked to each other."""
        sizes = range(1, len(self.ids) + 1)
        sets = (frozenset(nodes) for size in sizes for nodes in combinations(self.ids, size))
        cliques = [nodes for nodes in sets if self.linked(*nodes)]
        return [nodes for nodes in cliques if not any(nodes < other for other in cliques)]

    def cover(self) -> int:
        """The smallest number of such sets, not only the largest ones, that share out all nodes."""
        colours = product(range(len(self.ids)), repeat=len(self.ids))
        return min(len(set(c)) for c in colours if self._are_cliques(c))

    def _are_cliques(self, colours: tuple[int, ...]) -> bool:
        coloured = zip(combinations(self.ids, 2), combinations(colours, 2), strict=True)
        return all(pair in self.links for pair, (one, other) in coloured if one == other)

    def reached_from(self, node: NodeId) -> frozenset[NodeId]:
        """The nodes to which there is a path."""
        reached = {node}
        for _ in self.ids:
            reached |= {n for link in self.links if reached & set(link) for n in link}
        return frozenset(reached)

    def a4(self, leaders: dict[NodeId, NodeId]) -> bool:
        """A4: every largest set of linked nodes has a leader from its midst."""
        return all(
            len({leaders[node] for node in clique}) == 1 and leaders[min(clique)] in clique
            for clique in self.cliques()
        )

    def lacks_of_a4_weakened(self, row: Row, cover: int) -> Iterator[str]:
        """What a row lacks of A4', Stoller's weaker form."""
        standings = dict(row.live())
        for node, standing in standings.items():
            leader = standing.leader
            if standing.status is not Status.NORMAL or leader is None:
                yield f"{node} is in {standing.status}"
            elif standings[leader].group != standing.group:
                yield f"{node} is not in the group of its leader {leader}"
            elif leader not in self.reached_from(node):
                yield f"{node} cannot reach its leader {leader}"
        groups = {standing.group for standing in standings.values()}
        if len(groups) > cover:
            yield f"there are {len(groups)} groups where {cover} would do"


def graphs(n: int) -> Iterator[Graph]:
    """Every graph on the nodes 1 to n."""
    ids = tuple(range(1, n + 1))
    pairs = list(combinations(ids, 2))
    for size in range(len(pairs) + 1):
        for links in combinations(pairs, size):
            yield Graph(ids, frozenset(links))
