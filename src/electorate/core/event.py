"""Events are facts: what has just happened to a node."""

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
