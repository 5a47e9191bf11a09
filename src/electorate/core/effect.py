"""Effects are orders: what a node wants done after its turn.

There are three, no more. That something must be saved, or that the leader changed, follows from
comparing states.
"""

from electorate.core.value import Message, NodeId, Value


class Send(Value):
    """Bring this message to that node. To oneself it is memory: no delay, loss or doubling."""

    to: NodeId
    message: Message


class SetTimer(Value):
    """Wake me after that long (and up to `jitter` later); an earlier setting is forgotten."""

    timer: str
    after: int
    jitter: int = 0


class CancelTimer(Value):
    """Do not wake me for this after all."""

    timer: str


Effect = Send | SetTimer | CancelTimer
