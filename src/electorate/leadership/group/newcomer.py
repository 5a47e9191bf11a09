"""Who has come into a group from another: with those the application has to be reconciled."""

from collections.abc import Iterable

from electorate.core import NodeId
from electorate.protocols.invitation import Group


class Newcomers:
    """What the leader of a group knows about where its members come from."""

    def __init__(self) -> None:
        self.owed: dict[NodeId, NodeId] = {}
        """Whom the application has not been reconciled with yet, and who had led them."""
        self._former: Group = (0, 0)
        self._came: dict[NodeId, Group] = {}

    def invite(self, former: Group) -> None:
        """A new group is being formed by a node that was in that one."""
        self._former = former
        self._came = {}

    def come(self, node: NodeId, group: Group) -> None:
        """A node has accepted that was in that group."""
        self._came[node] = group

    def join(self, followers: Iterable[NodeId]) -> None:
        """The group is complete. What was not settled in the last one is still owed."""
        came = {node: self._came[node] for node in sorted(followers)}
        owed = {node: leader for node, leader in self.owed.items() if node in came}
        new = {node: group[0] for node, group in came.items() if group != self._former}
        self.owed = {**owed, **new}

    def settle(self) -> None:
        """Nothing is owed any more."""
        self.owed = {}
