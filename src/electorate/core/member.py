"""Members and ranks: who takes part, and who is stronger than whom.

Rank is (attribute, id); whether the highest or the lowest wins is configuration, never a fork of
the code. That no two nodes rank alike is an assumption of elections, which can be dropped: nodes
may be declared equal, though messages still find the right one.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Literal, Self

from msgspec.structs import replace

from electorate.core.value import NodeId, Value

Strongest = Literal["lowest", "highest"]


class Members(Value):
    """All nodes that take part, in order of id, with their attributes."""

    ids: tuple[NodeId, ...]
    attributes: tuple[int, ...]
    strongest: Strongest
    equal: tuple[NodeId, ...] = ()
    """Nodes whose ids compare as if they were one and the same."""
    is_open: bool = False
    """Whether any node may take part, though none is listed here: see `open`."""

    @classmethod
    def of(
        cls,
        ids: Iterable[NodeId],
        strongest: Strongest = "lowest",
        attributes: Mapping[NodeId, int] | None = None,
        equal: Iterable[NodeId] = (),
    ) -> Self:
        """Members with the given ids; a node without an attribute has attribute 0."""
        given = tuple(ids)
        ordered = tuple(sorted(set(given)))
        if len(ordered) != len(given):
            raise ValueError(f"node ids must differ: {given}")
        if not ordered:
            raise ValueError("there must be at least one node")
        known = attributes or {}
        strangers = sorted(set(known) - set(ordered))
        if strangers:
            raise ValueError(f"attribute given for {strangers[0]}, which is not a member")
        alike = tuple(sorted(set(equal)))
        if len(alike) == 1 or not set(alike) <= set(ordered):
            raise ValueError(f"equal nodes are two members or more, not {alike}")
        return cls(ordered, tuple(known.get(node, 0) for node in ordered), strongest, alike)

    @classmethod
    def open(cls, strongest: Strongest = "lowest") -> Self:
        """Any node may take part, now or later; nodes rank by id alone.

        A machine for such members learns from its state and its events which nodes there are, so
        one machine serves a node for as long as it runs, while others come and go.
        """
        return cls((), (), strongest, is_open=True)

    @property
    def unranked(self) -> Self:
        """The same members without attributes: they rank by id alone."""
        return replace(self, attributes=(0,) * len(self.ids))

    def __contains__(self, node: NodeId) -> bool:
        return self.is_open or node in self.ids

    def attribute(self, node: NodeId) -> int:
        """The attribute of a node; 0 for one that is not listed."""
        return self.attributes[self.ids.index(node)] if node in self.ids else 0

    def rank(self, node: NodeId) -> tuple[int, int]:
        """A key that is larger for a stronger node."""
        sign = 1 if self.strongest == "highest" else -1
        compared = self.equal[0] if node in self.equal else node
        self._expect_member(node)
        return (sign * self.attribute(node), sign * compared)

    def is_stronger(self, one: NodeId, other: NodeId) -> bool:
        """Whether `one` outranks `other`."""
        return self.rank(one) > self.rank(other)

    def stronger_than(self, node: NodeId) -> tuple[NodeId, ...]:
        """All nodes that outrank `node`, in order of id."""
        return tuple(other for other in self.ids if self.is_stronger(other, node))

    def weaker_than(self, node: NodeId) -> tuple[NodeId, ...]:
        """All nodes that `node` outranks, in order of id."""
        return tuple(other for other in self.ids if self.is_stronger(node, other))

    def others(self, node: NodeId) -> tuple[NodeId, ...]:
        """All other nodes, in order of id."""
        return tuple(other for other in self.ids if other != node)

    def strongest_of(self, nodes: Iterable[NodeId]) -> NodeId:
        """The one of `nodes` that outranks the rest; of equal ones, that with the lowest id."""
        return max(sorted(nodes), key=self.rank)

    def after(self, node: NodeId, among: Container[NodeId] | None = None) -> NodeId:
        """The successor of `node` on the ring of ids; `among` leaves out all others but itself."""
        self._expect_member(node)
        place = self.ids.index(node) + 1
        ring = (*self.ids[place:], *self.ids[:place])
        return next(other for other in ring if among is None or other in among or other == node)

    def _expect_member(self, node: NodeId) -> None:
        if node not in self:
            raise ValueError(f"{node} is not a member")
