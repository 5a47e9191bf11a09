"""The half of a node that stands for office: it polls, claims, holds, renews and releases.

A term counts from when it was asked for. Two leases take turns: while one is in force, the other
counts for the round that is being asked for, and takes its place once a majority has answered
that very round.
"""

from msgspec.structs import replace

from electorate.core import CancelTimer, Effect, NodeId, Result, Send
from electorate.protocols.mandate import change
from electorate.protocols.mandate.message import Claim, Decree, Grant, Listed, Poll, Release
from electorate.protocols.mandate.rule import Parameters
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


def poll(parameters: Parameters, s: AnyState) -> Result[AnyState]:
    """Ask everybody whether it is free. Nothing has to be saved for that."""
    me = frozenset({s.me})
    silent = s.silent and parameters.rules.silence == "told"
    asking = replace(s, phase=Phase.POLLING, votes=me, reached=me, heard=s.stable.promise.highest)
    return asking, [*parameters.to_others(s, Poll(silent)), parameters.set(Wait.ANSWER)]


def claim(parameters: Parameters, s: AnyState) -> Result[AnyState]:
    """Promise myself an epoch above all that I know of, and ask everybody to grant it."""
    promise = s.stable.promise
    epoch = max(s.heard, promise.highest, s.stable.roster.version[0] * parameters.rules.era) + 1
    if parameters.rules.epoch == "keep" and promise.holder == s.me:
        epoch = promise.epoch
    stable = replace(s.stable, promise=Promise(epoch, s.me))
    claiming = replace(s, **{**AT_REST, "stable": stable, "bound": None, "phase": Phase.CLAIMING})
    s, asked = _ask(parameters, claiming)
    return _counted(parameters, s, [*asked, parameters.set(Wait.ANSWER)])


def renew(parameters: Parameters, s: AnyState) -> Result[AnyState]:
    """Ask everybody for more time."""
    following = s.round + 1
    if parameters.rules.rounds:
        following %= parameters.rules.rounds
    s, asked = _ask(parameters, replace(s, round=following))
    return _counted(parameters, s, [*asked, parameters.set(Wait.RENEW)])


def change_members(parameters: Parameters, s: AnyState, changed: AnyState) -> Result[AnyState]:
    """A change is proposed with a round of its own."""
    if changed.stable.roster == s.stable.roster:
        return changed, []
    return renew(parameters, changed)


def heed(parameters: Parameters, s: AnyState, roster: Roster) -> Result[AnyState]:
    """Use a newer list from now on: nothing that was asked for under mine counts any more."""
    effects: list[Effect] = []
    if s.phase is Phase.CLAIMING:
        s, effects = withdraw(parameters, s, None)
    s = change.adopt(s, roster)
    if s.phase not in (Phase.HOLDING, Phase.ENDING):
        return s, effects
    s, effects = renew(parameters, s)
    if s.phase is Phase.ENDING or s.me in roster.everybody:
        return s, effects
    s, ending = step_down(parameters, s, None)
    return s, [*effects, *ending]


def compare(parameters: Parameters, s: AnyState, j: NodeId, roster: Roster) -> Result[AnyState]:
    """Another node has shown me a list that I do not use: is mine newer, or is there work to do?"""
    if s.stable.roster.is_newer(roster):
        return s, [Send(j, Listed(s.stable.roster))]
    return change_members(parameters, s, change.take_up(parameters, s, roster))


def take_grant(parameters: Parameters, s: AnyState, j: NodeId, grant: Grant) -> Result[AnyState]:
    """Count an answer to the round that is open, and to no other."""
    if s.phase not in ASKING or not s.votes:
        return s, []
    if (grant.epoch, grant.round) != (s.stable.promise.epoch, s.round):
        return s, []
    return _counted(parameters, replace(s, votes=s.votes | {j}), [])


def withdraw(parameters: Parameters, s: AnyState, over: Wait | None) -> Result[AnyState]:
    """Nothing came of my claim: set everybody free, and try again later."""
    ended: list[Effect] = [CancelTimer(w) for w in (Wait.ANSWER, _idle(s)) if w != over]
    released = parameters.to_others(s, Release(s.stable.promise.epoch))
    return wait(s, [*ended, *released, parameters.back_off(s)])


def wait(s: AnyState, effects: list[Effect]) -> Result[AnyState]:
    """Try again later."""
    return replace(s, **{**AT_REST, "phase": Phase.WAITING}), effects


