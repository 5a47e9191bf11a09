"""Faults: what goes wrong in a run, and when.

A fault that finds nothing to do (a crash of a node that is down) does nothing, so that any of
them can be left out and the others mean the same as before.
"""

from electorate.core import NodeId, Value


class Fault(Value, tag_field="kind", tag=lambda name: name.lower()):
    """Something that goes wrong at a time."""

    at: int

    def nodes(self) -> frozenset[NodeId]:
        """The nodes that it is about."""
        return frozenset({getattr(self, "node", 0)})


class Crash(Fault):
    """A node stops, between two turns."""

    node: NodeId


class Tear(Fault):
    """A node stops in the middle of its next turn that sends anything."""

    node: NodeId
    draw: int = 0
    """Decides which of the messages leave."""


class Recover(Fault):
    """A node that is down boots again."""

    node: NodeId


class Pause(Fault):
    """A node does not react for a while; its timers run on."""

    until: int
    node: NodeId


class CutLink(Fault, tag="cut"):
    """Nothing gets through from one node to the other for a while."""

    until: int
    sender: NodeId
    to: NodeId

    def nodes(self) -> frozenset[NodeId]:
        return frozenset({self.sender, self.to})


class ResetConnection(Fault, tag="reset"):
    """The connection of two nodes breaks: all that is on its way between them is lost at once."""

    sender: NodeId
    to: NodeId

    def nodes(self) -> frozenset[NodeId]:
        return frozenset({self.sender, self.to})


class Partition(Fault):
    """For a while nothing gets through between one side and the rest."""

    until: int
    side: tuple[NodeId, ...]

    def nodes(self) -> frozenset[NodeId]:
        return frozenset(self.side)


class Lie(Fault):
    """A node's failure detector takes a live node for dead, or a dead one for alive."""

    node: NodeId
    about: NodeId

    def nodes(self) -> frozenset[NodeId]:
        return frozenset({self.node, self.about})


class Ask(Fault):
    """Not a fault, but as unforeseen: the application asks its node for something."""

    node: NodeId
    draw: int = 0
    """Decides which of the open requests it is."""


AnyFault = Crash | Tear | Recover | Pause | CutLink | ResetConnection | Partition | Lie | Ask
Plan = tuple[AnyFault, ...]
"""The faults of one run, in the order of their times."""
