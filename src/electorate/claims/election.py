"""The claims about elections, under the names that the literature gives them.

A1, A2 and A3 are the assertions of Garcia-Molina (1982) as Souto's slides print them; S1 and L0 are
the safety and the liveness that Albano's slides require, S2 is the safety of Park's paper. S3 and
L1 are what Gupta's slides call the safety and the liveness of an election on a ring: everyone knows
the process with the highest attribute, and election terminates. L2 is the fairness that Souto's
slides ask of mutual exclusion and not of an election.
"""

from itertools import combinations
from typing import NamedTuple

from electorate.claims.claim import (
    LED,
    Claim,
    Fold,
    Kind,
    Premise,
    Row,
    Witness,
    belief,
    unsettled,
)
from electorate.core import NodeId, Standing, Status, text_of

Nodes = frozenset[NodeId]


def normal_nodes_agree(row: Row) -> Witness | None:
    """A1: any two nodes in NORMAL agree on the leader."""
    for (i, at_i), (j, at_j) in combinations(row.normal(), 2):
        if at_i.leader != at_j.leader:
            return Witness((i, j), f"{belief(i, at_i)}, but {belief(j, at_j)}")
    return None


def live_nodes_follow_one_live_leader(row: Row) -> Witness | None:
    """A2: every live node is NORMAL with the same live leader."""
    return unsettled(row) or normal_nodes_agree(row)


def normal_nodes_of_one_group_agree(row: Row) -> Witness | None:
    """A3: any two nodes in NORMAL that are in the same group agree on the leader."""
    for (i, at_i), (j, at_j) in combinations(row.normal(), 2):
        if at_i.group == at_j.group and at_i.leader != at_j.leader:
            shared = "" if at_i.group is None else f", both in group {text_of(at_i.group)}"
            return Witness((i, j), f"{belief(i, at_i)}, but {belief(j, at_j)}{shared}")
    return None


def leader_is_the_strongest_live_node(row: Row) -> Witness | None:
    """S1: a node that believes in a leader believes in the strongest node that is up."""
    live = dict(row.live())
    for node, standing in live.items():
        strongest, leader = row.members.strongest_of(live), standing.leader
        if leader is None:
            continue
        if leader not in live or row.members.is_stronger(strongest, leader):
            text = f"{belief(node, standing)}, but the strongest live node is {strongest}"
            return Witness((node, strongest) if node != strongest else (node,), text)
    return None


def live_nodes_follow_the_strongest(row: Row) -> Witness | None:
    """S3: every live node is NORMAL and follows the strongest node that is up."""
    return unsettled(row) or leader_is_the_strongest_live_node(row)


def at_most_one_node_leads(row: Row) -> Witness | None:
    """S2: at most one node considers itself the leader."""
    leaders = tuple(node for node, standing in row.normal() if standing.leader == node)
    if len(leaders) < 2:
        return None
    return Witness(leaders, " and ".join(map(str, leaders)) + " each consider themselves leader")


def live_nodes_have_a_leader(row: Row) -> Witness | None:
    """L0: every live node believes in some leader, if need be each in another, or in a dead one."""
    for node, standing in row.live():
        if standing.leader is None:
            return Witness((node,), f"{node} is in {standing.status} and has no leader")
    return None


def _enters(standing: Standing) -> bool:
    """Whether a node is in an election."""
    return standing.status is not Status.NORMAL or standing.leader is None


class Starts(NamedTuple):
    """The elections of a run that have begun and not ended."""

    leading: Nodes = frozenset()
    """The nodes that consider themselves leader."""
    open: frozenset[tuple[NodeId, Nodes]] = frozenset()
    """The nodes that have entered an election and are still to be answered; and those that took
    office since."""

    def then(self, row: Row) -> "Starts":
        """The same after this row."""
        leading = frozenset(node for node, view in row.normal() if view.leader == node)
        elected = leading - self.leading
        since = {node: before | elected for node, before in self.open}
        still: set[tuple[NodeId, Nodes]] = set()
        for node, standing in row.live():
            if _enters(standing) or (node in since and standing.leader not in since[node]):
                still.add((node, since.get(node, frozenset())))
        return Starts(leading, frozenset(still))


