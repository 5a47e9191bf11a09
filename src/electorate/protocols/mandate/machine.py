"""Mandate: whom an election names leads once a majority has granted it a term, and only so long.

Source: this project's own design, told in docs/protocols/mandate.md. A term is a lease; its number
is a token that fences off all terms before it.
Needs: for one office at a time, clocks whose speeds differ by no more than is allowed for:
tests/golden/mandate/fast_clock.txt. For an office at all, an election that names somebody and
messages that arrive within T: tests/golden/mandate/late_renewal.txt.
"""

from typing import Any

from msgspec.structs import replace

from electorate.core import (
    Anyone,
    Asked,
    Assumption,
    CancelTimer,
    Effect,
    Event,
    Growth,
    Members,
    Message,
    NodeId,
    Over,
    Received,
    Request,
    Result,
    Send,
    Standing,
    Status,
    TimedOut,
    Timer,
    Timing,
    Viewed,
)
from electorate.protocols.mandate import candidate, voter
from electorate.protocols.mandate.message import (
    MESSAGES,
    REQUESTS,
    Back,
    Bound,
    Claim,
    Ended,
    Free,
    Grant,
    Offer,
    Poll,
    Release,
    StepDown,
    Transfer,
    Wish,
)
from electorate.protocols.mandate.rule import MandateRules, Terms
from electorate.protocols.mandate.state import (
    AnyState,
    MandateStable,
    MandateState,
    Phase,
    Promise,
    Wait,
)


