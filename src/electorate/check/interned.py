"""The parts that a global state is made of, and what can be read off each at once.

A global state is a row of small integers; each integer is the code of one of these parts in its
pool. What an expansion wants to know about a part is worked out once, on its card.
"""

from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Any, Generic, NamedTuple, TypeVar

from electorate.core import (
    Machine,
    Message,
    NodeId,
    Request,
    Stable,
    Standing,
    State,
    Topic,
    text_of,
)
from electorate.trace import Order, Storage

V = TypeVar("V", bound=Hashable)
C = TypeVar("C")


class Pool(Generic[V, C]):
    """Gives each distinct value a small code, and makes its card."""

    def __init__(self, make_card: Callable[[V], C]) -> None:
        self.cards: list[C] = []
        self._codes: dict[V, int] = {}
        self._make_card = make_card

    def code(self, value: V) -> int:
        """The code of this value."""
        code = self._codes.get(value)
        if code is None:
            self.cards.append(self._make_card(value))
            code = self._codes[value] = len(self._codes)
        return code

    def __len__(self) -> int:
        return len(self._codes)


class Pulse(IntEnum):
    """Whether a live node reacts."""

    AWAKE = 0
    PAUSED = 1  # takes no event; its timers run on
    WOKEN = 2  # was paused: all that is due by now is handled in any order


class Armed(NamedTuple):
    """A timer that may fire once `soonest` is 0 and must once `latest` is."""

    timer: str
    soonest: int
    latest: int


class Local(NamedTuple):
    """One node: its state and armed timers, or, while it is down, what it has saved."""

    state: State | None
    stable: Stable | None
    timers: tuple[Armed, ...] = ()
    pulse: Pulse = Pulse.AWAKE
    firings: int = 0
    """Periodic timers that have fired; counted in unbounded timing only."""
    me: NodeId | None = None
    """Whose it is, where it is down and has saved something."""

    @classmethod
    def down(cls, state: State, storage: Storage) -> "Local":
        """A node that has crashed in this state."""
        if storage is Storage.LOST:
            return cls(None, None)
        return cls(None, state.stable, me=state.me)

    def aged(self) -> "Local":
        """The node one tick later."""
        timers = tuple(Armed(t, max(0, a - 1), max(0, b - 1)) for t, a, b in self.timers)
        pulse = Pulse.AWAKE if self.pulse is Pulse.WOKEN else self.pulse
        return self._replace(timers=timers, pulse=pulse)


class Achievement(NamedTuple):
    """What a protocol is for, by what its machine declares to tell of."""

    text: str
    never: str
    """What is said of a search in which nobody came so far."""
    is_reached: Callable[[Any, NodeId], bool]
    """Whether a node with this standing has come so far."""


ELECTED = Achievement(
    "a leader was elected", "not once did anybody lead", lambda view, node: view.leader == node
)
ACHIEVEMENTS = {
    Topic.DECISIONS: Achievement(
        "a transaction was decided",
        "not once was a transaction decided",
        lambda view, _: view.state.is_final,
    ),
    Topic.CHOICES: Achievement(
        "a value was decided on",
        "not once had anybody decided",
        lambda view, _: view.decided is not None,
    ),
    Topic.FOUNDERS: Achievement(
        "a cluster was founded",
        "not once was a cluster founded",
        lambda view, node: view.leader == node or (bool(view.group) and view.status == "normal"),
    ),
    Topic.MEMORIES: Achievement(
        "a node met a member",
        "not once had a node met a member",
        lambda view, node: len(view.group) > 1,
    ),
}


def achievement_of(machine: Machine[Any]) -> Achievement:
    """What this machine is for: it elects, unless it says that it decides."""
    return next((ACHIEVEMENTS[each] for each in ACHIEVEMENTS if each in machine.tells), ELECTED)


