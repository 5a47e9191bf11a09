"""Events are facts: what has just happened to a node. Effects are orders: what it wants done then.

There are three effects, no more. That something must be saved, or that the leader changed, follows
from comparing states.
"""

from electorate.core.value import Message, NodeId, Request, Value


class Received(Value):
    """A message has arrived."""

    sender: NodeId
    message: Message


class TimedOut(Value):
    """A timer that was set has run out."""

    timer: str


class Viewed(Value):
    """The failure detector's word: the live nodes linked to me, myself included.

    It is the first event after a boot, before any message or timer.
    """

    alive: frozenset[NodeId]


class Asked(Value):
    """The application has asked for something."""

    request: Request


Event = Received | TimedOut | Viewed | Asked


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
