"""The claims about elections, under the names that the literature gives them.

A1, A2 and A3 are the assertions of Garcia-Molina (1982) as Souto's slides print them; S1 is the
safety requirement on Albano's slides, S2 that of Park's paper.
"""

from itertools import combinations

from electorate.claims.claim import Claim, Kind, Row, Witness
from electorate.core import NodeId, Standing, Status, text_of


def normal_nodes_agree(row: Row) -> Witness | None:
    """A1: any two nodes in NORMAL agree on the leader."""
    for (i, at_i), (j, at_j) in combinations(row.normal(), 2):
        if at_i.leader != at_j.leader:
            return Witness((i, j), f"{_belief(i, at_i)}, but {_belief(j, at_j)}")
    return None


def live_nodes_follow_one_live_leader(row: Row) -> Witness | None:
    """A2: every live node is NORMAL with the same live leader."""
    live = dict(row.live())
    for node, standing in live.items():
        if standing.status is not Status.NORMAL:
            return Witness((node,), f"{node} is in {standing.status}")
        if standing.leader is None:
            return Witness((node,), _belief(node, standing))
        if standing.leader not in live:
            return Witness((node,), f"{_belief(node, standing)}, which is not up")
    return normal_nodes_agree(row)


def normal_nodes_of_one_group_agree(row: Row) -> Witness | None:
    """A3: any two nodes in NORMAL that are in the same group agree on the leader."""
    for (i, at_i), (j, at_j) in combinations(row.normal(), 2):
        if at_i.group == at_j.group and at_i.leader != at_j.leader:
            shared = "" if at_i.group is None else f", both in group {text_of(at_i.group)}"
            return Witness((i, j), f"{_belief(i, at_i)}, but {_belief(j, at_j)}{shared}")
    return None


def leader_is_the_strongest_live_node(row: Row) -> Witness | None:
    """S1: who believes in a leader believes in the strongest node that is up."""
    live = dict(row.live())
    for node, standing in live.items():
        strongest = row.members.strongest_of(live)
        if standing.leader is not None and standing.leader != strongest:
            text = f"{_belief(node, standing)}, but the strongest live node is {strongest}"
            return Witness((node, strongest) if node != strongest else (node,), text)
    return None


def at_most_one_node_leads(row: Row) -> Witness | None:
    """S2: at most one node considers itself the leader."""
    leaders = tuple(node for node, standing in row.normal() if standing.leader == node)
    if len(leaders) < 2:
        return None
    return Witness(leaders, " and ".join(map(str, leaders)) + " each consider themselves leader")


def _belief(node: NodeId, standing: Standing) -> str:
    leader = "nobody" if standing.leader is None else standing.leader
    return f"{node} is {standing.status} and follows {leader}"


CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim("A1", Kind.ALWAYS, "any two normal nodes agree on the leader", normal_nodes_agree),
        Claim(
            "A2",
            Kind.GOAL,
            "once nothing fails any more, every live node ends normal with the same live leader",
            live_nodes_follow_one_live_leader,
        ),
        Claim(
            "A3",
            Kind.ALWAYS,
            "any two normal nodes of one group agree on the leader",
            normal_nodes_of_one_group_agree,
        ),
        Claim(
            "S1",
            Kind.ALWAYS,
            "whoever believes in a leader believes in the strongest live node",
            leader_is_the_strongest_live_node,
        ),
        Claim(
            "S2", Kind.ALWAYS, "at most one node considers itself leader", at_most_one_node_leads
        ),
    )
}
