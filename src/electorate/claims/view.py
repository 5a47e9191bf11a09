"""The claims of Park's paper: what nodes owe to those that they see.

S. Park, "A Safe Election Protocol based on an Unreliable Failure Detector in Distributed Systems",
section 2.2. Here the group of a standing is the view of its node: the nodes that it sees. A
standing that names no group is taken to see all nodes that are up.
"""

from itertools import combinations

from electorate.claims.claim import LED, Claim, Kind, Premise, Row, Witness, belief
from electorate.core import NodeId, Standing, Status, Topic


def nodes_that_see_each_other_agree(row: Row) -> Witness | None:
    """P1: any two nodes in NORMAL that see each other agree on the leader."""
    for (i, at_i), (j, at_j) in combinations(row.normal(), 2):
        if at_i.leader != at_j.leader and _sees(at_i, j) and _sees(at_j, i):
            text = f"{belief(i, at_i)}, but {belief(j, at_j)}, and they see each other"
            return Witness((i, j), text)
    return None


def live_nodes_follow_whom_they_see(row: Row) -> Witness | None:
    """P2: every live node is NORMAL, sees its live leader, and agrees with all that it sees."""
    live = dict(row.live())
    for node, standing in live.items():
        if standing.status is not Status.NORMAL:
            return Witness((node,), f"{node} is in {standing.status}")
        if standing.leader is None:
            return Witness((node,), belief(node, standing))
        if standing.leader not in live:
            return Witness((node,), f"{belief(node, standing)}, which is not up")
        if not _sees(standing, standing.leader):
            return Witness((node,), f"{belief(node, standing)}, which it does not see")
        for other, there in live.items():
            if _sees(standing, other) and there.leader != standing.leader:
                text = f"{belief(node, standing)}, but sees that {belief(other, there)}"
                return Witness((node, other), text)
    return None


def _sees(standing: Standing, node: NodeId) -> bool:
    return standing.group is None or node in standing.group


def _two_see_each_other(row: Row) -> bool:
    pairs = combinations(row.normal(), 2)
    return any(_sees(at_i, j) and _sees(at_j, i) for (i, at_i), (j, at_j) in pairs)


# If a group is a number, it does not show which nodes a node sees.
NUMBERED = frozenset({Topic.GROUPS})

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "P1",
            Kind.ALWAYS,
            "any two normal nodes that see each other agree on the leader",
            nodes_that_see_each_other_agree,
            premise=Premise("not once did two normal nodes see each other", _two_see_each_other),
            misreads=NUMBERED,
        ),
        Claim(
            "P2",
            Kind.GOAL,
            "once nothing fails any more, every live node follows a live leader that it sees, "
            "and agrees with all that it sees",
            live_nodes_follow_whom_they_see,
            premise=LED,
            misreads=NUMBERED,
        ),
    )
}
