"""Mandate: the node that an election names leads once a majority grants it a term, no longer.

Source: this project's own design, told in docs/protocols/mandate.md. A term is a lease; its number
is a token that fences off all terms before it.
Needs: for one office at a time, clocks whose speeds differ by no more than is allowed for:
mandate/fast_clock. For an office at all, an election that names somebody and
messages that arrive within T: run mandate/late_renewal.
"""

from typing import Any

from msgspec.structs import replace

from electorate.core import *
from electorate.protocols.mandate import candidate, change, ranks, voter
from electorate.protocols.mandate.message import (
    MESSAGES,
    REQUESTS,
    Add,
    Adopt,
    Back,
    Bound,
    Claim,
    Confirm,
    Decree,
    Ended,
    Found,
    Free,
    Grant,
    Listed,
    Offer,
    Order,
    Poll,
    Release,
    Remove,
    Resign,
    Stand,
    Stands,
    StepDown,
    Transfer,
    Wish,
)
from electorate.protocols.mandate.rule import APPLICATION, BRIEF, REGISTER, MandateRules, Parameters
from electorate.protocols.mandate.state import (
    AnyState,
    MandateStable,
    MandateState,
    Phase,
    Promise,
    Roster,
    Wait,
)
from electorate.protocols.mandate.voter import AT_REST


