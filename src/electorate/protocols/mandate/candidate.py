"""The half of a node that stands for office: it polls, claims, holds, renews and releases.

A term counts from when it was asked for. Two leases take turns: while one is in force, the other
counts for the round that is being asked for, and takes its place once a majority has answered
that very round.
"""

from msgspec.structs import replace

from electorate.core import CancelTimer, Effect, NodeId, Result, Send
from electorate.protocols.mandate import change
from electorate.protocols.mandate.message import Claim, Decree, Grant, Listed, Poll, Release
from electorate.protocols.mandate.rule import Terms
from electorate.protocols.mandate.state import (
    ASKING,
    NOBODY,
    AnyState,
    Phase,
    Promise,
    Roster,
    Wait,
)
from electorate.protocols.mandate.voter import AT_REST, bind


def poll(terms: Terms, s: AnyState) -> Result[AnyState]:
    """Ask everybody whether it is free. Nothing has to be saved for that."""
    me = frozenset({s.me})
    silent = s.silent and terms.rules.silence == "told"
    asking = replace(s, phase=Phase.POLLING, votes=me, reached=me, heard=s.stable.promise.highest)
    return asking, [*terms.to_others(s, Poll(silent)), terms.set(Wait.ANSWER)]


def claim(terms: Terms, s: AnyState) -> Result[AnyState]:
    """Promise myself an epoch above all that I know of, and ask everybody to grant it."""
    promise = s.stable.promise
    epoch = max(s.heard, promise.highest, s.stable.roster.version[0] * terms.rules.era) + 1
    if terms.rules.epoch == "keep" and promise.holder == s.me:
        epoch = promise.epoch
    stable = replace(s.stable, promise=Promise(epoch, s.me))
    claiming = replace(s, **{**AT_REST, "stable": stable, "bound": None, "phase": Phase.CLAIMING})
    s, asked = _ask(terms, claiming)
    return _counted(terms, s, [*asked, terms.set(Wait.ANSWER)])


def renew(terms: Terms, s: AnyState) -> Result[AnyState]:
    """Ask everybody for more time."""
    following = s.round + 1
    if terms.rules.rounds:
        following %= terms.rules.rounds
    s, asked = _ask(terms, replace(s, round=following))
    return _counted(terms, s, [*asked, terms.set(Wait.RENEW)])


def change_members(terms: Terms, s: AnyState, changed: AnyState) -> Result[AnyState]:
    """A change is proposed with a round of its own."""
    if changed.stable.roster == s.stable.roster:
        return changed, []
    return renew(terms, changed)


def heed(terms: Terms, s: AnyState, roster: Roster) -> Result[AnyState]:
    """Use a newer list from now on: nothing that was asked for under mine counts any more."""
    effects: list[Effect] = []
    if s.phase is Phase.CLAIMING:
        s, effects = withdraw(terms, s, None)
    s = change.adopt(s, roster)
    if s.phase not in (Phase.HOLDING, Phase.ENDING):
        return s, effects
    s, effects = renew(terms, s)
    if s.phase is Phase.ENDING or s.me in roster.everybody:
        return s, effects
    s, ending = step_down(terms, s, None)
    return s, [*effects, *ending]


def compare(terms: Terms, s: AnyState, j: NodeId, roster: Roster) -> Result[AnyState]:
    """Another node has shown me a list that I do not use: is mine newer, or is there work to do?"""
    if s.stable.roster.is_newer(roster):
        return s, [Send(j, Listed(s.stable.roster))]
    return change_members(terms, s, change.take_up(terms, s, roster))


def take_grant(terms: Terms, s: AnyState, j: NodeId, grant: Grant) -> Result[AnyState]:
    """Count an answer to the round that is open, and to no other."""
    if s.phase not in ASKING or not s.votes:
        return s, []
    if (grant.epoch, grant.round) != (s.stable.promise.epoch, s.round):
        return s, []
    return _counted(terms, replace(s, votes=s.votes | {j}), [])


def withdraw(terms: Terms, s: AnyState, over: Wait | None) -> Result[AnyState]:
    """Nothing came of my claim: set everybody free, and try again later."""
    ended: list[Effect] = [CancelTimer(w) for w in (Wait.ANSWER, _idle(s)) if w != over]
    released = terms.to_others(s, Release(s.stable.promise.epoch))
    return wait(s, [*ended, *released, terms.back_off(s)])


def wait(s: AnyState, effects: list[Effect]) -> Result[AnyState]:
    """Try again later."""
    return replace(s, **{**AT_REST, "phase": Phase.WAITING}), effects