def every_start_is_answered(row: Row, starts: Starts) -> Witness | None:
    """L1: a node that has entered an election follows a node that took office after that."""
    live = dict(row.live())
    for node, _ in sorted(starts.open):
        standing = live[node]
        if standing.status is not Status.NORMAL:
            return Witness((node,), f"{node} is in {standing.status}, and nobody answers")
        late = "which has not been elected since it asked"
        return Witness((node,), f"{belief(node, standing)}, {late}")
    return None


class Wishes(NamedTuple):
    """The nodes that have waited in a run, and those of them that have led since."""

    waited: Nodes = frozenset()
    led: Nodes = frozenset()

    def then(self, row: Row) -> "Wishes":
        """The same after this row. A node that goes down wishes nothing any more."""
        live = dict(row.live())
        waiting = {node for node, view in live.items() if view.status is Status.ELECTION}
        leading = {node for node, view in row.normal() if view.leader == node}
        waited = (self.waited | waiting) & live.keys()
        return Wishes(frozenset(waited), frozenset((self.led | leading) & waited))


def everybody_has_a_turn(_: Row, wishes: Wishes) -> Witness | None:
    """L2: a node that has entered an election leads at some time."""
    waiting = tuple(sorted(wishes.waited - wishes.led))
    return Witness(waiting[:1], f"{waiting[0]} has never had its turn") if waiting else None


def _two_of_one_group(row: Row) -> bool:
    groups = [standing.group for _, standing in row.normal()]
    return len(set(groups)) < len(groups)


TWO_NORMAL = Premise("not once were two nodes normal", lambda row: sum(1 for _ in row.normal()) > 1)
TWO_OF_ONE_GROUP = Premise("not once were two nodes of one group normal", _two_of_one_group)
FOLLOWED = Premise(
    "not once did anybody follow a leader",
    lambda row: any(view.leader is not None for _, view in row.live()),
)
ENTERED = Premise(
    "not once was anybody in an election", lambda row: any(_enters(view) for _, view in row.live())
)
WAITED = Premise(
    "not once did anybody wait",
    lambda row: any(view.status is Status.ELECTION for _, view in row.live()),
)

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "A1",
            Kind.ALWAYS,
            "any two normal nodes agree on the leader",
            normal_nodes_agree,
            premise=TWO_NORMAL,
        ),
        Claim(
            "A2",
            Kind.GOAL,
            "once nothing fails any more, every live node ends normal with the same live leader",
            live_nodes_follow_one_live_leader,
            premise=LED,
        ),
        Claim(
            "A3",
            Kind.ALWAYS,
            "any two normal nodes of one group agree on the leader",
            normal_nodes_of_one_group_agree,
            premise=TWO_OF_ONE_GROUP,
        ),
        Claim(
            "S1",
            Kind.ALWAYS,
            "a node that believes in a leader believes in the strongest live node",
            leader_is_the_strongest_live_node,
            premise=FOLLOWED,
        ),
        Claim(
            "S2",
            Kind.ALWAYS,
            "at most one node considers itself leader",
            at_most_one_node_leads,
            premise=LED,
        ),
        Claim(
            "S3",
            Kind.GOAL,
            "once nothing fails any more, every live node ends normal and follows the strongest",
            live_nodes_follow_the_strongest,
            premise=LED,
        ),
        Claim(
            "L0",
            Kind.GOAL,
            "once nothing fails any more, every live node has some leader",
            live_nodes_have_a_leader,
            premise=FOLLOWED,
        ),
        Claim(
            "L1",
            Kind.GOAL,
            "once nothing fails any more, whoever has entered an election follows a node that "
            "was elected since",
            every_start_is_answered,
            Fold(Starts(), Starts.then),
            premise=ENTERED,
        ),
        Claim(
            "L2",
            Kind.GOAL,
            "once nothing fails any more, a node that has entered an election leads at some time",
            everybody_has_a_turn,
            Fold(Wishes(), Wishes.then),
            premise=WAITED,
        ),
    )
}
