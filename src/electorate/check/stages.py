"""What nodes pass through in all runs of a small model: a state diagram for each role.

Of a transaction it is how far a node has come, of an election whether it leads, follows or is at
an election. Nothing of this is written down anywhere: the edges are found by a search.
"""

from collections.abc import Iterable
from enum import StrEnum
from itertools import product
from typing import Any, NamedTuple

import msgspec

from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.effort import LimitReached, Limits
from electorate.check.model import Budget, Model
from electorate.check.plain import plain_search
from electorate.check.space import StateSpace
from electorate.core import Machine, NodeId, Stage, Status, Topic, text_of
from electorate.trace import Setting, Start


class Role(StrEnum):
    """Whose diagram it is."""

    COORDINATOR = "coordinator"
    VOTER = "voter"
    NODE = "node"


class Edge(NamedTuple):
    """One state after another, at a node of this role."""

    role: Role
    before: str
    after: str


Edges = dict[Edge, set[str]]
"""What causes each edge, by the kinds of messages, the timers, and the requests."""


def budgets_of(machine: Machine[Any]) -> tuple[Budget, ...]:
    """What may happen in the runs that are searched: one crash, or one pause."""
    asks = 1 if Topic.DECISIONS in machine.tells or machine.begins_by else 0
    return Budget(asks=asks, crashes=1), Budget(asks=asks, pauses=1)


def add_edges(edges: Edges, machine: Machine[Any], model: Model, states_max: int) -> bool:
    """Add every edge that the runs of a model have; False if a limit or a bound hid some run."""
    search = plain_search(machine, model, [], Limits(states_max))
    try:
        complete = search.run(lambda progress: None)
    except LimitReached:
        complete = False
    space = search.space
    for row in search.engine.rows:
        for move, after in search.moves.successors(row):
            for place, node in enumerate(space.ids):
                if row[place] == after[place]:
                    continue
                old, new = (space.locals.cards[each[place]].standing for each in (row, after))
                if old is None or new is None:
                    continue
                edge = Edge(
                    role_of(machine, old),
                    state_of(machine, old, node),
                    state_of(machine, new, node),
                )
                if edge.before != edge.after:
                    edges.setdefault(edge, set()).add(_cause(space, row, move))
    return complete and not space.cuts


def edges_of(
    machine: Machine[Any], setting: Setting, states_max: int, budgets: Iterable[Budget]
) -> tuple[Edges, bool]:
    """Every edge with its causes, and whether all runs were seen: from boot, and once at rest."""
    edges: Edges = {}
    complete = True
    for budget, start in product(budgets, (Start.BOOT, Start.NORMAL)):
        model = Model(msgspec.structs.replace(setting, start=start), budget)
        complete &= add_edges(edges, machine, model, states_max)
    return edges, complete


def role_of(machine: Machine[Any], view: Any) -> Role:
    """Who shows such a standing."""
    if Topic.DECISIONS not in machine.tells:
        return Role.NODE
    return Role.COORDINATOR if view.coordinates else Role.VOTER


def state_of(machine: Machine[Any], view: Any, node: NodeId) -> str:
    """The state that a node shows, in one word."""
    if Topic.DECISIONS in machine.tells:
        return str(view.state)
    if view.status is not Status.NORMAL:
        return str(view.status)
    return "leads" if view.leader == node else "alone" if view.leader is None else "follows"


def first_states(machine: Machine[Any]) -> dict[Role, str]:
    """What nodes show when they have just been started for the first time."""
    views = {node: machine.view(machine.boot(node, None)[0]) for node in machine.members.ids}
    return {role_of(machine, view): state_of(machine, view, node) for node, view in views.items()}


def mermaid_of(edges: Edges, role: Role, first: str) -> str:
    """The diagram of one role, as Mermaid reads it."""
    order = {str(stage): place for place, stage in enumerate(Stage)}

    def rank(edge: Edge) -> tuple[int, str, int, str]:
        return order.get(edge.before, 0), edge.before, order.get(edge.after, 0), edge.after

    lines = [
        f"    {edge.before} --> {edge.after}: {', '.join(sorted(edges[edge]))}"
        for edge in sorted((edge for edge in edges if edge.role is role), key=rank)
    ]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {first}", *lines, ""])


def _cause(space: StateSpace, row: Row, move: Move) -> str:
    """What a move brings to its node, by the name of its kind."""
    if move.kind == "deliver":
        message = space.channels.cards[row[move.where]].value[move.what].message
        return type(message).__name__
    if move.kind == "view":
        return "another view"
    return move.kind if move.what is None else text_of(move.what)
