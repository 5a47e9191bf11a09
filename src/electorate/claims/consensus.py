"""The claims about consensus: agreement, validity, and two kinds of termination.

After M. J. Fischer, N. A. Lynch and M. S. Paterson, "Impossibility of Distributed Consensus with
One Faulty Process", 1985, section 2: no two decisions differ, whoever makes them and whatever
becomes of it afterwards. K2 asks for more than they do: a decision is what somebody has proposed.
"""

from collections.abc import Iterator

from electorate.claims.claim import Claim, Fold, Kind, Premise, Row, Witness, companies
from electorate.core import Choice, NodeId, Topic

First = tuple[NodeId, int] | None
"""The first node to decide, and its decision."""


def choices(row: Row) -> Iterator[tuple[NodeId, Choice]]:
    """What every live node has decided, if it has."""
    return ((node, view) for node, view in row.live() if isinstance(view, Choice))


def decisions(row: Row) -> Iterator[tuple[NodeId, int]]:
    """Every live node that has decided, with its value."""
    for node, view in choices(row):
        if view.decided is not None:
            yield node, view.decided


def first_decision(memory: First, row: Row) -> First:
    """The first that was ever made: it counts also when the node that made it is gone."""
    return memory or next(decisions(row), None)


def no_two_decide_differently(row: Row, memory: First) -> Witness | None:
    """K1: every decision is the same as the first."""
    if memory is None:
        return None
    first, value = memory
    for node, decided in decisions(row):
        if decided != value:
            text = f"{node} has decided on {decided}, but {first} had decided on {value}"
            return Witness(tuple(sorted({first, node})), text)
    return None


def all_proposals(memory: frozenset[int], row: Row) -> frozenset[int]:
    """Every value that some node has proposed."""
    return memory | {view.proposes for _, view in choices(row)}


def every_decision_was_proposed(row: Row, memory: frozenset[int]) -> Witness | None:
    """K2: nobody decides on what nobody has proposed."""
    for node, decided in decisions(row):
        if decided not in memory:
            return Witness((node,), f"{node} has decided on {decided}, which nobody had proposed")
    return None


def everybody_decides(row: Row) -> Witness | None:
    """K3: every live node has decided."""
    for node, view in choices(row):
        if view.decided is None:
            return Witness((node,), f"{node} has not decided")
    return None


def a_majority_with_a_leader_decides(row: Row) -> Witness | None:
    """K4: where a majority reaches each other and follows one of them, all of them decide."""
    for company in _majorities(row):
        open_ = tuple(node for node, view in company.items() if view.decided is None)
        if open_:
            led = ", ".join(map(str, company))
            return Witness(open_, f"{open_[0]} has not decided, and belongs to {led} with a leader")
    return None


def _majorities(row: Row) -> Iterator[dict[NodeId, Choice]]:
    return (each for each in companies(row, Choice) if 2 * len(each) > len(row.members.ids))


DECIDED = Premise("not once had anybody decided", lambda row: any(decisions(row)))
UP = Premise("not once was anybody up", lambda row: any(choices(row)))
MAJORITY = Premise(
    "no majority that reaches each other ever followed one of them",
    lambda row: any(_majorities(row)),
)
CHOICES = frozenset({Topic.CHOICES})

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "K1",
            Kind.ALWAYS,
            "no two nodes ever decide differently",
            no_two_decide_differently,
            Fold(None, first_decision),
            premise=DECIDED,
            about=CHOICES,
        ),
        Claim(
            "K2",
            Kind.ALWAYS,
            "a decision is a value that somebody has proposed",
            every_decision_was_proposed,
            Fold(frozenset(), all_proposals),
            premise=DECIDED,
            about=CHOICES,
        ),
        Claim(
            "K3",
            Kind.GOAL,
            "once nothing fails any more, every live node decides",
            everybody_decides,
            premise=UP,
            about=CHOICES,
        ),
        Claim(
            "K4",
            Kind.GOAL,
            "once nothing fails any more, a majority that reaches each other and follows one of "
            "them decides",
            a_majority_with_a_leader_decides,
            premise=MAJORITY,
            about=CHOICES,
        ),
    )
}
