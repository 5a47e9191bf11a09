"""What a claim is: a property that a row of views keeps, or the nodes and beliefs that break it."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from electorate.core import Members, NodeId, Standing, Status, Value


class Row(Value):
    """What a claim may see at one instant: the standing of every member, None if it is down."""

    members: Members
    standings: tuple[Standing | None, ...]

    def live(self) -> Iterator[tuple[NodeId, Standing]]:
        """The nodes that are up, in order of id, with what they believe."""
        for node, standing in zip(self.members.ids, self.standings, strict=True):
            if standing is not None:
                yield node, standing

    def normal(self) -> Iterator[tuple[NodeId, Standing]]:
        """The live nodes whose work goes on."""
        return ((node, view) for node, view in self.live() if view.status is Status.NORMAL)


class Witness(Value):
    """Why a claim fails: which nodes, and what they believe."""

    nodes: tuple[NodeId, ...]
    text: str


class Kind(StrEnum):
    """When a claim must be true."""

    ALWAYS = "always"  # in every state
    GOAL = "goal"  # from some time on, once nothing fails any more


class Claim(NamedTuple):
    """A named property. `judge` returns None where it is kept."""

    name: str
    kind: Kind
    text: str
    judge: Callable[[Row], Witness | None]