class Mandate(Over[Any]):
    """Any election, and a majority's word on top of it."""

    rules: MandateRules
    state_type = MandateState
    stable_type = MandateStable
    rules_type = MandateRules
    messages = MESSAGES
    requests = REQUESTS
    timers = tuple(Timer(wait, periodic=wait in (Wait.RENEW, Wait.SHOW)) for wait in Wait)
    forms = {
        "sound": MandateRules(),
        "brief": BRIEF,
        "application": APPLICATION,
        "register": REGISTER,
    }
    tells = frozenset({Topic.TERMS})
    promises = ("M1", "M2", "M3", "M4")
    promises_over = ("M5", "M6", "M7")
    form_promises_over = dict.fromkeys(("application", "register"), ("M8", "M9"))
    assumptions = (Assumption.BOUNDED_CLOCKS,)
    assumptions_over = (Assumption.BOUNDED_DELAY,)
    growing = ("stable.promise.epoch", "round")
    outputs = {"roster": "roster"}

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.parameters = Parameters.of(members, timing, self.rules)
        if self.parameters.tells:
            self.tells = self.tells | {Topic.CANDIDATES}
        if self.lift.inner.begins_by:
            self.begins_by = self.lift.requests
        elif self.parameters.tells and not any(members.attributes) and not self.rules.first:
            self.begins_by = (Stand,)
        if self.rules.constants == "sound":
            self.parameters.expect_sound()

    def inside(self, members: Members) -> Members:
        # Priorities act by transfers: an election inside that they disturb would do so for ever.
        return members.unranked

    def boot(self, me: NodeId, stable: Any) -> Result[AnyState]:
        inner, effects = self.lift.boot(me, stable)
        keeps = stable is not None and self.rules.durable == "yes"
        promise = stable.promise if keeps else Promise()
        roster = stable.roster if keeps else self.parameters.first_roster()
        bound = promise.holder if self.rules.boot == "bound" and promise.holder != me else None
        is_longer = keeps and (bound or self.parameters.waits_to_change())
        granted = max(stable.granted if is_longer else 0, self.parameters.binds)
        s: AnyState = MandateState(me, MandateStable(promise, inner.stable, roster, granted), inner)
        everybody = self.parameters.voters(s) if self.parameters.tells else self.members.ids
        s = replace(s, alive=frozenset(everybody))
        effects = [] if self._is_deaf(s) else effects
        if promise.holder == me:
            # The work died with my last life: nobody has to wait for the end of its lease.
            effects = [*self.parameters.to_others(s, Release(promise.epoch)), *effects]
        elif bound is not None:
            s, binding = voter.bind_again(self.parameters, s, bound)
            effects = [*binding, *effects]
        first = self.members.attribute(me) if any(self.members.attributes) else self.rules.first
        if self.parameters.tells and first:
            before = s
            s, told = ranks.stand(self.parameters, s, first)
            s, effects = self._follow(before, s, [*effects, *told])
        return self._wait_for_another(None, *self._stand(s, effects))

    def step(self, s: AnyState, event: Event) -> Result[AnyState]:
        before = s
        match event:
            case Received(j, _) if j not in self.members:
                return s, []
            case Received(j, message) if isinstance(message, MESSAGES):
                taken = (s, []) if j == s.me else self._hear(s, j, message)
            case TimedOut(timer) if timer in WAITS:
                taken = self._run_out(s, Wait(timer))
            case Asked(request) if isinstance(request, REQUESTS):
                taken = self._obey(s, request)
            case Viewed(alive):
                s, heard = ranks.await_only(s, s.unheard & alive)
                s, effects = self._show(replace(s, alive=alive, hushed=s.hushed & alive))
                taken = s, [*heard, *effects, *voter.hope(self.parameters, s)]
            case Received(j, _):
                s, effects = self._notice(s, j, silent=False)
                taken = self._inside(s, event, effects)
            case _:
                taken = self._inside(s, event, [])
        return self._wait_for_another(before, *self._stand(*self._follow(before, *taken)))

    def view(self, s: AnyState) -> Standing:
        promise, wish = s.stable.promise, s.wish if self.parameters.tells else None
        if s.office is not None:
            status = Status.NORMAL if s.phase is Phase.HOLDING else Status.REORGANIZATION
            return Standing(status, s.me, None, s.office, promise.epoch, wish)
        holder = promise.holder
        if holder is not None and holder == s.bound and holder in self.members:
            return Standing(Status.NORMAL, holder, None, Wait.GRANTED, promise.epoch, wish)
        return Standing(Status.ELECTION, priority=wish)

    def grown(self, state: AnyState) -> tuple[int, ...]:
        epoch, *others = super().grown(state)
        # In every era epochs are counted anew.
        return (epoch % self.rules.era if self.rules.era else epoch, *others)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        stands = (
            Stand(each) for each in PRIORITIES if self.parameters.tells and each != view.priority
        )
        asked = (*stands, *self.lift.may_ask(Standing(Status.ELECTION)))
        if self.rules.confirms == "offered" and view.until in (Wait.EVEN, Wait.ODD):
            asked = (*asked, Confirm())
        if view.status is Status.REORGANIZATION:
            return (Ended(), *asked)
        others = [node for node in self.members.ids if node != view.leader]
        if view.status is Status.NORMAL and self.rules.orders != "none":
            asked = (*asked, *map(Order, (None, *others)))
        if view.until not in (Wait.EVEN, Wait.ODD):
            return asked
        may_change = self.rules.base and self.rules.changes == "own"
        changes = (kind(node) for kind in (Add, Remove) for node in others if may_change)
        return (StepDown(), *map(Transfer, others), *changes, *asked)

    def _stand(self, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
        """After every event: a node that is named and free stands for office."""
        more: list[Effect] = []
        if s.bound == s.me:
            stopped = {Phase.POLLING: Wait.ANSWER, Phase.WAITING: Wait.RETRY}.get(s.phase)
            effects = effects if stopped is None else [*effects, CancelTimer(stopped)]
            s, more = candidate.claim(self.parameters, s)
        elif s.phase is Phase.IDLE and (self._is_named(s) or self._is_silent(s)):
            if self.rules.poll == "ask" or s.silent:
                was_silent = s.silent
                s, more = self._polled(*candidate.poll(self.parameters, s))
                if was_silent and not s.silent:
                    # By itself it is a majority now, and nobody may ever say a word to it again.
                    return self._stand(s, [*effects, *more])
            else:
                s, more = candidate.claim(self.parameters, s)
        return s, [*effects, *more]

    def _claimed(
        self, s: AnyState, j: NodeId, claim: Claim | Decree, roster: Roster
    ) -> Result[AnyState]:
        s, effects = self._notice(s, j, silent=False)
        s, more = voter.answer_claim(self.parameters, s, j, claim, roster)
        return s, [*more, *effects]

    def _hear(self, s: AnyState, j: NodeId, message: Message) -> Result[AnyState]:
        if not self.parameters.is_credible(s, message):
            return s, []
        match message:
            case Poll(silent):
                s, effects = self._notice(s, j, silent=silent)
                return s, [voter.answer_poll(s, j), *effects]
            case Back():
                return self._notice(s, j, silent=False)
            case Claim() if not self.parameters.has_members(s):
                return s, []
            case Claim():
                return self._claimed(s, j, message, Roster())
            case Decree() | Listed() if not self.rules.base:
                return s, []
            case Decree(roster=roster):
                return self._claimed(s, j, message, roster)
            case Listed(roster) if change.is_heeded(self.parameters, s, roster):
                return candidate.heed(self.parameters, s, roster)
            case Listed(roster) if self._lists:
                return candidate.compare(self.parameters, s, j, roster)
            case Free() | Bound() if s.phase is Phase.HOLDING and j == s.joining:
                return candidate.change_members(
                    self.parameters, s, change.welcome(self.parameters, s, j)
                )
            case Release():
                return voter.take_release(self.parameters, s, j, message)
            case Free(epoch) if s.phase is Phase.POLLING:
                free = replace(s, votes=s.votes | {j}, heard=max(s.heard, epoch))
                return self._polled(replace(free, reached=s.reached | {j}), [])
            case Bound() if s.phase is Phase.POLLING:
                return self._polled(replace(s, reached=s.reached | {j}), [])
            case Grant():
                return candidate.take_grant(self.parameters, s, j, message)
            case Offer(epoch) if not self._is_deaf(s):
                return s, [voter.wish_for(self.parameters, s, j, epoch)]
            case Stands() if self.parameters.tells:
                return ranks.hear(s, j, message)
            case Resign(epoch, heir) if self._is_ordered(s, j, epoch):
                return self._give_up(s, heir)
            case Wish(epoch) if s.phase is Phase.HOLDING and epoch == s.stable.promise.epoch:
                return self._wished(s, j, message)
        return s, []

    def _wished(self, s: AnyState, j: NodeId, wish: Wish) -> Result[AnyState]:
        """Hand over to my heir, or to one of a higher priority; any other may not know mine."""
        if self.parameters.tells and self.rules.wished == "told":
            s = ranks.noted(s, j, wish.priority)
        if j == s.heir or self.parameters.preempts(s, j, s.me):
            return candidate.step_down(self.parameters, s, j)
        is_told = self.parameters.tells and self.rules.refusal == "told"
        return s, [Send(j, Stands(s.wish))] if is_told else []

    def _run_out(self, s: AnyState, wait: Wait) -> Result[AnyState]:
        match wait:
            case Wait.ANSWER if s.phase is Phase.POLLING:
                return self._unanswered(s)
            case Wait.ANSWER if s.phase is Phase.CLAIMING:
                return candidate.withdraw(self.parameters, s, wait)
            case Wait.RETRY if s.phase is Phase.WAITING:
                return replace(s, phase=Phase.IDLE), []
            case Wait.RENEW if s.phase in (Phase.HOLDING, Phase.ENDING):
                return candidate.renew(self.parameters, s)
            case Wait.EVEN | Wait.ODD:
                return candidate.run_out(self.parameters, s, wait)
            case Wait.GRANTED:
                s, effects = voter.free(self.parameters, s)
                return s, effects[1:]
            case Wait.GRACE if s.phase is Phase.ENDING:
                return candidate.lapse(s)
            case Wait.PREEMPT:
                return voter.wish(self.parameters, s)
            case Wait.SETTLE if s.office is not None:
                return replace(self.parameters.outlasted(s), settled=True), []
            case Wait.SHOW:
                return s, self._remind(s)
            case Wait.HEAR if s.unheard:
                s, effects = ranks.await_only(s, frozenset())
                return s, effects[1:]
        return s, []

    def _obey(self, s: AnyState, request: Request) -> Result[AnyState]:
        match request, s.phase:
            case Stand(priority), _ if self.parameters.tells:
                return self._obey_stand(s, priority)
            case StepDown(), Phase.HOLDING:
                return self._give_up(s, None)
            case Transfer(heir), Phase.HOLDING:
                return self._give_up(s, heir)
            case Order(heir), _ if self.rules.orders != "none":
                return self._order(s, heir)
            case Confirm(), Phase.HOLDING | Phase.ENDING:
                return candidate.renew(self.parameters, s)
            case Ended(), Phase.ENDING:
                return candidate.finish(self.parameters, s)
            case Add(newcomer), _:
                return change.add(self.parameters, s, newcomer)
            case Remove(member), _:
                changed = change.remove(self.parameters, s, member)
                return candidate.change_members(self.parameters, s, changed)
            case Adopt(roster), _ if self._is_told(s, roster):
                return candidate.heed(self.parameters, s, roster)
            case Found(roster), _ if not (self.parameters.has_members(s) or roster.is_fixed):
                return candidate.heed(self.parameters, s, roster)
        return s, []

    def _order(self, s: AnyState, heir: NodeId | None) -> Result[AnyState]:
        """Give up my office; if another node is in office, tell it to, and which term is meant."""
        holder = s.stable.promise.holder
        if s.phase is Phase.HOLDING:
            return self._give_up(s, heir)
        if holder is None or holder != s.bound or holder == s.me:
            return s, []
        return s, [Send(holder, Resign(s.stable.promise.epoch, heir))]

    def _is_ordered(self, s: AnyState, j: NodeId, epoch: int) -> bool:
        """Whether the order of another node is for my present term, and for it to give."""
        if s.phase is not Phase.HOLDING or j not in self.parameters.voters(s):
            return False
        means_this = epoch == s.stable.promise.epoch
        return self.rules.orders == "late" or (self.rules.orders == "members" and means_this)

    def _give_up(self, s: AnyState, heir: NodeId | None) -> Result[AnyState]:
        """Step down; an heir is asked first whether it accepts the office."""
        if heir is None:
            return candidate.step_down(self.parameters, s, None)
        if heir not in self.parameters.voters(s) or heir == s.me:
            return s, []
        return replace(s, heir=heir), [Send(heir, Offer(s.stable.promise.epoch))]

    def _obey_stand(self, s: AnyState, priority: int) -> Result[AnyState]:
        """A node that stands no more asks for nothing, and leaves once its work has ended."""
        effects: list[Effect] = []
        match s.phase:
            case Phase.CLAIMING if not priority:
                s, effects = candidate.withdraw(self.parameters, s, None)
            case Phase.POLLING if not (priority or s.silent):
                s, effects = replace(s, **AT_REST), [CancelTimer(Wait.ANSWER)]
            case Phase.HOLDING if not priority:
                s, effects = candidate.step_down(self.parameters, s, None)
        s, told = ranks.stand(self.parameters, s, priority)
        return s, [*effects, *told]

    def _is_told(self, s: AnyState, roster: Roster) -> bool:
        """Whether it is a list that I have to use."""
        is_mine = self.rules.base and self.rules.changes == "told"
        return bool(is_mine) and change.is_heeded(self.parameters, s, roster)

    def _polled(self, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
        """With enough answers: claim, or, after a silence, take part again."""
        if s.silent and self.parameters.majority(s, s.reached):
            s, more = self._speak_up(s)
        elif (
            self.parameters.majority(s, s.votes)
            and not s.silent
            and s.me in self.parameters.voters(s)
        ):
            s, more = candidate.claim(self.parameters, s)
        else:
            return s, effects
        return s, [*effects, *more]

    def _unanswered(self, s: AnyState) -> Result[AnyState]:
        """Too few are free; if too few have answered at all, leave the election to others."""
        is_alone = not (s.silent or self.parameters.majority(s, s.reached))
        inner = self.lift.inner
        is_among_others = inner.uses_views or inner.messages
        if not (is_alone and is_among_others) or self.rules.silence == "never":
            return candidate.wait(s, [self.parameters.set(Wait.RETRY)])
        s, effects = candidate.poll(self.parameters, replace(s, silent=True))
        return s, [*self.lift.silenced(), *effects]

    # --- the election inside: who has a part in it, and what it is shown ---

    def _is_named(self, s: AnyState) -> bool:
        """Whether I should lead, and may try."""
        return s.bound is None and not self._is_deaf(s) and self.lift.view(s).leader == s.me

    def _is_deaf(self, s: AnyState) -> bool:
        """Whether I have no part in the election inside."""
        return (
            s.silent or self.parameters.is_witness(s, s.me) or s.me not in self.parameters.voters(s)
        )

    def _awaited(self, s: AnyState) -> NodeId | None:
        """The node to which I leave the office, if I have not heard of it in office.

        It may not have my list, or may not stand any more.
        """
        is_free = s.bound is None and s.phase is Phase.IDLE and not self._is_deaf(s)
        if not is_free or not (self._lists or self._doubts):
            return None
        leader = self.lift.view(s).leader
        return None if leader == s.me else leader

    def _is_silent(self, s: AnyState) -> bool:
        """Whether I look for a majority so that I may have a part again."""
        return s.silent and s.me in self.parameters.voters(s)

    def _speak_up(self, s: AnyState) -> Result[AnyState]:
        """A majority answers again: boot the election inside anew, and tell all."""
        told = self.parameters.to_others(s, Back()) if self.rules.silence == "told" else []
        s, effects = self._take_part(replace(s, **AT_REST, silent=False))
        return s, [CancelTimer(Wait.ANSWER), *told, *effects]

    def _take_part(self, s: AnyState) -> Result[AnyState]:
        """Boot the election inside anew."""
        inner, effects = self.lift.boot(s.me, s.stable)
        s, more = self._show(self.lift.into(s, inner))
        return s, [*effects, *more]

    def _follow(self, before: AnyState, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
        """If members or candidates have changed: newcomers take part, those that left do not."""
        if before.stable.roster != s.stable.roster:
            s = ranks.kept(self.parameters, s)
            if self.parameters.tells and s.wish and not self.parameters.has_members(before):
                # It has told nobody yet that it stands, and has heard of nobody.
                s, told = ranks.stand(self.parameters, replace(s, wish=0, ranks=()), s.wish)
                effects = [*effects, *told]
        elif before.ranks == s.ranks:
            return s, effects
        effects = [*effects, *ranks.compared(self.parameters, before, s)]
        if self._is_deaf(s):
            more: list[Effect] = [] if self._is_deaf(before) else self.lift.silenced()
        elif self._is_deaf(before) and not before.silent:
            s, more = self._take_part(s)
        else:
            s, more = self._show(s)
        return s, [*effects, *more]

    def _wait_for_another(
        self, before: AnyState | None, s: AnyState, effects: list[Effect]
    ) -> Result[AnyState]:
        """Count how long I have left the office to another. A node that boots has not done so."""
        did = before is not None and self._awaited(before) is not None
        does = self._awaited(s) is not None
        if did == does:
            return s, effects
        return s, [*effects, self.parameters.set(Wait.SHOW) if does else CancelTimer(Wait.SHOW)]

    @property
    def _lists(self) -> bool:
        """Whether nodes show each other their lists: not all may have heard of a change."""
        return bool(self.rules.base) and (self.rules.changes == "own" or self.parameters.tells)

    @property
    def _doubts(self) -> bool:
        """Whether what another node has said about standing may be out of date."""
        return self.parameters.tells and self.rules.awaited == "asked"

    def _remind(self, s: AnyState) -> list[Effect]:
        """Show my list to the node I wait for, and ask whether it stands, again and again.

        Otherwise nobody might ever come into office: it may not know yet that it was added, or I
        may not know that it was removed, or that it stands no more. If it has a newer list, it
        sends me that.
        """
        awaited = self._awaited(s)
        if awaited is None:
            return []
        shown = [Listed(s.stable.roster)] if self._lists else []
        asked = [Stands(s.wish, asks=True)] if self._doubts else []
        return [*(Send(awaited, each) for each in (*shown, *asked)), self.parameters.set(Wait.SHOW)]

    def _notice(self, s: AnyState, j: NodeId, *, silent: bool) -> Result[AnyState]:
        """Take note of whether j has a part in the election inside."""
        if silent is (j in s.hushed) or not self.lift.inner.uses_views:
            return s, []
        return self._show(replace(s, hushed=s.hushed | {j} if silent else s.hushed - {j}))

    def _show(self, s: AnyState) -> Result[AnyState]:
        """Show the election inside which members take part in it."""
        members = frozenset(
            j for j in self.parameters.voters(s) if not self.parameters.is_witness(s, j)
        )
        shown = (s.alive - s.hushed) & members | {s.me}
        if self.parameters.tells:
            # Inside, nodes rank by id: it sees only the best of those that stand.
            shown = ranks.best(self.parameters, s, shown)
        return self._inside(s, Viewed(shown), [])

    def _inside(self, s: AnyState, event: Event, effects: list[Effect]) -> Result[AnyState]:
        """Let the election inside take an event, unless I have no part in it."""
        if self._is_deaf(s):
            return s, effects
        s, more = self.lift.step(s, event)
        return s, [*effects, *more]


WAITS = frozenset(Wait)
PRIORITIES = (0, 1, 2)
"""What applications ask for in a search."""
