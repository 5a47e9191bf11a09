"""Simulated failure detectors: after every change, each is right again within a bound.

An incomplete one may trust a dead node for ever; chance decides whether it does. The truth for a
node is which nodes are up and linked to it both ways. A node that crashes and comes back within the
bound may go unnoticed.
"""

from collections import defaultdict

from electorate.core import NodeId
from electorate.simulate.chance import Chance
from electorate.simulate.simulation import Simulation

Correction = tuple[NodeId, NodeId, int]
"""One node's detector looks again at another node, if the observer is still in that life."""


class SimulatedDetectors:
    """All failure detectors of a simulation; a driver lets time pass for them."""

    def __init__(self, cluster: Simulation, chance: Chance, bound: int, complete: bool) -> None:
        self._cluster = cluster
        self._chance = chance
        self._bound = bound
        self._complete = complete
        self._lives: defaultdict[NodeId, int] = defaultdict(int)
        self._pending: set[Correction] = set()
        self.due: list[tuple[int, Correction]] = []
        """Corrections since a driver last emptied this list, with their times."""

    def is_wrong(self, node: NodeId, about: NodeId) -> bool:
        """Whether a live node is wrong about another one."""
        cluster = self._cluster
        here = cluster.nodes[node]
        if here.local is None or node == about:
            return False
        is_there = cluster.nodes[about].local is not None and cluster.are_linked(node, about)
        return (about in here.view) != is_there

    def note_crash(self, node: NodeId) -> None:
        """A node went down: its detector with it, and the others will notice."""
        self._lives[node] += 1
        for other in self._cluster.members.ids:
            self.note(other, node)

    def note_recovery(self, node: NodeId) -> None:
        """A node came back; its detector begins by trusting all neighbours."""
        for other in self._cluster.members.ids:
            self.note(other, node)
            self.note(node, other)

    def note(self, node: NodeId, about: NodeId) -> None:
        """Something between these two changed: if `node` is wrong now, it will look again."""
        if self.is_wrong(node, about):
            correction = (node, about, self._lives[node])
            if correction not in self._pending and not self._overlooks(node, about):
                self._pending.add(correction)
                lag = self._chance.lag(node, about, self._bound)
                self.due.append((self._cluster.now + lag, correction))

    def _overlooks(self, node: NodeId, about: NodeId) -> bool:
        """Whether a node's detector will never notice that another one is gone."""
        trusted = about in self._cluster.nodes[node].view
        return trusted and not self._complete and self._chance.overlooks(node, about)

    def news(self, correction: Correction) -> frozenset[NodeId] | None:
        """The node's view once its detector has looked again; None if nothing is new."""
        self._pending.discard(correction)
        node, about, life = correction
        if life != self._lives[node] or not self.is_wrong(node, about):
            return None
        return self._cluster.nodes[node].view ^ {about}
