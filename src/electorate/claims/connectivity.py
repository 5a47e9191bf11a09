"""Who is linked to whom: cliques, the fewest cliques that share out all nodes, connected parts.

A clique is a set of nodes each of which is linked to each other one. Links go both ways.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from electorate.claims.claim import Row
from electorate.core import NodeId, Value

Nodes = frozenset[NodeId]


class Connectivity(Value):
    """A graph: nodes in order of id, and the links between them, each with the smaller id first."""

    nodes: tuple[NodeId, ...]
    links: frozenset[tuple[NodeId, NodeId]]

    @classmethod
    def of(cls, row: Row) -> "Connectivity":
        """The live nodes of a row, and the links that they have now."""
        live = [node for node, _ in row.live()]
        pairs = ((a, b) for place, a in enumerate(live) for b in live[place + 1 :])
        return cls(tuple(live), frozenset(pair for pair in pairs if pair not in row.absent))

    def neighbours(self, node: NodeId) -> Nodes:
        """The nodes that a node is linked to."""
        return frozenset(a if b == node else b for a, b in self.links if node in (a, b))

    def are_linked(self, nodes: Iterable[NodeId]) -> bool:
        """Whether each of these nodes is linked to each other one."""
        wanted = frozenset(nodes)
        return all(wanted <= self.neighbours(node) | {node} for node in wanted)

    def cliques(self) -> tuple[tuple[NodeId, ...], ...]:
        """The largest cliques: those to which no node can be added."""
        return _cliques(self)

    def cover(self) -> int:
        """The size of a minimum clique cover: the fewest cliques that share out all nodes."""
        return _cover(self)

    def parts(self) -> tuple[tuple[NodeId, ...], ...]:
        """The connected parts: two nodes are in the same one if there is a path between them."""
        return _parts(self)

    def reach(self, one: NodeId, other: NodeId) -> bool:
        """Whether there is a path between two nodes."""
        return any(one in part and other in part for part in self.parts())

    def centres(self, part: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """The nodes of a part that are linked to all others of it."""
        members = frozenset(part)
        return tuple(n for n in sorted(members) if members <= self.neighbours(n) | {n})


@lru_cache(maxsize=4096)
def _cliques(graph: Connectivity) -> tuple[tuple[NodeId, ...], ...]:
    near = {node: graph.neighbours(node) for node in graph.nodes}

    def grown(clique: Nodes, open_: Nodes, closed: Nodes) -> Iterator[tuple[NodeId, ...]]:
        """The largest cliques that hold `clique`, nodes of `open_`, and none of `closed`."""
        if not open_ and not closed:
            yield tuple(sorted(clique))
            return
        # A largest clique without this node holds one that is not linked to it.
        pivot = max(sorted(open_ | closed), key=lambda node: len(near[node] & open_))
        for node in sorted(open_ - near[pivot]):
            yield from grown(clique | {node}, open_ & near[node], closed & near[node])
            open_, closed = open_ - {node}, closed | {node}

    # The empty set is no clique of an empty graph.
    found = grown(frozenset(), frozenset(graph.nodes), frozenset()) if graph.nodes else ()
    return tuple(sorted(found))


@lru_cache(maxsize=4096)
def _cover(graph: Connectivity) -> int:
    cliques = [frozenset(clique) for clique in graph.cliques()]

    def is_enough(count: int, left: Nodes) -> bool:
        """Whether this many cliques share out the nodes that are left."""
        if not left:
            return True
        if not count:
            return False
        choices = {node: {c & left for c in cliques if node in c} for node in left}
        # Some clique must hold each node, so the node with the least choice decides.
        _, least = min(choices.items(), key=lambda item: (len(item[1]), item[0]))
        ordered = sorted(least, key=lambda clique: (-len(clique), sorted(clique)))
        return any(is_enough(count - 1, left - clique) for clique in ordered)

    nodes = frozenset(graph.nodes)
    return next(count for count in range(len(nodes) + 1) if is_enough(count, nodes))


@lru_cache(maxsize=4096)
def _parts(graph: Connectivity) -> tuple[tuple[NodeId, ...], ...]:
    parts: list[Nodes] = []
    for node in graph.nodes:
        if not any(node in part for part in parts):
            part: Nodes = frozenset({node})
            while (wider := part.union(*map(graph.neighbours, part))) != part:
                part = wider
            parts.append(part)
    return tuple(tuple(sorted(part)) for part in parts)