def run_out(parameters: Parameters, s: AnyState, lease: Wait) -> Result[AnyState]:
    """The lease in force has ended, or the one that was asked for."""
    if lease == s.office:
        if s.phase is Phase.HOLDING:
            return replace(s, **AT_REST), _left(parameters, s)
        return _leave(parameters, s, is_done=False)
    if s.phase is Phase.CLAIMING:
        return withdraw(parameters, s, lease)
    return replace(s, votes=NOBODY), []


def step_down(parameters: Parameters, s: AnyState, heir: NodeId | None) -> Result[AnyState]:
    """Stay in office until the work has ended."""
    effects: list[Effect] = [parameters.set(Wait.GRACE)]
    if parameters.rules.release == "asked":
        effects += parameters.to_others(s, Release(s.stable.promise.epoch, heir))
    return replace(s, phase=Phase.ENDING, heir=heir), effects


def finish(parameters: Parameters, s: AnyState) -> Result[AnyState]:
    """The work has ended: leave, and set everybody free, or have them wait for my heir."""
    office = s.office
    s, effects = _leave(parameters, s, is_done=True)
    return s, effects if office is None else [CancelTimer(office), *effects]


def lapse(s: AnyState) -> Result[AnyState]:
    """The work has not ended in time: hold on as long as the lease lasts, and never release."""
    effects: list[Effect] = [CancelTimer(Wait.RENEW)]
    if s.votes:
        effects.append(CancelTimer(_idle(s)))
    return replace(s, phase=Phase.LAPSING, votes=NOBODY), effects


def _leave(parameters: Parameters, s: AnyState, *, is_done: bool) -> Result[AnyState]:
    """The term is over. An heir may have it; without one all are free only if the work is done."""
    effects = _left(parameters, s)
    if is_done or s.heir is not None:
        effects += parameters.to_others(s, Release(s.stable.promise.epoch, s.heir))
    if s.heir is None:
        return wait(s, [*effects, parameters.back_off(s)])
    left, binding = bind(parameters, replace(s, **AT_REST), s.heir)
    return left, [*effects, *binding]


def _ask(parameters: Parameters, s: AnyState) -> Result[AnyState]:
    """Open a round: its lease counts from now."""
    epoch, roster = s.stable.promise.epoch, s.stable.roster
    is_first = roster.version == FIRST
    asking: Claim | Decree = Claim(epoch, s.round, s.office is not None, s.wish)
    if not is_first:
        asking = Decree(epoch, s.round, roster, s.office is not None, s.wish)
    asked = parameters.to_others(s, asking)
    leases = [parameters.set(_idle(s))] if parameters.rules.count == "request" else []
    return replace(s, votes=frozenset({s.me})), [*asked, *leases]


def _counted(parameters: Parameters, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
    """With a majority for this round its lease comes into force."""
    if not parameters.majority(s, s.votes):
        return s, effects
    lease = _idle(s)
    if parameters.rules.count == "reply":
        effects = [*effects, parameters.set(lease)]
    if s.office is not None:
        effects = [*effects, CancelTimer(s.office)]
    if s.phase is Phase.CLAIMING:
        effects = [*effects, CancelTimer(Wait.ANSWER), parameters.set(Wait.RENEW)]
        return _enter(
            parameters, replace(s, phase=Phase.HOLDING, office=lease, votes=NOBODY), effects
        )
    s = replace(s, office=lease, votes=NOBODY)
    if s.stable.roster.is_pending and parameters.rules.changes == "own":
        s, told = change.decide(parameters, s)
        effects = [*effects, *told]
        if s.phase is Phase.HOLDING and s.me not in s.stable.roster.new:
            # I have finished what another had begun, which was to go on without me.
            s, ending = step_down(parameters, s, None)
            effects = [*effects, *ending]
    return s, effects


def _enter(parameters: Parameters, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
    """In office: finish first what a holder before me has begun to change."""
    if parameters.waits_to_change():
        effects = [*effects, parameters.settle(s)]
    if not s.stable.roster.is_pending or parameters.rules.changes == "told":
        return s, effects
    s, more = renew(parameters, change.take_over(s))
    return s, [*effects, *more]


def _idle(s: AnyState) -> Wait:
    """The lease that is not in force."""
    return Wait.ODD if s.office is Wait.EVEN else Wait.EVEN


def _left(parameters: Parameters, s: AnyState) -> list[Effect]:
    """What a node that leaves office waits for no longer; the lease in force is not among it."""
    waits = [_idle(s)] if s.votes else []
    waits += [] if s.phase is Phase.LAPSING else [Wait.RENEW]
    waits += [Wait.GRACE] if s.phase is Phase.ENDING else []
    waits += [Wait.SETTLE] if parameters.waits_to_change() and not s.settled else []
    return [CancelTimer(each) for each in waits]


FIRST = Roster().version
