"""The claims about admission: which member a node speaks to by a name, and what nodes know.

A node has met a member once it knows by which memory. What it knows is saved at once. In a search
nodes are memories, each with its own id: one that takes itself for another member is none.
"""

from collections.abc import Iterator
from typing import Any

from electorate.claims.claim import Claim, Fold, Kind, Premise, Row, Sight, Witness
from electorate.core import NodeId, Topic, Value


class MetMember(Value):
    """A member that a node has known: by which name, and by which memory, empty if by none yet."""

    node: NodeId
    member: NodeId
    name: str
    store: str


History = frozenset[MetMember]


def _met(history: History, row: Row) -> History:
    """All that a node has ever known of others, once it has a part in its cluster."""
    return history | {
        MetMember(node, member, known.name, known.store)
        for node, state in _states(row)
        for member, known in state.stable.known
        if state.stable.settled and member != state.number
    }


def _by_memory(history: History) -> Iterator[MetMember]:
    ordered = sorted(history, key=lambda met: (met.member, met.node, met.store))
    return (met for met in ordered if met.store)


def no_member_has_two_memories_at_a_node(row: Row, history: History) -> Witness | None:
    """D1: by which memory a node knows a member never changes."""
    known: dict[tuple[NodeId, NodeId], MetMember] = {}
    for met in _by_memory(history):
        before = known.setdefault((met.node, met.member), met)
        if before.store != met.store:
            first, second = sorted((before.store, met.store))
            text = f"{met.node} has known {met.member} by the memories {first} and {second}"
            return Witness((met.node,), text)
    return None


def no_replaced_memory_is_let_in(row: Row, history: History) -> Witness | None:
    """D2: a member speaks to nobody that it knows to be replaced, unless it awaits a newcomer."""
    for node, state in _states(row):
        roll = state.stable.roll.everybody
        if state.number not in roll:
            continue
        awaited = dict(state.awaited)
        for name, speaker in state.speakers:
            listed = {
                met.member
                for met in history
                if met.node == node and met.name == name and met.member in roll
            }
            if listed and speaker not in listed and name not in awaited:
                text = f"{node} speaks to {speaker} by the name {name}, and knows {min(listed)}"
                return Witness((node,), f"{text} to be the member of that name")
    return None


def no_member_has_two_memories(row: Row, history: History) -> Witness | None:
    """D3: no two nodes know a member by different memories."""
    known: dict[NodeId, MetMember] = {}
    for met in _by_memory(history):
        before = known.setdefault(met.member, met)
        if before.store != met.store:
            text = f"{before.node} has known {met.member} by the memory {before.store}"
            return Witness((before.node, met.node), f"{text}, and {met.node} by {met.store}")
    return None


def members_know_the_same(row: Row) -> Witness | None:
    """D4: the latest word on every live member that another has met is known to all of them.

    And they speak to it, unless they await another node by that name.
    """
    live = {node: state for node, state in _states(row) if _is_member(row, node, state)}
    met = {
        member
        for node, state in live.items()
        for member, known in state.stable.known
        if member != node and known.store
    }
    for member in sorted(met & live.keys()):
        own = dict(live[member].stable.known)[member]
        for node, state in live.items():
            known = dict(state.stable.known).get(member)
            if known != own:
                text = f"{member} knows of itself: {_told(own)}; {node} knows: {_told(known)}"
                return Witness(tuple(sorted({node, member})), text)
            is_awaited = own.name in dict(state.awaited)
            if not is_awaited and dict(state.speakers).get(own.name) != member:
                return Witness((node,), f"{node} does not speak to {member}")
    return None


def _told(known: Any) -> str:
    """What is known of a member, in words."""
    if known is None:
        return "nothing"
    memory = f"memory {known.store}" if known.store else "no memory"
    return f"{known.place}, {memory}, proposed with {known.since}"


def _states(row: Row) -> Iterator[tuple[NodeId, Any]]:
    """What every live node knows; beside other machines its part is called the directory."""
    for node, state in zip(row.members.ids, row.states, strict=False):
        if state is not None:
            yield node, getattr(state, "directory", state)


def _is_member(row: Row, node: NodeId, state: Any) -> bool:
    """Whether a node is on the newest list that any live node uses."""
    newest = max((each.own for _, each in _states(row)), key=lambda own: own.version)
    return state.number == node and node in newest.new


MET = Premise(
    "not once had a node met a member",
    lambda row: any(view.group is not None and len(view.group) > 1 for _, view in row.live()),
)
MEMORIES = frozenset({Topic.MEMORIES})
SEEN = frozenset({Sight.STATES})

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        Claim(
            "D1",
            Kind.ALWAYS,
            "no node ever knows a member by two memories",
            no_member_has_two_memories_at_a_node,
            Fold(frozenset(), _met),
            SEEN,
            MET,
            MEMORIES,
        ),
        Claim(
            "D2",
            Kind.ALWAYS,
            "no member speaks to a node that it knows to be replaced, unless it awaits a newcomer",
            no_replaced_memory_is_let_in,
            Fold(frozenset(), _met),
            SEEN,
            MET,
            MEMORIES,
        ),
        Claim(
            "D3",
            Kind.ALWAYS,
            "no two nodes ever know a member by different memories",
            no_member_has_two_memories,
            Fold(frozenset(), _met),
            SEEN,
            MET,
            MEMORIES,
        ),
        Claim(
            "D4",
            Kind.GOAL,
            "once nothing changes any more, all members know the same of every member that one has "
            "met: where it is, by which memory it is known, and since when",
            members_know_the_same,
            sights=SEEN,
            premise=MET,
            about=MEMORIES,
        ),
    )
}
