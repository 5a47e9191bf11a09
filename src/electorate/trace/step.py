"""What happens in a run, one happening at a time, and the turns that came of it."""

from electorate.core import Effect, Message, NodeId, Request, State, Value
from electorate.trace.setting import Setting


class Happening(Value, tag_field="what", tag=True):
    """Something that the world did: a delivery, a timer, a fault, the passing of time."""


class Ticked(Happening):
    """Time passed."""

    by: int = 1


class Delivered(Happening):
    """A message was handed over; `place` counts from the oldest on its channel."""

    sender: NodeId
    to: NodeId
    message: Message
    place: int = 0


class Doubled(Happening):
    """A message was handed over, and a copy of it is still on its way."""

    sender: NodeId
    to: NodeId
    message: Message
    place: int = 0


class Lost(Happening):
    """A message was lost."""

    sender: NodeId
    to: NodeId
    message: Message
    why: str = "lost"
    place: int = 0


class Fired(Happening):
    """A timer ran out."""

    node: NodeId
    timer: str


class Saw(Happening):
    """A node's failure detector changed its mind."""

    node: NodeId
    alive: frozenset[NodeId]
    before: frozenset[NodeId]


class Pressed(Happening):
    """The application asked for something."""

    node: NodeId
    request: Request


class Crashed(Happening):
    """A node stopped, between two turns."""

    node: NodeId


class Recovered(Happening):
    """A node booted; `first` if it had never lived before."""

    node: NodeId
    first: bool = False


class Paused(Happening):
    """A node stopped reacting; its timers run on."""

    node: NodeId


class Resumed(Happening):
    """A paused node reacts again."""

    node: NodeId


class Cut(Happening):
    """Messages from one node to the other, or `both` ways, are lost from now on."""

    sender: NodeId
    to: NodeId
    both: bool = False

    @property
    def ways(self) -> tuple[tuple[NodeId, NodeId], ...]:
        """The directions that are cut."""
        return _ways(self.sender, self.to, self.both)


class Healed(Happening):
    """Messages get through again."""

    sender: NodeId
    to: NodeId
    both: bool = False

    @property
    def ways(self) -> tuple[tuple[NodeId, NodeId], ...]:
        """The directions that are healed."""
        return _ways(self.sender, self.to, self.both)


def _ways(one: NodeId, other: NodeId, both: bool) -> tuple[tuple[NodeId, NodeId], ...]:
    return ((one, other), (other, one)) if both else ((one, other),)


class Phased(Happening):
    """The start was shifted: this timer has so much left (for periodic timers)."""

    node: NodeId
    timer: str
    left: int


class Placed(Happening):
    """The start put a node into a state, or left it down with what it had saved."""

    node: NodeId
    json: str
    """The state; for a node that is down, what it saved (null if it never lived)."""
    is_up: bool = True
    alive: frozenset[NodeId] = frozenset()
    """Whom its failure detector trusts."""
    timers: tuple[tuple[str, int, int], ...] = ()
    """Each timer that is armed, with the shortest and the longest that it may still take."""
    sent: tuple[tuple[NodeId, int, str], ...] = ()
    """What it has on its way: to whom, for how long by now, and the message as JSON."""


class TurnRecord(Value):
    """One turn: who, from what state to what state, with which orders."""

    node: NodeId
    before: State | None
    after: State
    effects: tuple[Effect, ...]
    sent: tuple[tuple[NodeId, int], ...] | None = None
    """Only if the node crashed in the middle of this turn: how many messages to each node left."""


class Step(Value):
    """One happening, when, and the turns it led to (self-addressed messages included)."""

    at: int
    happening: Happening
    turns: tuple[TurnRecord, ...] = ()


class Trace(Value):
    """A whole run."""

    setting: Setting
    steps: tuple[Step, ...] = ()