class Mandate(Over[Any]):
    """Any election, and a majority's word on top of it."""

    state_type = MandateState
    stable_type = MandateStable
    rules_type = MandateRules
    inner_kind = Anyone
    messages = MESSAGES
    requests = REQUESTS
    timers = tuple(Timer(wait, periodic=wait is Wait.RENEW) for wait in Wait)
    promises = ("M1", "M2", "M3", "M4")
    promises_over = ("M5",)
    assumptions = (Assumption.BOUNDED_CLOCKS, Assumption.BOUNDED_DELAY)
    growing = {"stable.promise.epoch": Growth.ORDER, "round": Growth.EQUALITY}

    rules: MandateRules

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.terms = Terms(members, timing, self.rules)
        if self.rules.constants == "sound":
            self.terms.expect_sound()

    def inside(self, members: Members) -> Members:
        # Priorities act by transfers: an election inside that they disturb would do so for ever.
        if self.rules.named == "priority":
            return members
        return Members.of(members.ids, members.strongest)

    def boot(self, me: NodeId, stable: Any) -> Result[AnyState]:
        inner, effects = self.lift.boot(me, stable)
        keeps = stable is not None and self.rules.durable == "yes"
        promise = stable.promise if keeps else Promise()
        s: AnyState = MandateState(
            me, MandateStable(promise, inner.stable), inner, alive=frozenset(self.members.ids)
        )
        effects = [] if self._is_deaf(s) else effects
        if promise.holder == me:
            # The work died with my last life: nobody has to wait for the end of its lease.
            effects = [*self.terms.to_others(me, Release(promise.epoch)), *effects]
        elif promise.holder is not None and self.rules.boot == "bound":
            s, binding = voter.bind(self.terms, s, promise.holder)
            effects = [*binding, *effects]
        return self._stand(s, effects)

    def step(self, s: AnyState, event: Event) -> Result[AnyState]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Received(j, message) if isinstance(message, MESSAGES):
                taken = (s, []) if j == s.me else self._hear(s, j, message)
            case TimedOut(timer) if timer in WAITS:
                taken = self._run_out(s, Wait(timer))
            case Asked(request) if isinstance(request, REQUESTS):
                taken = self._obey(s, request)
            case Viewed(alive):
                s, effects = self._show(replace(s, alive=alive, hushed=s.hushed & alive))
                taken = s, [*effects, *voter.hope(self.terms, s)]
            case Received(j, _):
                s, effects = self._notice(s, j, silent=False)
                taken = self._inside(s, event, effects)
            case _:
                taken = self._inside(s, event, [])
        return self._stand(*taken)

    def view(self, s: AnyState) -> Standing:
        promise = s.stable.promise
        if s.office is not None:
            status = Status.NORMAL if s.phase is Phase.HOLDING else Status.REORGANIZATION
            return Standing(status, s.me, until=s.office, token=promise.epoch)
        if s.bound is not None and s.bound == promise.holder:
            return Standing(Status.NORMAL, s.bound, until=Wait.GRANTED, token=promise.epoch)
        return Standing(Status.ELECTION)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        asked = self.lift.may_ask(Standing(Status.ELECTION))
        if view.until not in (Wait.EVEN, Wait.ODD):
            return asked
        if view.status is Status.REORGANIZATION:
            return (Ended(), *asked)
        heirs = (node for node in self.members.ids if node != view.leader)
        return (StepDown(), *map(Transfer, heirs), *asked)

    def _stand(self, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
        """Whatever has happened: who is named and free stands for office."""
        more: list[Effect] = []
        if s.bound == s.me:
            stopped = {Phase.POLLING: Wait.ANSWER, Phase.WAITING: Wait.RETRY}.get(s.phase)
            effects = effects if stopped is None else [*effects, CancelTimer(stopped)]
            s, more = candidate.claim(self.terms, s)
        elif s.phase is Phase.IDLE and (s.silent or self._is_named(s)):
            if self.rules.poll == "ask" or s.silent:
                s, more = self._polled(*candidate.poll(self.terms, s))
            else:
                s, more = candidate.claim(self.terms, s)
        return s, [*effects, *more]

    def _is_named(self, s: AnyState) -> bool:
        """Whether I should lead, and may try."""
        return s.bound is None and not self._is_deaf(s) and self.lift.view(s).leader == s.me

    def _is_deaf(self, s: AnyState) -> bool:
        """Whether I have no part in the election inside."""
        return s.silent or self.terms.is_witness(s.me)

    def _hear(self, s: AnyState, j: NodeId, message: Message) -> Result[AnyState]:
        match message:
            case Poll(silent):
                s, effects = self._notice(s, j, silent=silent)
                return s, [voter.answer_poll(s, j), *effects]
            case Back():
                return self._notice(s, j, silent=False)
            case Claim():
                s, effects = self._notice(s, j, silent=False)
                s, more = voter.answer_claim(self.terms, s, j, message)
                return s, [*more, *effects]
            case Release():
                return voter.take_release(self.terms, s, j, message)
            case Free(epoch) if s.phase is Phase.POLLING:
                free = replace(s, votes=s.votes | {j}, heard=max(s.heard, epoch))
                return self._polled(replace(free, reached=s.reached | {j}), [])
            case Bound() if s.phase is Phase.POLLING:
                return self._polled(replace(s, reached=s.reached | {j}), [])
            case Grant():
                return candidate.take_grant(self.terms, s, j, message)
            case Offer(epoch) if not self._is_deaf(s):
                return s, [Send(j, Wish(epoch))]
            case Wish(epoch) if s.phase is Phase.HOLDING and epoch == s.stable.promise.epoch:
                if j == s.heir or self.terms.preempts(j, s.me):
                    return candidate.step_down(self.terms, s, j)
        return s, []

    def _run_out(self, s: AnyState, wait: Wait) -> Result[AnyState]:
        match wait:
            case Wait.ANSWER if s.phase is Phase.POLLING:
                return self._unanswered(s)
            case Wait.ANSWER if s.phase is Phase.CLAIMING:
                return candidate.withdraw(self.terms, s, wait)
            case Wait.RETRY if s.phase is Phase.WAITING:
                return replace(s, phase=Phase.IDLE), []
            case Wait.RENEW if s.phase in (Phase.HOLDING, Phase.ENDING):
                return candidate.renew(self.terms, s)
            case Wait.EVEN | Wait.ODD:
                return candidate.run_out(self.terms, s, wait)
            case Wait.GRANTED:
                s, effects = voter.free(self.terms, s)
                return s, effects[1:]
            case Wait.GRACE if s.phase is Phase.ENDING:
                return candidate.lapse(s)
            case Wait.PREEMPT:
                return voter.wish(self.terms, s)
        return s, []

    def _obey(self, s: AnyState, request: Request) -> Result[AnyState]:
        match request, s.phase:
            case StepDown(), Phase.HOLDING:
                return candidate.step_down(self.terms, s, None)
            case Transfer(heir), Phase.HOLDING if heir in self.members.others(s.me):
                return replace(s, heir=heir), [Send(heir, Offer(s.stable.promise.epoch))]
            case Ended(), Phase.ENDING:
                return candidate.finish(self.terms, s)
        return s, []

    def _polled(self, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
        """With enough answers: claim, or, after a silence, take part again."""
        if s.silent and self.terms.majority(s.reached):
            s, more = self._speak_up(s)
        elif not s.silent and self.terms.majority(s.votes):
            s, more = candidate.claim(self.terms, s)
        else:
            return s, effects
        return s, [*effects, *more]

    def _unanswered(self, s: AnyState) -> Result[AnyState]:
        """Too few are free; if too few have answered at all, leave the election to others."""
        is_alone = not (s.silent or self.terms.majority(s.reached))
        inner = self.lift.inner
        is_among_others = inner.uses_views or inner.messages
        if not (is_alone and is_among_others) or self.rules.silence == "never":
            return candidate.wait(s, [self.terms.set(Wait.RETRY)])
        s, effects = candidate.poll(self.terms, replace(s, silent=True))
        return s, [*self.lift.silenced(), *effects]

    def _speak_up(self, s: AnyState) -> Result[AnyState]:
        """A majority answers again: boot the election inside anew, and tell all."""
        spoken = replace(s, **voter.AT_REST, silent=False)
        inner, effects = self.lift.boot(s.me, spoken.stable)
        shown, more = self._show(self.lift.into(spoken, inner))
        told = self.terms.to_others(s.me, Back()) if self.rules.silence == "told" else []
        return shown, [CancelTimer(Wait.ANSWER), *told, *effects, *more]

    def _notice(self, s: AnyState, j: NodeId, *, silent: bool) -> Result[AnyState]:
        """Take note of whether j has a part in the election inside."""
        if silent is (j in s.hushed) or not self.lift.inner.uses_views:
            return s, []
        return self._show(replace(s, hushed=s.hushed | {j} if silent else s.hushed - {j}))

    def _show(self, s: AnyState) -> Result[AnyState]:
        """Show the election inside who has a part in it."""
        witnesses = frozenset(filter(self.terms.is_witness, self.members.ids))
        return self._inside(s, Viewed((s.alive - s.hushed - witnesses) | {s.me}), [])

    def _inside(self, s: AnyState, event: Event, effects: list[Effect]) -> Result[AnyState]:
        """Let the election inside take an event, unless I have no part in it."""
        if self._is_deaf(s):
            return s, effects
        s, more = self.lift.step(s, event)
        return s, [*effects, *more]


WAITS = frozenset(Wait)
