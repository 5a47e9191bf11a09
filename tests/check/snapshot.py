"""All that can be said of one moment, in the same words from the simulator and from the checker.

The checker forgets at once what can never matter again; the simulator does not know what can.
"""

from itertools import combinations
from typing import NamedTuple

from electorate.check.column import Row
from electorate.check.interned import Pulse
from electorate.check.space import StateSpace
from electorate.core import NodeId, text_of
from electorate.simulate.simulation import Envelope, SimulatedNode, Simulation
from electorate.trace import Order, Setting

Lanes = dict[object, tuple[object, ...]]


class Snapshot(NamedTuple):
    """Each node, what is on its way, and the links that are cut."""

    nodes: dict[NodeId, tuple[object, ...]]
    lanes: Lanes
    cut: set[frozenset[NodeId]]

    def without(self, nodes: set[NodeId], links: set[frozenset[NodeId]]) -> "Snapshot":
        """All but what is saved by these nodes or on its way to them, or over these links."""
        kept = {
            lane: mail
            for lane, mail in self.lanes.items()
            if (lane[1] if isinstance(lane, tuple) else lane) not in nodes
            and (not isinstance(lane, tuple) or frozenset(lane) not in links)
        }
        gone: tuple[object, ...] = (None, None, frozenset(), None, Pulse.AWAKE)
        named = {node: gone if node in nodes else known for node, known in self.nodes.items()}
        return Snapshot(named, kept, self.cut)

    def for_good(self) -> "Snapshot":
        """What still matters where nobody boots again and no link heals."""
        return self.without({node for node, known in self.nodes.items() if not known[0]}, self.cut)

    def as_kept(self, space: StateSpace, row: Row) -> "Snapshot":
        """What the checker keeps of this where it has come to a row."""
        left = space.budgets.cards[row[-1]]
        lost = {space.ids[place] for place in range(space.n) if space.is_lost(row, place)}
        return self.without(lost, set() if left.heals else self.cut)


def of_cluster(cluster: Simulation) -> Snapshot:
    """What the simulator holds of everybody; what has no bounds is no matter of time."""
    setting = cluster.setting
    nodes = {node.id: _node(cluster, node) for node in cluster.nodes.values()}
    mail = [*cluster.in_flight()]
    if setting.order is not Order.SET:
        mail.sort(key=lambda envelope: envelope.number)
    lanes: Lanes = {}
    for envelope in mail:
        item = (envelope.sender, text_of(envelope.message), _left(cluster, envelope))
        _put(lanes, setting, envelope.to, item)
    cut = {frozenset(pair) for pair, channel in cluster.channels.items() if channel.cut}
    return Snapshot(nodes, lanes, cut & _links(setting))


def _node(cluster: Simulation, node: SimulatedNode) -> tuple[object, ...]:
    timed, now = cluster.setting.timed, cluster.now
    timers = {
        (name, max(0, armed.earliest - now), max(0, armed.latest - now)) if timed else (name, 0, 0)
        for name, armed in node.timers.items()
    }
    pulse = Pulse.PAUSED if node.paused else Pulse.WOKEN if node.woken and timed else Pulse.AWAKE
    view = node.view if node.local and cluster.machine.uses_views else None
    return node.local and node.local.state, node.stable, frozenset(timers), view, pulse


def _left(cluster: Simulation, envelope: Envelope) -> int:
    due = envelope.sent_at + cluster.setting.delay_max
    return max(0, due - cluster.now) if cluster.setting.prompt else 0


def _put(lanes: Lanes, setting: Setting, to: int, item: tuple[int, str, int]) -> None:
    lane = to if setting.order is Order.GLOBAL else (item[0], to)
    lanes[lane] = (*lanes.get(lane, ()), item)


def _links(setting: Setting) -> set[frozenset[NodeId]]:
    pairs = combinations(setting.ids, 2) if setting.graph is None else setting.graph
    return {frozenset(pair) for pair in pairs}


def of_row(space: StateSpace, row: Row) -> Snapshot:
    """What the checker holds of everybody."""
    setting = space.model.setting
    nodes: dict[NodeId, tuple[object, ...]] = {}
    for place, code in enumerate(row[: space.n]):
        local = space.locals.cards[code].value
        state, timers = local.state, frozenset(map(tuple, local.timers))
        stable, view = local.stable, None
        if state is not None:
            stable = state.stable
            if space.machine.uses_views:
                view = space.detectors.pool.cards[row[space.columns.watch_column + place]].alive
        nodes[space.ids[place]] = (state, stable, timers, view, local.pulse)
    lanes: Lanes = {}
    for column, to in space.columns.channels:
        for sender, message, age in space.channels.cards[row[column]].value:
            left = setting.delay_max - age if setting.prompt else 0
            _put(lanes, setting, space.ids[to], (sender, text_of(message), left))
    cut = space.columns.cut_links(row)
    links = [frozenset(space.ids[end] for end in link) for link in space.columns.links]
    return Snapshot(nodes, lanes, {link for n, link in enumerate(links) if cut >> n & 1})
