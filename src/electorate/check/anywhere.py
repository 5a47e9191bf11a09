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
from electorate.check.space import StateSpace
from electorate.check.start import Beginning
from electorate.trace import Setting, Start


class Met(NamedTuple):
    """A node as it was met: itself, and whom its detector trusted."""

    local: Local
    trusted: tuple[bool, ...]


def exploring(model: Model) -> Model:
    """The model of the search that meets the states: from the first boots."""
    setting: Setting = msgspec.structs.replace(model.setting, start=Start.BOOT)
    return msgspec.structs.replace(model, setting=setting, reduced=False, renames=False)


def met_at(space: StateSpace, local: int, watch: int) -> Met:
    """A node that is coded so; one that is paused goes on."""
    value = space.locals.cards[local].value
    if value.pulse is not Pulse.AWAKE:
        value = value._replace(pulse=Pulse.AWAKE)
    if not space.machine.uses_views or value.state is None:
        return Met(value, (True,) * space.n)
    return Met(value, tuple(entry.trusted for entry in space.detectors.pool.cards[watch].value))


def anywhere(space: StateSpace, met: list[set[Met]], rows_max: int) -> list[Beginning]:
    """Every combination; `met` has what was met at each node."""
    if any(claim.kind.is_safety for claim in space.claims):
        raise ModelError("from any only goals can be judged: anything may be broken there")
    count = prod(len(each) for each in met)
    if count > rows_max:
        sizes = " x ".join(f"{len(each):,}" for each in met)
        raise LimitReached(f"{sizes} = {count:,} states to begin with (--states-max)")
    ordered = [sorted(each, key=repr) for each in met]
    return [_beginning(space, nodes) for nodes in product(*ordered)]


def _beginning(space: StateSpace, nodes: tuple[Met, ...]) -> Beginning:
    columns = [space.locals.code(node.local) for node in nodes]
    columns += [space.empty] * len(space.columns.channels)
    if space.machine.uses_views:
        columns += [_watch(space, place, nodes) for place in range(space.n)]
    columns += [0] * (space.model.has_cuts + space.columns.remembers)
    row = space.at_first((*columns, space.budgets.code(space.model.last_budget())))
    path: list[tuple[Row, Move]] = [
        (row, Move("place", place, node)) for place, node in enumerate(nodes)
    ]
    return Beginning(row, tuple(path))


def _watch(space: StateSpace, me: int, nodes: tuple[Met, ...]) -> int:
    """The detector of a node: it trusts whom it trusted, rightly or not."""
    if nodes[me].local.state is None:
        return space.detectors.blind
    entries = []
    for other, trusted in enumerate(nodes[me].trusted):
        linked = other == me or (me, other) in space.columns.link
        up = linked and nodes[other].local.state is not None
        entries.append(space.detectors.entry(trusted, right=trusted == up))
    return space.detectors.pool.code(tuple(entries))
