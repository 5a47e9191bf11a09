"""What an application may see of its node: a Standing for elections."""

from enum import StrEnum

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
    """The timer that ends this office; None where offices do not run out."""
    token: int | None = None
    """The number of the leader's term, for what must refuse all but the newest; None without."""

    def expired(self, armed: frozenset[str]) -> "Standing":
        """The standing to go by, given the timers that are armed and have not run out.

        An office whose timer is gone has ended, whether or not the node has noticed.
        """
        if self.until is None or self.until in armed:
            return self
        return replace(self, status=Status.ELECTION, leader=None, until=None, token=None)
