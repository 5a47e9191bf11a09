"""The claims about the task: how far the work has come that a leader coordinates.

After the Carnegie Mellon lecture notes "Coordinator Election". T1 is what they say of Bully: a new
coordinator hands out the state of the task, and then everyone agrees about it. T2 is what they say
of groups: the state is consistent within a group, and need not be among groups. T3 and T4 say that
no work that was done gets lost: neither in an election nor where groups merge.
"""

from collections.abc import Hashable
from itertools import combinations, repeat
from typing import Any, NamedTuple

from electorate.claims.claim import Claim, Fold, Kind, Premise, Row, Sight, Witness
from electorate.core import NodeId, Standing, Status, Topic, text_of

Office = tuple[NodeId | None, tuple[int, ...] | None]
"""A leader, and the number of its group if groups have any."""


class HandedOut(NamedTuple):
    """What leaders have known of the task since they took office."""

    held: frozenset[Office] = frozenset()
    """The offices that are held now."""
    known: frozenset[tuple[Office, frozenset[Hashable]]] = frozenset()
    """All that was known in each office, the last time that it was held."""

    def then(self, row: Row) -> "HandedOut":
        """The same after this row."""
        known, held = dict(self.known), set[Office]()
        for node, standing, task in _live(row):
            if standing.leader == node:
                office = _office(standing)
                held.add(office)
                earlier = known.get(office, frozenset()) if office in self.held else frozenset()
                known[office] = earlier | {task}
        return HandedOut(frozenset(held), frozenset(known.items()))


def followers_know_what_their_leader_handed_out(row: Row, handed: HandedOut) -> Witness | None:
    """T1: a node at work knows the task as its leader has known it in this office."""
    known = dict(handed.known)
    for node, standing, task in _normal(row):
        led = known.get(_office(standing))
        if led is not None and task not in led:
            had = " and ".join(sorted(map(text_of, led)))
            text = (
                f"{node} has the task at {text_of(task)}, but its leader {standing.leader} at {had}"
            )
            return Witness((node,), text)
    return None


def groups_know_the_same(row: Row) -> Witness | None:
    """T2: any two nodes at work in one group know the task to be in the same state."""
    for one, other in combinations(_normal(row), 2):
        if one[1].group == other[1].group and one[2] != other[2]:
            group = one[1].group
            shared = "" if group is None else f", both in group {text_of(group)}"
            return _differing(one, other, shared)
    return None


def nobody_goes_back(before: Row, row: Row) -> Witness | None:
    """T3: in one life a node never takes up the task behind where it was."""
    old: dict[NodeId, Any] = {node: task for node, _, task in _live(before)}
    for node, _, task in _live(row):
        if old.get(node) is not None and not old[node] <= task:
            was, now = text_of(old[node]), text_of(task)
            return Witness((node,), f"{node} goes back from the task at {was} to {now}")
    return None


def linked_nodes_know_the_same(row: Row) -> Witness | None:
    """T4: any two live nodes that are linked know the task to be in the same state."""
    for one, other in combinations(_live(row), 2):
        if row.linked(one[0], other[0]) and one[2] != other[2]:
            return _differing(one, other, ", and they are linked")
    return None


Known = tuple[NodeId, Standing, Hashable]
"""A live node, its standing, and how far it knows the task to be."""


def _live(row: Row) -> list[Known]:
    told = zip(row.members.ids, row.standings, row.tasks or repeat(None), strict=False)
    return [(node, view, task) for node, view, task in told if view is not None]


def _normal(row: Row) -> list[Known]:
    return [each for each in _live(row) if each[1].status is Status.NORMAL]


def _office(standing: Standing) -> Office:
    return standing.leader, standing.group


def _differing(one: Known, other: Known, why: str) -> Witness:
    (i, _, at_i), (j, _, at_j) = one, other
    text = f"{i} has the task at {text_of(at_i)}, but {j} at {text_of(at_j)}{why}"
    return Witness((i, j), text)


HANDED = Premise(
    "not once did anybody follow a leader and know of work that was done",
    lambda row: any(view.leader not in (None, node) and task for node, view, task in _normal(row)),
)
DONE = Premise("not once was any work done", lambda row: any(task for _, _, task in _live(row)))
TASKS: dict[str, Any] = {
    "sights": frozenset({Sight.TASKS}),
    "about": frozenset({Topic.TASKS}),
}

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "T1",
            Kind.ALWAYS,
            "every node at work knows the task as its leader has known it in this office",
            followers_know_what_their_leader_handed_out,
            Fold(HandedOut(), HandedOut.then),
            premise=HANDED,
            **TASKS,
        ),
        Claim(
            "T2",
            Kind.ALWAYS,
            "any two nodes at work in one group know the task to be in the same state",
            groups_know_the_same,
            premise=HANDED,
            **TASKS,
        ),
        Claim(
            "T3",
            Kind.STEP,
            "as long as a node is up, the task as it knows it never goes back",
            nobody_goes_back,
            premise=DONE,
            **TASKS,
        ),
        Claim(
            "T4",
            Kind.GOAL,
            "once nothing fails any more, live nodes that are linked to each other end with the "
            "task in the same state",
            linked_nodes_know_the_same,
            premise=DONE,
            **TASKS,
        ),
    )
}
