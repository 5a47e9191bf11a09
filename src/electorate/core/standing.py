"""What `view` returns: a Standing for elections, a Decision for commits, a Choice for consensus.

A machine declares with `tells` that its standings are of such a kind. Claims, the checker and the
code that tells a run use these values alone, never the protocol that shows them.
"""

from enum import StrEnum
from typing import Any, Self

from msgspec.structs import replace

from electorate.core.value import NodeId, Value


class Status(StrEnum):
    """Where a live node is in its life. A node that is down has no standing at all."""

    ELECTION = "election"  # a leader is being chosen; work rests
    REORGANIZATION = "reorganization"  # a leader is known; the work's state is being handed over
    NORMAL = "normal"  # a leader is known and the work goes on


class Standing(Value):
    """What a node believes about the leadership."""

    status: Status
    leader: NodeId | None = None
    group: tuple[int, ...] | None = None
    until: str | None = None
    """The timer that ends this office; None if offices do not run out."""
    token: int | None = None
    """The number of the leader's term, for stores that must refuse all but the newest; None if
    none."""
    priority: int | None = None
    """The priority with which the application wants this node to stand, 0: it only votes; None if
    it never changes."""

    @classmethod
    def above(cls, below: "Standing", **more: Any) -> Self:
        """What a machine shows over an election: the standing in that election, and more."""
        below_all = (getattr(below, name) for name in Standing.__struct_fields__)
        return cls(*below_all, **more)

    def expired(self, armed: frozenset[str]) -> "Standing":
        """The standing to believe, given the timers that are armed and have not run out.

        An office whose timer is gone has ended, whether or not the node has noticed.
        """
        if self.until is None or self.until in armed:
            return self
        return replace(self, status=Status.ELECTION, leader=None, until=None, token=None)


class GroupStanding(Standing):
    """What a node believes of its group, and what a leader has to know to coordinate it."""

    members: tuple[NodeId, ...] = ()
    """All nodes in the group that this node leads, itself included; empty if it does not lead."""
    owed: tuple[tuple[NodeId, NodeId], ...] = ()
    """Those of them that have come from another group and were not dealt with yet, each with the
    node that led that group."""


class Stage(StrEnum):
    """How far a node has come with a transaction."""

    WORKING = "working"  # has not voted; the coordinator: has not begun
    UNCERTAIN = "uncertain"  # has voted yes and awaits the decision; the coordinator: has begun
    COMMITTABLE = "committable"  # knows that all have voted yes
    ABORTABLE = "abortable"  # has agreed to abort
    COMMITTED = "committed"
    ABORTED = "aborted"

    @property
    def is_final(self) -> bool:
        """Whether it has decided."""
        return self in (Stage.COMMITTED, Stage.ABORTED)

    @property
    def is_in_doubt(self) -> bool:
        """Whether it must neither commit nor abort of its own accord."""
        return not self.is_final and self is not Stage.WORKING


class Wants(StrEnum):
    """What the application is to do now."""

    PREPARE = "prepare"  # make the work safe, and vote
    COMMIT = "commit"  # make the work visible
    ABORT = "abort"  # undo the work
    NOTHING = "nothing"


class Decision(Standing):
    """What a node knows of its transaction; its standing is that of the election underneath.

    The driver looks at `wants`, has the application do it, and says so by one of the requests that
    the machine is owed. The machine's `stable` has the stage that is in the log as its field
    `stage`, and in `forgotten` what is `over` here: claims judge a node that is down by these.
    """

    state: Stage = Stage.WORKING
    wants: Wants = Wants.NOTHING
    coordinates: bool = False
    """Whether this is the original coordinator, which takes no part itself."""
    over: bool = False
    """All have applied the decision, and this node has forgotten it; what it hears of the
    transaction after that, it hears as if for the first time."""

    @property
    def has_forgotten(self) -> bool:
        """Whether it is over, and nothing was heard of it since."""
        return self.over and self.state is Stage.WORKING


class Choice(Standing):
    """What a node has decided in a consensus; its standing is that of the election underneath."""

    proposes: int = 0
    """The value that this node proposes."""
    decided: int | None = None
    """The value that it has decided on, for ever; None before."""
