"""Beginning anywhere: in every combination of states that a search with faults met at some node.

Nothing is on its way and nothing fails any more: only goals can be judged from there. What a node
was told by its failure detector goes with its state, for that is what the state was made of; where
it is wrong about who is up in this combination, it will be corrected within its bound.
"""

from itertools import product
from math import prod
from typing import NamedTuple

import msgspec

from electorate.check.column import ModelError, Row
from electorate.check.compiler import Move
from electorate.check.interned import Local, Pulse
from electorate.check.model import Model
from electorate.check.progress import LimitReached
from electorate.check.start import Beginning
from electorate.check.world import World
from electorate.trace import Setting, Start


class Met(NamedTuple):
    """A node as it was met: itself, and whom its detector trusted."""

    local: Local
    trusted: tuple[bool, ...]


def exploring(model: Model) -> Model:
    """The model of the search that meets the states: from the first boots."""
    setting: Setting = msgspec.structs.replace(model.setting, start=Start.BOOT)
    return msgspec.structs.replace(model, setting=setting, reduced=False, renames=False)


def met_at(world: World, local: int, watch: int) -> Met:
    """A node that is coded so in a world; whoever is paused goes on."""
    value = world.locals.cards[local].value
    if value.pulse is not Pulse.AWAKE:
        value = value._replace(pulse=Pulse.AWAKE)
    if not world.machine.uses_views or value.state is None:
        return Met(value, (True,) * world.n)
    return Met(value, tuple(entry.trusted for entry in world.detectors.pool.cards[watch].value))


def anywhere(world: World, met: list[set[Met]], rows_max: int) -> list[Beginning]:
    """Every combination; `met` has what was met at each node."""
    if any(claim.kind.is_safety for claim in world.claims):
        raise ModelError("from any only goals can be judged: anything may be broken there")
    count = prod(len(each) for each in met)
    if count > rows_max:
        sizes = " x ".join(f"{len(each):,}" for each in met)
        raise LimitReached(f"{sizes} = {count:,} states to begin with (--states-max)")
    ordered = [sorted(each, key=repr) for each in met]
    return [_beginning(world, nodes) for nodes in product(*ordered)]


def _beginning(world: World, nodes: tuple[Met, ...]) -> Beginning:
    columns = [world.locals.code(node.local) for node in nodes]
    columns += [world.empty] * len(world.channel_columns)
    if world.machine.uses_views:
        columns += [_watch(world, place, nodes) for place in range(world.n)]
    columns += [0] * (world.model.has_cuts + world.remembers)
    row = world.at_first((*columns, world.budgets.code(world.model.last_budget())))
    path: list[tuple[Row, Move]] = [
        (row, Move("place", place, node)) for place, node in enumerate(nodes)
    ]
    return Beginning(row, tuple(path))


def _watch(world: World, me: int, nodes: tuple[Met, ...]) -> int:
    """The detector of a node: it trusts whom it trusted, rightly or not."""
    if nodes[me].local.state is None:
        return world.detectors.blind
    entries = []
    for other, trusted in enumerate(nodes[me].trusted):
        up = nodes[other].local.state is not None and (other == me or (me, other) in world.link)
        entries.append(world.detectors.entry(trusted, right=trusted == up))
    return world.detectors.pool.code(tuple(entries))
