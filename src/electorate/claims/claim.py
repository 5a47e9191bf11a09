"""What a claim is: a property of what can be seen of a run, or the beliefs that break it."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from electorate.core import (
    Machine,
    Members,
    Message,
    NodeId,
    Stable,
    Standing,
    State,
    Status,
    Topic,
    Value,
    text_of,
)

Shown = TypeVar("Shown", bound=Standing)
Sent = tuple[NodeId, NodeId, Message]
"""Sender, receiver and message."""


class Row(Value):
    """What a claim may see at one instant: the standing of every member, None if it is down."""

    members: Members
    standings: tuple[Standing | None, ...]
    absent: frozenset[tuple[NodeId, NodeId]] = frozenset()
    """Pairs of nodes, the smaller id first, that have no link between them now."""
    stables: tuple[Stable | None, ...] = ()
    """What each node has saved; only for claims that ask for it."""
    timers: tuple[frozenset[str], ...] = ()
    """The timers that are armed at each node; only for claims that ask for it."""
    states: tuple[State | None, ...] = ()
    """The whole state of each node, None if it is down; only for claims that ask for it."""
    messages: tuple[Sent, ...] = ()
    """Sender, receiver and message of all that is on its way; only for claims that ask for it.

    Ordered by receiver, then by sender, then by when it was sent; where channels keep no order,
    those of one channel by what they say.
    """
    tasks: tuple[Hashable, ...] = ()
    """How far each node knows the work to be, None if it is down; only for claims that ask."""

    def only(self, sights: "frozenset[Sight]") -> "Row":
        """The row with these sights only."""
        hidden = [sight for sight in Sight if sight not in sights and getattr(self, sight)]
        return replace(self, **dict.fromkeys(hidden, ())) if hidden else self

    def live(self) -> Iterator[tuple[NodeId, Standing]]:
        """The nodes that are up, in order of id, with what they believe."""
        for node, standing in zip(self.members.ids, self.standings, strict=True):
            if standing is not None:
                yield node, standing

    def normal(self) -> Iterator[tuple[NodeId, Standing]]:
        """The live nodes whose work goes on."""
        return ((node, view) for node, view in self.live() if view.status is Status.NORMAL)

    def linked(self, one: NodeId, other: NodeId) -> bool:
        """Whether messages get through between two nodes now."""
        return (min(one, other), max(one, other)) not in self.absent


def on_their_way(messages: Iterable[Sent], *, in_order: bool) -> tuple[Sent, ...]:
    """Messages as a row has them; `in_order` if channels keep the order of sending."""

    def key(sent: Sent) -> tuple[NodeId, NodeId, str]:
        sender, to, message = sent
        return to, sender, "" if in_order else text_of(message)

    return tuple(sorted(messages, key=key))


class Sight(StrEnum):
    """What a claim may ask to see besides standings and links."""

    STABLES = "stables"
    TIMERS = "timers"
    STATES = "states"
    MESSAGES = "messages"
    TASKS = "tasks"


class Witness(Value):
    """Why a claim fails: which nodes, and what they believe."""

    nodes: tuple[NodeId, ...]
    text: str


def belief(node: NodeId, standing: Standing) -> str:
    """What a node believes, in words."""
    leader = "nobody" if standing.leader is None else standing.leader
    return f"{node} is {standing.status} and follows {leader}"


def unsettled(row: Row) -> Witness | None:
    """The first live node that is not at work, or is at work without a live leader."""
    live = dict(row.live())
    for node, standing in live.items():
        if standing.status is not Status.NORMAL:
            return Witness((node,), f"{node} is in {standing.status}")
        if standing.leader is None:
            return Witness((node,), belief(node, standing))
        if standing.leader not in live:
            return Witness((node,), f"{belief(node, standing)}, which is not up")
    return None


def companies(row: Row, kind: type[Shown]) -> Iterator[dict[NodeId, Shown]]:
    """Each leader with all nodes that it can reach, if all of these follow it and reach no others.

    Nodes whose standing is of another kind are not looked at.
    """
    live = {node: view for node, view in row.live() if isinstance(view, kind)}
    for leader, view in live.items():
        if view.leader != leader:
            continue
        found = {n: v for n, v in live.items() if n == leader or row.linked(n, leader)}
        outside = live.keys() - found.keys()
        apart = not any(row.linked(i, j) for i in found for j in outside)
        if apart and all(view.leader == leader for view in found.values()):
            yield found


class Kind(StrEnum):
    """When a claim must be true."""

    ALWAYS = "always"  # in every state
    STEP = "step"  # of every two rows that follow one another
    GOAL = "goal"  # from some time on, once nothing fails any more

    @property
    def is_safety(self) -> bool:
        """Whether one finite run can break it."""
        return self is not Kind.GOAL


class Fold(NamedTuple):
    """What a claim remembers of a run: it starts with `first`, and takes in row after row.

    A row that is seen twice in a row must change nothing the second time.
    """

    first: Hashable
    then: Callable[[Any, Row], Hashable]


class Premise(NamedTuple):
    """What must be seen in some row for a claim to say anything at all."""

    text: str
    """What is said if no row shows it: `not once were two nodes normal`."""
    is_met: Callable[[Row], bool]

    def __call__(self, row: Row) -> bool:
        """Whether this row shows it."""
        return self.is_met(row)


class Claim(NamedTuple):
    """A named property.

    `judge` returns None where it is kept. It is given the row; for a step the row before it and
    the row; with a fold the row and what is remembered, this row included.
    """

    name: str
    kind: Kind
    text: str
    judge: Callable[..., Witness | None]
    fold: Fold | None = None
    sights: frozenset[Sight] = frozenset()
    premise: Premise | None = None
    """The premise; None if the claim says something of any row with a live node in it."""
    about: frozenset[Topic] = frozenset()
    """What standings have to tell of for the claim to mean anything."""
    misreads: frozenset[Topic] = frozenset()
    """What it would take instead if standings tell of that."""
    compares: bool = False
    """Whether it only compares the tokens and groups in standings with each other. Otherwise
    numbers that standings show are not renamed."""

    @property
    def looks_back(self) -> bool:
        """Whether it looks at more of a run than one row."""
        return self.fold is not None or self.kind is Kind.STEP

    def misfit(self, machine: Machine[Any]) -> str | None:
        """Why it means nothing for this machine, in words; None if it fits."""
        missing = sorted(self.about - machine.tells)
        if missing:
            return f"{self.name} is about {missing[0]}, of which it tells nothing"
        mistaken = sorted(self.misreads & machine.tells)
        if mistaken:
            return f"{self.name} would misread its {mistaken[0]}"
        return None


def somebody_leads(row: Row) -> bool:
    """Whether a node at work considers itself leader."""
    return any(standing.leader == node for node, standing in row.normal())


LED = Premise("not once did anybody lead", somebody_leads)


class Following:
    """Judges one run by one claim, row by row."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self._before: Row | None = None
        self._memory = claim.fold.first if claim.fold else None

    def judge(self, row: Row) -> Witness | None:
        """What the next row of the run breaks."""
        claim, before, self._before = self.claim, self._before, row
        if claim.kind is Kind.STEP:
            return None if before is None else claim.judge(before, row)
        if claim.fold is None:
            return claim.judge(row)
        self._memory = claim.fold.then(self._memory, row)
        return claim.judge(row, self._memory)
