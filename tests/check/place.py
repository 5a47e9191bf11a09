"""One global state of the plain explorer, as ordinary objects that are copied whole."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from electorate.core import Effect, Message, NodeId, Send, Stable, State

Turns = list[tuple[State, list[Effect]]]
Sends = list[tuple[NodeId, Message]]
Link = frozenset[NodeId]
"""The two nodes that a link is between."""


class Mail(NamedTuple):
    sender: NodeId
    to: NodeId
    message: Message
    age: int = 0


class Opinion(NamedTuple):
    trusted: bool = True
    deadline: float | None = None
    """Infinite if it need never be corrected."""
    restarted: bool = False


@dataclass
class Node:
    state: State | None = None
    stable: Stable | None = None
    timers: dict[str, tuple[int, int]] = field(default_factory=dict)
    pulse: str = "awake"
    firings: int = 0

    @property
    def reacts(self) -> bool:
        return self.state is not None and self.pulse != "paused"


@dataclass
class Place:
    """One global state."""

    nodes: dict[NodeId, Node]
    mail: list[Mail]
    opinions: dict[tuple[NodeId, NodeId], Opinion]
    budget: dict[str, int]
    broken: set[Link] = field(default_factory=set)
    """The links that are cut."""
    memory: tuple[Hashable, ...] = ()
    """What each claim with a fold remembers."""

    def copy(self) -> "Place":
        return Place(
            {i: replace(node, timers=dict(node.timers)) for i, node in self.nodes.items()},
            list(self.mail),
            dict(self.opinions),
            dict(self.budget),
            set(self.broken),
            self.memory,
        )


def sends(effects: list[Effect]) -> Sends:
    return [(effect.to, effect.message) for effect in effects if isinstance(effect, Send)]
