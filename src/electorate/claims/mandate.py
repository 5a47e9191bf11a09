"""The claims about mandates: what a token is good for, and what an office is.

A node is in office while its own standing names it as the leader and the timer that ends its term
is running. Entering is coming into office. A claim is sent in the turn that saves a promise to
oneself, whose epoch is the token that is claimed.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from electorate.claims.claim import Claim, Fold, Kind, Premise, Row, Sight, Witness
from electorate.core import NodeId, Standing, Topic, Value


class EnteredTerm(Value):
    """A term that some node has entered."""

    token: int
    holder: NodeId
    is_over: bool = False


class Entries(Value):
    """Every term that was entered so far, and the first token that was entered again."""

    terms: frozenset[EnteredTerm] = frozenset()
    again: EnteredTerm | None = None
    before: EnteredTerm | None = None


class TokenOrder(Value):
    """The highest token entered so far, and the claims for tokens that are not above it."""

    highest: int = 0
    claims: frozenset[tuple[NodeId, int]] = frozenset()
    """The claims that can be seen now, as far as they were sent in time."""
    late: frozenset[tuple[NodeId, int]] = frozenset()


def holders(row: Row) -> Iterator[tuple[NodeId, int]]:
    """The nodes in office, with their tokens."""
    for node, standing in row.live():
        if standing.leader == node and standing.token is not None:
            yield node, standing.token


def _entered(known: Entries, row: Row) -> Entries:
    if known.again is not None:
        return known
    now = {EnteredTerm(token, node) for node, token in holders(row)}
    terms = {
        term if term in now else EnteredTerm(term.token, term.holder, is_over=True)
        for term in known.terms
    }
    for new in sorted(now - terms, key=lambda term: term.holder):
        before = next((term for term in terms if term.token == new.token), None)
        if before is not None:
            return Entries(frozenset(terms), new, before)
        terms.add(new)
    return Entries(frozenset(terms))


def no_token_is_entered_twice(row: Row, known: Entries) -> Witness | None:
    """M1: a token is good for one term."""
    if known.again is None or known.before is None:
        return None
    node, other = known.again.holder, known.before.holder
    ended = ", whose term had ended" if known.before.is_over else ""
    text = f"{node} entered with token {known.again.token}, as did {other} before{ended}"
    return Witness((node,) if node == other else (node, other), text)


def no_term_comes_back(row: Row, known: Entries) -> Witness | None:
    """M4: a node that was in office with a token, and then was not, never is again."""
    again, before = known.again, known.before
    if again is None or before is None or again.holder != before.holder:
        return None
    text = f"the term of {again.holder} with token {again.token} had run out, and is back"
    return Witness((again.holder,), text)


def _ordered(known: TokenOrder, row: Row) -> TokenOrder:
    claims = frozenset(_claims(row))
    fresh = claims - known.claims - known.late
    late = {(node, token) for node, token in fresh if token <= known.highest}
    highest = max([known.highest, *(token for _, token in holders(row))])
    return TokenOrder(highest, claims & known.claims | fresh - late, claims & known.late | late)


def _claims(row: Row) -> Iterator[tuple[NodeId, int]]:
    """The nodes that have promised themselves a token."""
    for node, stable in zip(row.members.ids, row.stables, strict=False):
        promise = getattr(stable, "promise", None)
        if promise is not None and promise.holder == node:
            yield node, promise.epoch


def tokens_exceed_those_before_their_claim(row: Row, known: TokenOrder) -> Witness | None:
    """M2: a token is larger than every token entered before its claim was sent."""
    for node, token in holders(row):
        if (node, token) in known.late:
            text = f"{node} is in office with token {token}, which it claimed after "
            return Witness((node,), f"{text}a token that is not smaller had been entered")
    return None


def _highest(known: int, row: Row) -> int:
    return max([known, *(token for _, token in holders(row))])


def one_term_at_a_time(row: Row, highest: int) -> Witness | None:
    """M3: no two nodes are in office at once, and terms follow one another in token order."""
    now = list(holders(row))
    if len(now) > 1:
        nodes = tuple(node for node, _ in now)
        offices = " and ".join(f"{node} with token {token}" for node, token in now)
        return Witness(nodes, f"{offices} are in office at once")
    for node, token in now:
        if token < highest:
            return Witness((node,), f"{node} is in office with token {token}, after {highest}")
    return None


def somebody_is_in_office(row: Row) -> Witness | None:
    """M5: if a node that may lead reaches a majority, somebody is in office.

    A majority of the newest list that is known in its reach, and of the one before if that is not
    decided.
    """
    if any(standing.leader == holder for holder, standing in row.live()):
        return None
    for node in _able(row):
        return Witness((node,), f"{node} reaches a majority, and nobody is in office")
    return None


def _able(row: Row) -> Iterator[NodeId]:
    """The nodes that may lead and reach a majority."""
    live = dict(row.live())
    for node, standing in live.items():
        reached = {other for other in live if other == node or row.linked(node, other)}
        lists = _newest(row, reached)
        is_able = not _is_witness(row, node, standing) and node in lists[-1]
        if is_able and all(2 * len(reached & {*members}) > len(members) for members in lists):
            yield node


Lists = tuple[tuple[NodeId, ...], tuple[NodeId, ...]]


def _newest(row: Row, nodes: Iterable[NodeId]) -> Lists:
    """The newest list of members that one of these has, after the one before it."""
    known = (_roster(row, node) for node in nodes)
    changing = [roster for roster in known if roster is not None and roster.new]
    if not changing:
        return (row.members.ids, row.members.ids)
    newest = max(changing, key=lambda roster: (roster.version, not roster.is_pending))
    return (newest.old, newest.new)


def _roster(row: Row, node: NodeId) -> Any:
    """The list of members that a node has saved; None if members never change."""
    stable = row.stables[row.members.ids.index(node)] if row.stables else None
    return getattr(stable, "roster", None)


def _members_in_reach(row: Row, holder: NodeId) -> Iterator[tuple[NodeId, Standing]]:
    """The members by the list of a holder that can be reached from these nodes."""
    members = _newest(row, (holder,))[-1]
    for node, standing in row.live():
        if node == holder or (node in members and row.linked(holder, node)):
            yield node, standing


def the_members_are_decided(row: Row) -> Witness | None:
    """M6: a holder is a member; it, and all members it reaches, know of no open change."""
    for holder, _ in holders(row):
        if holder not in _newest(row, (holder,))[-1]:
            return Witness((holder,), f"{holder} is in office, and is no member")
        for node, _ in _members_in_reach(row, holder):
            roster = _roster(row, node)
            if roster is not None and roster.is_pending:
                who = "its" if node == holder else f"to {node} a"
                text = f"{holder} is in office, and {who} change of members is undecided"
                return Witness((holder,) if node == holder else (holder, node), text)
    return None


def the_holder_is_known(row: Row) -> Witness | None:
    """M7: a holder is followed by every member that it reaches."""
    for holder, token in holders(row):
        for node, standing in _members_in_reach(row, holder):
            if (standing.leader, standing.token) != (holder, token):
                text = f"{holder} is in office with token {token}, and {node} does not know it"
                return Witness((holder, node), text)
    return None


def the_holder_stands(row: Row) -> Witness | None:
    """M8: a holder stands for its office."""
    for node, standing in row.live():
        if standing.leader == node and standing.priority == 0:
            return Witness((node,), f"{node} is in office, and does not stand for it")
    return None


def the_holder_is_not_outranked(row: Row) -> Witness | None:
    """M9: no node that may lead, and reaches a majority and the holder, has a higher priority."""
    live = dict(row.live())
    for holder, _ in holders(row):
        highest = live[holder].priority
        for node in _able(row):
            higher = live[node].priority
            if highest is None or higher is None or not row.linked(node, holder):
                continue
            if higher > highest:
                text = f"{holder} is in office with priority {highest}, and {node} has {higher}"
                return Witness((holder, node), text)
    return None


def _is_witness(row: Row, node: NodeId, standing: Standing) -> bool:
    """Whether a node only votes: it does not stand, or has attribute 0 where others have one."""
    if standing.priority is not None:
        return not standing.priority
    return any(row.members.attributes) and not row.members.attribute(node)


def _a_claim_led_to_office(row: Row) -> bool:
    return not set(holders(row)).isdisjoint(_claims(row))


def _a_holder_reaches_another(row: Row) -> bool:
    return any(len([*_members_in_reach(row, holder)]) > 1 for holder, _ in holders(row))


IN_OFFICE = Premise("not once was anybody in office", lambda row: any(True for _ in holders(row)))
CLAIMED = Premise(
    "not once was anybody in office with a token that it had claimed", _a_claim_led_to_office
)
ABLE = Premise(
    "not once did a node that may lead reach a majority", lambda row: any(True for _ in _able(row))
)
IN_REACH = Premise("not once did anybody in office reach another member", _a_holder_reaches_another)

TERMS = frozenset({Topic.TERMS})
CANDIDATES = frozenset({Topic.TERMS, Topic.CANDIDATES})

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "M1",
            Kind.ALWAYS,
            "no token is entered twice",
            no_token_is_entered_twice,
            Fold(Entries(), _entered),
            premise=IN_OFFICE,
            about=TERMS,
        ),
        Claim(
            "M2",
            Kind.ALWAYS,
            "a token is larger than every token entered before its claim was sent",
            tokens_exceed_those_before_their_claim,
            Fold(TokenOrder(), _ordered),
            frozenset({Sight.STABLES}),
            CLAIMED,
            TERMS,
        ),
        Claim(
            "M3",
            Kind.ALWAYS,
            "no two nodes are in office at once, and terms follow one another in token order",
            one_term_at_a_time,
            Fold(0, _highest),
            premise=IN_OFFICE,
            about=TERMS,
        ),
        Claim(
            "M4",
            Kind.ALWAYS,
            "a term that has run out never comes back",
            no_term_comes_back,
            Fold(Entries(), _entered),
            premise=IN_OFFICE,
            about=TERMS,
        ),
        Claim(
            "M5",
            Kind.GOAL,
            "once nothing fails any more, and if a node reaches a majority, somebody is in office",
            somebody_is_in_office,
            sights=frozenset({Sight.STABLES}),
            premise=ABLE,
            about=TERMS,
        ),
        Claim(
            "M6",
            Kind.GOAL,
            "once nothing fails any more, no change of members is undecided in reach of the holder",
            the_members_are_decided,
            sights=frozenset({Sight.STABLES}),
            premise=IN_OFFICE,
            about=TERMS,
        ),
        Claim(
            "M7",
            Kind.GOAL,
            "once nothing fails any more, a node in office is known to all that it reaches",
            the_holder_is_known,
            sights=frozenset({Sight.STABLES}),
            premise=IN_REACH,
            about=TERMS,
        ),
        Claim(
            "M8",
            Kind.GOAL,
            "once nothing changes any more, a node in office stands for it",
            the_holder_stands,
            premise=IN_OFFICE,
            about=CANDIDATES,
        ),
        Claim(
            "M9",
            Kind.GOAL,
            "once nothing changes any more, nobody in office is outranked by a node that could "
            "take over",
            the_holder_is_not_outranked,
            sights=frozenset({Sight.STABLES}),
            premise=IN_OFFICE,
            about=CANDIDATES,
        ),
    )
}