class LocalCard:
    """What an expansion asks of a node."""

    def __init__(
        self,
        value: Local,
        standing: Standing | None,
        bounded: bool,
        owes: tuple[Request, ...] = (),
        achievement: Achievement = ELECTED,
        offices: tuple[str, ...] = (),
    ) -> None:
        self.value = value
        self.owes = owes
        """What the application owes: it asks for one of these."""
        self.up = value.state is not None
        self.awake = self.up and value.pulse is not Pulse.PAUSED
        self.woken = value.pulse is Pulse.WOKEN
        self.ready = tuple(t.timer for t in value.timers if t.soonest == 0)
        self.due = bounded and (bool(owes) or any(t.latest == 0 for t in value.timers))
        self.standing = standing
        self.expired: str | None = None
        self.offices = offices
        """The timers that end offices of this node: whenever they fire, they wait for nothing."""
        if standing is not None:
            running = frozenset(t.timer for t in value.timers if t.latest > 0 or not bounded)
            self.standing = standing.expired(running)
            # An office that has run out ends before anything else happens to its holder.
            over = (each for each in self.ready if each in offices and each not in running)
            self.expired = next(over, None)
        self.achieves = value.state is not None and achievement.is_reached(
            self.standing, value.state.me
        )
        """Whether it is where its protocol leads to."""
        self.aged: int | None = None


class Item(NamedTuple):
    """A message on its way, and for how long it has been."""

    sender: NodeId
    message: Message
    age: int


Channel = tuple[Item, ...]


def _in_set(item: Item) -> tuple[NodeId, str, str]:
    """Where an item stands in a set: equal sets are equal tuples, however they came about."""
    return item.sender, text_of(item.message), repr(item.message)


class ChannelCard:
    """What an expansion asks of a channel."""

    def __init__(self, value: Channel, order: Order, age_min: int, age_max: int | None) -> None:
        self.value = value
        self.lasting = order is Order.SET
        ordered = order in (Order.FIFO, Order.GLOBAL)
        places = range(min(1, len(value))) if ordered else range(len(value))
        first = {value[place]: place for place in reversed(places)}
        self.deliverable = tuple(sorted(p for item, p in first.items() if item.age >= age_min))
        self.due = age_max is not None and any(item.age >= age_max for item in value)
        self._age_max = age_max
        self.aged: dict[bool, int] = {}

    def without(self, place: int) -> Channel:
        """The channel once the message at this place was taken."""
        return self.value if self.lasting else self.value[:place] + self.value[place + 1 :]

    def with_more(self, items: Channel) -> Channel:
        """The channel with these messages on it as well."""
        if self.lasting:
            return tuple(sorted({*self.value, *items}, key=_in_set))
        return self.value + items

    def aged_value(self, receiver_up: bool) -> Channel:
        """The channel one tick later; what is due where nobody can take it is lost."""
        if self._age_max is None:
            return self.value
        last = self._age_max
        kept = (item for item in self.value if receiver_up or item.age < last)
        return tuple(item._replace(age=min(item.age + 1, last)) for item in kept)


RIGHT = -1
"""In place of the ticks until an entry must be corrected: it is right as it is."""
WHENEVER = -2
"""In the same place: it is wrong, and is corrected at any time or never."""


class Entry(NamedTuple):
    """What one node's failure detector holds of one other node."""

    trusted: bool = True
    left: int = RIGHT
    restarted: bool = False
    """The node came back before it was missed; that is still to be noticed."""


Watch = tuple[Entry, ...]


class WatchCard:
    """What an expansion asks of a failure detector."""

    def __init__(self, value: Watch, ids: tuple[NodeId, ...], bounded: bool) -> None:
        self.value = value
        self.alive = frozenset(node for node, e in zip(ids, value, strict=True) if e.trusted)
        self.wrong = tuple(i for i, e in enumerate(value) if e.left != RIGHT)
        self.right = tuple(i for i, e in enumerate(value) if e.left == RIGHT)
        self.overdue = bounded and any(e.left == 0 for e in value)
        self.aged: int | None = None

    def aged_value(self) -> Watch:
        """The detector one tick later."""
        return tuple(e._replace(left=e.left - 1) if e.left > 0 else e for e in self.value)
