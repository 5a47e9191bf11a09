"""Partial-order reduction: of deliveries that commute, only one order is explored.

A machine may declare whom each node hears (`Machine.hears`). Where a node hears one other node
only, has no timer armed, and nothing can fail any more, the message at the head of its one channel
is all that can happen to it, now and later: whatever others do first, it will be taken in the same
state and do the same. So it may be taken at once, and nothing else explored, unless a claim looks
at what it changes. To leave no node waiting for ever on a way round, some nodes are never hurried:
enough of them for every ring of hearing to hold one. (Ample sets as in Clarke, Grumberg and Peled,
Model Checking, chapter 10: these are C0 to C3.)
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from electorate.check.interned import Pulse
from electorate.check.model import Budget
from electorate.check.space import StateSpace
from electorate.claims import Claim, Kind, Sight
from electorate.core import Machine, NodeId, Received
from electorate.trace import Clock, Order

Hearing = dict[NodeId, tuple[NodeId, ...]]


def may_reduce(machine: Machine[Any], clock: Clock, order: Order, claims: Sequence[Claim]) -> bool:
    """Whether deliveries commute in such a model, and the claims are of the kind that allows it."""
    plain = all(
        claim.kind is Kind.ALWAYS and claim.fold is None and Sight.MESSAGES not in claim.sights
        for claim in claims
    )
    heard = hearing(machine) is not None
    apart = clock is Clock.UNBOUNDED and order is Order.FIFO
    return heard and apart and plain and not machine.uses_views


def hearing(machine: Machine[Any]) -> Hearing | None:
    """Whom each node hears; None if the machine does not say so of every node."""
    found: Hearing = {}
    for node in machine.members.ids:
        heard = machine.hears(node)
        if heard is None:
            return None
        found[node] = heard
    return found


class Reduction:
    """Knows which deliveries may go first."""

    def __init__(self, space: StateSpace) -> None:
        self._space = space
        heard = hearing(space.machine) or {}
        never = unhurried(heard)
        ids = space.ids
        self._columns = {
            space.columns.of_channel[ids.index(senders[0]), ids.index(node)]: ids.index(node)
            for node, senders in heard.items()
            if len(senders) == 1 and node not in never and senders[0] != node
        }
        """The channels whose messages may go first, and the index of their receiver."""

    def is_ample(self, column: int, channel: int, local: int, budget: Budget) -> bool:
        """Whether the head of this channel is all that need be explored."""
        place = self._columns.get(column)
        if place is None or budget != Budget():
            return False
        space = self._space
        node, items = space.locals.cards[local], space.channels.cards[channel]
        idle = node.up and node.value.pulse is Pulse.AWAKE
        idle = idle and not node.value.timers and not node.owes
        if not idle or len(items.deliverable) != 1:
            return False
        item = items.value[items.deliverable[0]]
        coded = space.outcomes.coded(local, place, Received(item.sender, item.message))
        observations = space.observations
        return coded.cut is None and observations.sight(coded.local) == observations.sight(local)


def unhurried(heard: Hearing) -> frozenset[NodeId]:
    """The fewest nodes without which nobody hears himself, not even through others."""
    nodes = sorted(heard)
    for count in range(len(nodes) + 1):
        for chosen in combinations(nodes, count):
            rest = {node: heard[node] for node in nodes if node not in chosen}
            if not _goes_round(rest):
                return frozenset(chosen)
    return frozenset(nodes)


def _goes_round(heard: Hearing) -> bool:
    """Whether somebody hears himself, perhaps through others."""
    left = dict(heard)
    while left:
        deaf = [node for node, senders in left.items() if not any(s in left for s in senders)]
        if not deaf:
            return True
        for node in deaf:
            del left[node]
    return False