def run_out(terms: Terms, s: AnyState, lease: Wait) -> Result[AnyState]:
    """The lease in force has ended, or the one that was asked for."""
    if lease == s.office:
        if s.phase is Phase.HOLDING:
            return replace(s, **AT_REST), _left(terms, s)
        return _leave(terms, s, is_done=False)
    if s.phase is Phase.CLAIMING:
        return withdraw(terms, s, lease)
    return replace(s, votes=NOBODY), []


def step_down(terms: Terms, s: AnyState, heir: NodeId | None) -> Result[AnyState]:
    """Stay in office until the work has ended."""
    effects: list[Effect] = [terms.set(Wait.GRACE)]
    if terms.rules.release == "asked":
        effects += terms.to_others(s, Release(s.stable.promise.epoch, heir))
    return replace(s, phase=Phase.ENDING, heir=heir), effects


def finish(terms: Terms, s: AnyState) -> Result[AnyState]:
    """The work has ended: leave, and set everybody free, or have them wait for my heir."""
    office = s.office
    s, effects = _leave(terms, s, is_done=True)
    return s, effects if office is None else [CancelTimer(office), *effects]


def lapse(s: AnyState) -> Result[AnyState]:
    """The work has not ended in time: hold on as long as the lease lasts, and never release."""
    effects: list[Effect] = [CancelTimer(Wait.RENEW)]
    if s.votes:
        effects.append(CancelTimer(_idle(s)))
    return replace(s, phase=Phase.LAPSING, votes=NOBODY), effects


def _leave(terms: Terms, s: AnyState, *, is_done: bool) -> Result[AnyState]:
    """The term is over. An heir may have it; without one all are free only if the work is done."""
    effects = _left(terms, s)
    if is_done or s.heir is not None:
        effects += terms.to_others(s, Release(s.stable.promise.epoch, s.heir))
    if s.heir is None:
        return wait(s, [*effects, terms.back_off(s)])
    left, binding = bind(terms, replace(s, **AT_REST), s.heir)
    return left, [*effects, *binding]


def _ask(terms: Terms, s: AnyState) -> Result[AnyState]:
    """Open a round: its lease counts from now."""
    epoch, roster = s.stable.promise.epoch, s.stable.roster
    is_first = roster.version == FIRST
    asking: Claim | Decree = Claim(epoch, s.round, s.office is not None, s.wish)
    if not is_first:
        asking = Decree(epoch, s.round, roster, s.office is not None, s.wish)
    asked = terms.to_others(s, asking)
    leases = [terms.set(_idle(s))] if terms.rules.count == "request" else []
    return replace(s, votes=frozenset({s.me})), [*asked, *leases]


def _counted(terms: Terms, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
    """With a majority for this round its lease comes into force."""
    if not terms.majority(s, s.votes):
        return s, effects
    lease = _idle(s)
    if terms.rules.count == "reply":
        effects = [*effects, terms.set(lease)]
    if s.office is not None:
        effects = [*effects, CancelTimer(s.office)]
    if s.phase is Phase.CLAIMING:
        effects = [*effects, CancelTimer(Wait.ANSWER), terms.set(Wait.RENEW)]
        return _enter(terms, replace(s, phase=Phase.HOLDING, office=lease, votes=NOBODY), effects)
    s = replace(s, office=lease, votes=NOBODY)
    if s.stable.roster.is_pending and terms.rules.changes == "own":
        s, told = change.decide(terms, s)
        effects = [*effects, *told]
        if s.phase is Phase.HOLDING and s.me not in s.stable.roster.new:
            # I have finished what another had begun, which was to go on without me.
            s, ending = step_down(terms, s, None)
            effects = [*effects, *ending]
    return s, effects


def _enter(terms: Terms, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
    """In office: finish first what a holder before me has begun to change."""
    if terms.waits_to_change():
        effects = [*effects, terms.settle(s)]
    if not s.stable.roster.is_pending or terms.rules.changes == "told":
        return s, effects
    s, more = renew(terms, change.take_over(s))
    return s, [*effects, *more]


def _idle(s: AnyState) -> Wait:
    """The lease that is not in force."""
    return Wait.ODD if s.office is Wait.EVEN else Wait.EVEN


def _left(terms: Terms, s: AnyState) -> list[Effect]:
    """What a node that leaves office waits for no longer; the lease in force is not among it."""
    waits = [_idle(s)] if s.votes else []
    waits += [] if s.phase is Phase.LAPSING else [Wait.RENEW]
    waits += [Wait.GRACE] if s.phase is Phase.ENDING else []
    waits += [Wait.SETTLE] if terms.waits_to_change() and not s.settled else []
    return [CancelTimer(each) for each in waits]


FIRST = Roster().version
