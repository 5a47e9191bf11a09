"""The claims about groups, where not everybody need be linked to everybody.

A4 is Assertion 4 of Garcia-Molina (1982) as Souto's slides print it, and A4' (A4p on a command
line) what S. D. Stoller put in its place. S4 is what the Carnegie Mellon lecture notes "Coordinator
Election" say of group numbers. G1 and G2 are our own: what an application needs that reconciles
what groups have done apart, and that says which node is to lead them.

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
from electorate.core import GroupStanding, NodeId, Standing, Status, Topic, text_of

Number = tuple[int, ...]
"""The leader of a group, and its number."""
Owed = frozenset[tuple[NodeId, NodeId]]
"""Nodes that have come from another group, each with the node that led that one."""


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


class GroupNumbers(NamedTuple):
    """The group numbers of a run: which are led now, all that were ever led, and one led anew."""

    led: frozenset[tuple[NodeId, Number]] = frozenset()
    ever: frozenset[Number] = frozenset()
    reused: tuple[NodeId, Number] | None = None

    def then(self, row: Row) -> "GroupNumbers":
        """The numbers after this row."""
        led, ever, reused = set[tuple[NodeId, Number]](), set(self.ever), self.reused
        for node, standing in row.normal():
            if standing.leader == node and standing.group is not None:
                office = (node, standing.group)
                if office not in self.led and standing.group in ever:
                    reused = reused or office
                led.add(office)
                ever.add(standing.group)
        return GroupNumbers(frozenset(led), frozenset(ever), reused)


def group_numbers_are_never_reused(row: Row, ledger: GroupNumbers) -> Witness | None:
    """S4: every node at work is in a group, and no number is given to a group twice."""
    if ledger.reused is not None:
        node, number = ledger.reused
        return Witness((node,), f"{node} forms a group {text_of(number)}, which there was before")
    normal = dict(row.normal())
    alone = [node for node, standing in normal.items() if standing.group is None]
    if alone and len(alone) < len(normal):
        return Witness((alone[0],), f"{belief(alone[0], normal[alone[0]])}, but in no group")
    return None


class Stay(NamedTuple):
    """The group that a node is in, or was in last, and the one before that."""

    group: Number | None = None
    before: Number | None = None
    first: Owed = frozenset()
    """The newcomers that it showed when it came into this group."""
    owed: Owed = frozenset()
    """Those that it showed last."""
    left: Owed = frozenset()
    """Those that it showed when it left the group before."""

    def then(self, standing: Standing | None) -> "Stay":
        """The same after this; a node that is down or between two groups has none."""
        if standing is None or standing.group is None:
            return self
        shown = frozenset(standing.owed if isinstance(standing, GroupStanding) else ())
        if standing.group == self.group:
            return self if shown == self.owed else self._replace(owed=shown)
        return Stay(standing.group, self.group, shown, shown, self.owed)


Stays = tuple[Stay, ...]


def remember_stays(stays: Stays, row: Row) -> Stays:
    """Where each node, in order of id, has been after this row."""
    known = stays or (Stay(),) * len(row.standings)
    return tuple(stay.then(view) for stay, view in zip(known, row.standings, strict=True))


def newcomers_are_told_until_dealt_with(row: Row, stays: Stays) -> Witness | None:
    """G1: a leader is told who of its group has come from another, and nobody else.

    Those that were not dealt with in one group are told of again in the next. Whether somebody has
    come is seen once it is in the new group, too: by then it has told where it was before.
    """
    live, where = dict(row.live()), dict(zip(row.members.ids, stays, strict=True))
    for leader, standing in live.items():
        if not isinstance(standing, GroupStanding) or leader not in standing.members:
            continue
        mine = where[leader]
        for node in standing.members:
            its = where[node]
            both_known = None not in (its.before, mine.before)
            if node == leader or its.group != mine.group or not both_known:
                continue
            lack = _untold(leader, node, mine, its)
            if lack:
                return Witness((leader, node), lack)
    return None


def _untold(leader: NodeId, node: NodeId, mine: Stay, its: Stay) -> str:
    """What a leader was told wrongly of a node that is in its group; empty if nothing."""
    assert its.before is not None
    assert its.group is not None
    told = {came for came in mine.first if came[0] == node}
    if its.before == mine.before:
        right = {came for came in mine.left if came[0] == node}
        why = "comes from the same group as its leader"
    else:
        right = {(node, its.before[0])}
        why = f"comes from group {text_of(its.before)}"
    if told == right:
        return ""
    so = text_of(frozenset(told)) if told else "nothing"
    return f"{leader} leads group {text_of(its.group)} and is told {so} of {node}, which {why}"


def whole_parts_are_led_by_their_strongest(row: Row) -> Witness | None:
    """G2: nodes that are all linked, and to nobody else, are one group of the strongest of them.

    The strongest is the one of the highest priority, then by rank, and takes just these for its
    group. Where nobody stands, nobody leads.
    """
    live = dict(row.live())
    graph = Connectivity.of(row)
    for part in graph.parts():
        if graph.centres(part) != part:
            continue
        stand = {node: wish for node in part if (wish := _priority(live[node]))}
        if not stand:
            for node in part:
                if live[node].leader is not None:
                    return Witness((node,), f"nobody stands, but {belief(node, live[node])}")
            continue
        best = max(stand, key=lambda node: (stand[node], row.members.rank(node)[1]))
        for node in part:
            view = live[node]
            follows = view.status is Status.NORMAL and view.leader == best
            if not follows or _group(view) != _group(live[best]):
                strongest = f"{best} is the strongest of {_listed(part)}"
                return Witness((node, best), f"{strongest}, but {belief(node, view)}")
        led = live[best]
        if isinstance(led, GroupStanding) and led.members != part:
            both = f"{_listed(part)}, and takes {_listed(led.members)} for its group"
            return Witness((best,), f"{best} leads {both}")
    return None


def _priority(standing: Standing) -> int:
    """The priority with which a node stands; all are alike if that never changes."""
    return 1 if standing.priority is None else standing.priority


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
            Fold(GroupNumbers(), GroupNumbers.then),
            premise=Premise(
                "not once did anybody lead a group", lambda row: bool(GroupNumbers().then(row).led)
            ),
            about=frozenset({Topic.GROUPS}),
        ),
        Claim(
            "G1",
            Kind.ALWAYS,
            "a leader is told which nodes of its group have come from another, and who led that "
            "one, until they have been dealt with",
            newcomers_are_told_until_dealt_with,
            Fold((), remember_stays),
            premise=Premise(
                "not once was a leader told of a newcomer",
                lambda row: any(
                    isinstance(view, GroupStanding) and bool(view.owed) for _, view in row.live()
                ),
            ),
            about=frozenset({Topic.NEWCOMERS}),
        ),
        Claim(
            "G2",
            Kind.GOAL,
            "once nothing fails any more, nodes that are all linked to each other and to nobody "
            "else end as one group, led by the one of them with the highest priority, which knows "
            "who is in it; where all have priority 0 nobody leads",
            whole_parts_are_led_by_their_strongest,
            premise=LED,
            about=frozenset({Topic.GROUPS, Topic.CANDIDATES}),
        ),
    )
}
