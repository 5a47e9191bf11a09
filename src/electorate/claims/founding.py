"""The claims about founding: who is of the same cluster, and that there is one in the end."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from electorate.claims.claim import Claim, Fold, Kind, Premise, Row, Sight, Witness
from electorate.core import NodeId, Topic, Value


class KnownCluster(Value):
    """What a node has known of the cluster that it has founded."""

    node: NodeId
    cluster: str
    founders: tuple[NodeId, ...]


History = frozenset[KnownCluster]


def _founded(history: History, row: Row) -> History:
    """All clusters that nodes have ever known to be founded."""
    return history | {
        KnownCluster(node, stable.foundation.cluster, stable.founders)
        for node, stable in _stables(row)
        if stable.is_founded
    }


def nodes_are_of_one_cluster_if_they_share_a_founder(row: Row, history: History) -> Witness | None:
    """D5: two founded nodes are of the same cluster exactly if they share a founder."""
    ordered = sorted(history, key=lambda known: (known.node, known.cluster))
    for one, other in combinations(ordered, 2):
        shared = sorted({*one.founders} & {*other.founders})
        if bool(shared) is (one.cluster == other.cluster):
            continue
        apart = f"share founder {shared[0]}, and are not" if shared else "share no founder, and are"
        text = f"{one.node} and {other.node} {apart} of the same cluster"
        return Witness(tuple(sorted({one.node, other.node})), text)
    return None


def clusters_are_founded(row: Row) -> Witness | None:
    """D6: founders that all live and have given their word for one list know that it is founded."""
    stables = dict(_stables(row))
    for node, stable in stables.items():
        others = [stables.get(j) for j in stable.founders]
        agree = all(each is not None and each.founders == stable.founders for each in others)
        if stable.founders and agree and not stable.is_founded:
            return Witness((node,), f"{node} does not know that its cluster is founded")
    return None


def _stables(row: Row) -> Iterator[tuple[NodeId, Any]]:
    """What every live node has saved; beside other machines its part is called founding."""
    for node, state in zip(row.members.ids, row.states, strict=False):
        if state is not None:
            yield node, getattr(state, "founding", state).stable


GIVEN = Premise(
    "not once had a founder given its word",
    lambda row: any(stable.founders for _, stable in _stables(row)),
)
FOUNDED = Premise(
    "not once was a cluster founded",
    lambda row: any(stable.is_founded for _, stable in _stables(row)),
)
FOUNDERS = frozenset({Topic.FOUNDERS})
SEEN = frozenset({Sight.STATES})

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "D5",
            Kind.ALWAYS,
            "two nodes whose clusters are founded are of the same cluster exactly if they share a "
            "founder",
            nodes_are_of_one_cluster_if_they_share_a_founder,
            Fold(frozenset(), _founded),
            SEEN,
            GIVEN,
            FOUNDERS,
        ),
        Claim(
            "D6",
            Kind.GOAL,
            "once nothing changes any more, founders that have all given their word for the same "
            "list know that their cluster is founded",
            clusters_are_founded,
            sights=SEEN,
            premise=GIVEN,
            about=FOUNDERS,
        ),
    )
}
