"""Who stands for the office, and with which priority.

An application asks its node to stand; the node tells all voters, and answers when it is asked. What
another node has said may be out of date, so nothing that is safe depends on it. Nothing of it is
saved: a node that boots stands only once its application asks for that again.
"""

from msgspec.structs import replace

from electorate.core import CancelTimer, Effect, NodeId, Result, Send
from electorate.protocols.mandate.message import Stands
from electorate.protocols.mandate.rule import Parameters
from electorate.protocols.mandate.state import NOBODY, AnyState, Wait


def stand(parameters: Parameters, s: AnyState, priority: int) -> Result[AnyState]:
    """The application wants this node to stand with this priority.

    A new candidate first hears which others do. Two that claim at once would hold each other up. To
    be asked for the same again is to ask the others again.
    """
    is_new, is_same = bool(priority and not s.wish), priority == s.wish
    told: list[Effect] = [*parameters.to_others(s, Stands(priority, asks=is_new or is_same))]
    s = replace(s, wish=priority)
    if is_new:
        s = replace(s, unheard=s.alive & frozenset(parameters.voters(s)) - {s.me})
        told += [parameters.set(Wait.HEAR)] if s.unheard else []
    elif s.unheard and not priority:
        s, told = replace(s, unheard=NOBODY), [*told, CancelTimer(Wait.HEAR)]
    return (s if s.unheard else noted(s, s.me, priority)), told


def hear(s: AnyState, j: NodeId, said: Stands) -> Result[AnyState]:
    """Another node tells whether it stands."""
    answer: list[Effect] = [Send(j, Stands(s.wish))] if said.asks else []
    s, heard = await_only(noted(s, j, said.priority), s.unheard - {j})
    return s, [*answer, *heard]


def await_only(s: AnyState, unheard: frozenset[NodeId]) -> Result[AnyState]:
    """A new candidate waits for no more than these; once it has heard all, it stands."""
    if s.unheard and not unheard:
        return noted(replace(s, unheard=unheard), s.me, s.wish), [CancelTimer(Wait.HEAR)]
    return replace(s, unheard=unheard), []


def noted(s: AnyState, node: NodeId, priority: int) -> AnyState:
    """A node stands with this priority; 0: it does not stand."""
    others = [each for each in s.ranks if each[0] != node]
    return replace(s, ranks=tuple(sorted([*others, (node, priority)] if priority else others)))


def kept(parameters: Parameters, s: AnyState) -> AnyState:
    """Forget what is known of nodes that are members no more."""
    voters = {*parameters.voters(s), s.me}
    return replace(s, ranks=tuple(each for each in s.ranks if each[0] in voters))


def compared(parameters: Parameters, before: AnyState, s: AnyState) -> list[Effect]:
    """Whether I should lead instead of the holder may have changed, and with it how I wait."""
    holder = s.bound
    if holder is None or holder != before.bound or before.ranks == s.ranks:
        return []
    did, does = parameters.preempts(before, s.me, holder), parameters.preempts(s, s.me, holder)
    if did == does:
        return []
    return [parameters.set(Wait.PREEMPT) if does else CancelTimer(Wait.PREEMPT)]


def best(parameters: Parameters, s: AnyState, nodes: frozenset[NodeId]) -> frozenset[NodeId]:
    """Those of these that stand with the highest priority."""
    ranks = {node: parameters.priority(s, node) for node in nodes}
    highest = max(ranks.values(), default=0)
    return frozenset(node for node in nodes if ranks[node] == highest)
