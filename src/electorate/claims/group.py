"""The claims about groups, where not everybody need be linked to everybody.

A4 is Assertion 4 of Garcia-Molina (1982) as Souto's slides print it, and A4' (A4p on a command
line) what S. D. Stoller put in its place. S4 is what the Carnegie Mellon lecture notes "Coordinator
Election" say of group numbers.

Nodes that name no group are all in one, as in A3. But those who follow different leaders never
count as one group.
"""

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
from electorate.claims.connectivity import Connectivity
from electorate.core import NodeId, Standing, Topic, text_of

Number = tuple[int, ...]
"""What a group is known by."""


def linked_nodes_form_one_group(row: Row) -> Witness | None:
    """A4: every largest set of live nodes that are all linked is a group led from its midst."""
    live = dict(row.live())
    lack = unsettled(row)
    if lack is not None:
        return lack
    for clique in Connectivity.of(row).cliques():
        first, *others = clique
        for other in others:
            if _group(live[first]) != _group(live[other]):
                both = f"{_member(first, live[first])} and {_member(other, live[other])}"
                return Witness((first, other), f"{first} and {other} are linked, but {both}")
        leader = live[first].leader
        if leader not in clique:
            whole = f"which does not belong to {_listed(clique)}, who are linked"
            whole = whole if others else "which is not linked to it"
            return Witness((first,), f"{belief(first, live[first])}, {whole}")
    return None


def nodes_are_in_few_groups_of_leaders_in_reach(row: Row) -> Witness | None:
    """A4': every node is in the group of a leader that it can reach; there are no needless groups.

    There may be as many groups as cliques are needed to share out all live nodes.
    """
    live = dict(row.live())
    lack = unsettled(row)
    if lack is not None:
        return lack
    graph = Connectivity.of(row)
    for node, standing in live.items():
        leader = standing.leader
        assert leader is not None
        if _group(live[leader]) != _group(standing):
            both = f"{_member(node, standing)}, but {_member(leader, live[leader])}"
            return Witness((node, leader), both)
        if not graph.reach(node, leader):
            return Witness((node, leader), f"{belief(node, standing)}, which it cannot reach")
    groups: dict[tuple[Number | None, NodeId | None], list[NodeId]] = {}
    for node, standing in live.items():
        groups.setdefault(_group(standing), []).append(node)
    cover = graph.cover()
    if len(groups) <= cover:
        return None
    found = "; ".join(map(_listed, groups.values()))
    text = f"there are {len(groups)} groups where {cover} would do: {found}"
    return Witness(tuple(nodes[0] for nodes in groups.values()), text)


class Ledger(NamedTuple):
    """The group numbers of a run: who leads which now, all that were ever led, and one led anew."""

    led: frozenset[tuple[NodeId, Number]] = frozenset()
    ever: frozenset[Number] = frozenset()
    reused: tuple[NodeId, Number] | None = None

    def then(self, row: Row) -> "Ledger":
        """The ledger once this row has been seen, too."""
        led, ever, reused = set[tuple[NodeId, Number]](), set(self.ever), self.reused
        for node, standing in row.normal():
            if standing.leader == node and standing.group is not None:
                office = (node, standing.group)
                if office not in self.led and standing.group in ever:
                    reused = reused or office
                led.add(office)
                ever.add(standing.group)
        return Ledger(frozenset(led), frozenset(ever), reused)


def group_numbers_are_never_reused(row: Row, ledger: Ledger) -> Witness | None:
    """S4: every node at work is in a group, and no number is given to a group twice."""
    if ledger.reused is not None:
        node, number = ledger.reused
        return Witness((node,), f"{node} forms a group {text_of(number)}, which there was before")
    normal = dict(row.normal())
    alone = [node for node, standing in normal.items() if standing.group is None]
    if alone and len(alone) < len(normal):
        return Witness((alone[0],), f"{belief(alone[0], normal[alone[0]])}, but in no group")
    return None


def _group(standing: Standing) -> tuple[Number | None, NodeId | None]:
    return standing.group, standing.leader


def _member(node: NodeId, standing: Standing) -> str:
    group = "" if standing.group is None else f" in group {text_of(standing.group)}"
    return f"{node} follows {standing.leader}{group}"


def _listed(nodes: list[NodeId] | tuple[NodeId, ...]) -> str:
    *most, last = map(str, nodes)
    return f"{', '.join(most)} and {last}" if most else last


CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "A4",
            Kind.GOAL,
            "once nothing fails any more, live nodes that are all linked to each other end as one "
            "group, which one of them leads",
            linked_nodes_form_one_group,
            premise=LED,
        ),
        Claim(
            "A4p",
            Kind.GOAL,
            "A4': once nothing fails any more, every live node ends in the group of a leader that "
            "it can reach, and there are no more groups than a minimum clique cover has cliques",
            nodes_are_in_few_groups_of_leaders_in_reach,
            premise=LED,
        ),
        Claim(
            "S4",
            Kind.ALWAYS,
            "every node at work is in exactly one group, and group numbers are never reused",
            group_numbers_are_never_reused,
            Fold(Ledger(), Ledger.then),
            premise=Premise(
                "not once did anybody lead a group", lambda row: bool(Ledger().then(row).led)
            ),
            about=frozenset({Topic.GROUPS}),
        ),
    )
}
