"""The half of a node that votes: it answers polls and claims, and is bound by what it granted.

It is free again only when the lease that it granted has run out for sure, or by the holder's own
word. That a holder cannot be reached proves nothing.
"""

from msgspec.structs import replace

from electorate.core import CancelTimer, Effect, NodeId, Result, Send, SetTimer
from electorate.protocols.mandate import change, ranks
from electorate.protocols.mandate.message import (
    Bound,
    Claim,
    Decree,
    Free,
    Grant,
    Listed,
    Release,
    Wish,
)
from electorate.protocols.mandate.rule import Parameters
from electorate.protocols.mandate.state import OWN, AnyState, Phase, Promise, Roster, Wait


def answer_poll(s: AnyState, j: NodeId) -> Send:
    """Say whether j could have my vote."""
    return Send(j, Free(s.stable.promise.highest) if _is_free_for(s, j) else Bound())


def answer_claim(
    parameters: Parameters, s: AnyState, j: NodeId, claim: Claim | Decree, roster: Roster
) -> Result[AnyState]:
    """Grant, for the first time or again; one that is refused hears nothing, or a newer list."""
    if s.stable.roster.is_newer(roster):
        return s, [Send(j, Listed(s.stable.roster))]
    promise = s.stable.promise
    is_promised = promise.lets(claim.epoch, j) or _yields(parameters, promise, j, claim, roster)
    is_free = _is_free_for(s, j) or (parameters.rules.grants == "always" and s.phase not in OWN)
    if not (is_promised and is_free):
        return s, []
    effects: list[Effect] = []
    is_news = parameters.tells and (j, claim.priority) not in s.ranks
    if is_news and parameters.rules.claimed == "told":
        s = ranks.noted(s, j, claim.priority)
    if s.phase is Phase.POLLING and not s.silent:
        s, effects = replace(s, **AT_REST), [CancelTimer(Wait.ANSWER)]
    s = replace(s, stable=replace(s.stable, promise=promise.yielded(claim.epoch, j)))
    s, binding = bind(parameters, change.adopt(s, roster), j)
    return s, [*effects, *binding, Send(j, Grant(claim.epoch, claim.round))]


def bind(parameters: Parameters, s: AnyState, holder: NodeId) -> Result[AnyState]:
    """Be bound for as long as the lease could run."""
    effects: list[Effect] = [parameters.set(Wait.GRANTED)]
    if holder != s.bound and parameters.preempts(s, s.me, holder):
        effects.append(parameters.set(Wait.PREEMPT))
    return replace(s, bound=holder), effects


def bind_again(parameters: Parameters, s: AnyState, holder: NodeId) -> Result[AnyState]:
    """Be bound by the promise of my last life, for as long as that life has said."""
    s, effects = bind(parameters, s, holder)
    longer = [SetTimer(Wait.GRANTED, s.stable.granted)]
    return s, [*longer, *effects[1:]]


def hope(parameters: Parameters, s: AnyState) -> list[Effect]:
    """Count anew how long I have been fit to take over: things have changed."""
    is_next = s.bound not in (None, s.me) and parameters.preempts(s, s.me, s.bound)
    return [parameters.set(Wait.PREEMPT)] if is_next else []


def free(parameters: Parameters, s: AnyState) -> Result[AnyState]:
    """Be bound to nobody any more."""
    effects: list[Effect] = [CancelTimer(Wait.GRANTED)]
    if not parameters.waits_to_change():  # Else leases of other offices count as well.
        s = parameters.outlasted(s)
    if s.bound is not None and parameters.preempts(s, s.me, s.bound):
        effects.append(CancelTimer(Wait.PREEMPT))
    return replace(s, bound=None), effects


def take_release(
    parameters: Parameters, s: AnyState, j: NodeId, release: Release
) -> Result[AnyState]:
    """Be free by the holder's own word, or bound to its heir; an heir is bound to itself."""
    effects: list[Effect] = []
    if s.bound == j and s.stable.promise.is_of(release.epoch, j):
        s, effects = free(parameters, s)
        if release.heir not in (None, s.me) and release.heir in parameters.voters(s):
            return bind(parameters, s, release.heir)
    is_able = s.me in parameters.voters(s) and not parameters.is_witness(s, s.me)
    is_willing = s.bound is None and s.phase not in OWN and is_able
    if release.heir == s.me and is_willing:
        s = replace(s, bound=s.me, heard=max(release.epoch, s.heard))
    return s, effects


def wish(parameters: Parameters, s: AnyState) -> Result[AnyState]:
    """Ask a holder of a lower priority for its office, and again if it does not hear."""
    if s.bound is None or not parameters.preempts(s, s.me, s.bound):
        return s, []
    # Who does not reach a majority could not take over, and would only leave the office empty. A
    # holder that is no member leaves by itself; but it may become one again while I am bound to it.
    is_able = s.bound in parameters.voters(s) and parameters.majority(s, s.alive)
    asked = [wish_for(parameters, s, s.bound, s.stable.promise.epoch)] if is_able else []
    return s, [*asked, parameters.set(Wait.PREEMPT)]


def wish_for(parameters: Parameters, s: AnyState, holder: NodeId, epoch: int) -> Send:
    """Ask for an office. The holder may not know my priority."""
    return Send(holder, Wish(epoch, parameters.priority(s, s.me)))


def _yields(
    parameters: Parameters, promise: Promise, j: NodeId, claim: Claim | Decree, roster: Roster
) -> bool:
    """Whether I grant it though I have promised this epoch to another, or a higher one.

    The node that holds an epoch has the promise of a majority, so no other ever will; to stay in
    office it needs no more than that voters are bound to no other. But a list is not decided by
    those that have promised a higher epoch, and an old claim does not loosen what its sender has
    now.
    """
    decides = roster.is_pending and parameters.rules.changes == "own"
    is_stale = promise.holder == j and claim.epoch < promise.epoch
    match parameters.rules.yields:
        case "held":
            return claim.held and not decides and not is_stale
        case "blindly":
            return claim.held
        case "any":
            return claim.epoch == promise.epoch
        case "never":
            return False


def _is_free_for(s: AnyState, j: NodeId) -> bool:
    return s.bound in (None, j) and s.phase not in OWN


AT_REST = {
    "phase": Phase.IDLE,
    "round": 0,
    "votes": frozenset[NodeId](),
    "reached": frozenset[NodeId](),
    "heard": 0,
    "office": None,
    "heir": None,
    "joining": None,
    "settled": False,
}
"""The candidate's fields of a node that does not stand for office."""
