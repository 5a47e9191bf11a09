"""Token mutex: the node with the token may enter; it goes round a ring on demand.

Source: G. Le Lann, "Distributed Systems: Towards a Formal Approach", IFIP Congress 1977, has the
token that goes round a ring; that it rests until somebody wants it is ours. It stands beside the
elections because Souto, Albano and the Carnegie Mellon notes ask how the two differ.
Needs: nobody crashes, no message is lost, and none overtakes another on its channel. Otherwise
everybody waits for ever: run token_mutex/dies_inside.

A node is outside, waits, or is inside. To an application, who is inside leads, and who waits is in
an election; nobody else is told who is inside.
"""

from enum import StrEnum
from typing import Literal

from msgspec.structs import replace

from electorate.core import *


class Wanted(Message):
    """This node waits for the token: pass it on until you have it."""

    by: NodeId


class Token(Message):
    """The node that takes me may enter. These wait for me, as far as I know."""

    waiting: tuple[NodeId, ...]


class Enter(Request):
    """Let me in."""


class Phase(StrEnum):
    """Where a node is."""

    OUTSIDE = "outside"
    WAITING = "waiting"
    INSIDE = "inside"


class TokenMutexRules(Rules):
    """What can be chosen."""

    wants: Literal["asked", "always"] = "asked"
    """When a node wants to enter: when it is asked to, or again and again."""
    next: Literal["ring", "strongest"] = "ring"
    """Which node gets the token: the next one on the ring that waits, or the strongest that
    waits."""
    work: Span = T
    """How long a node stays inside."""
    rest: Span = T
    """How long it stays outside, if it always wants to enter."""


class TokenMutexState(State):
    """One node's part."""

    phase: Phase = Phase.OUTSIDE
    has_token: bool = False
    waiting: tuple[NodeId, ...] = ()
    """Who waits for the token that I have, as far as I know."""


class TokenMutex(Machine[TokenMutexState]):
    """A request runs after the token; the token goes on round the ring until somebody takes it."""

    state_type = TokenMutexState
    rules_type = TokenMutexRules
    messages = (Wanted, Token)
    requests = (Enter,)
    timers = (Timer("work"), Timer("rest"))
    promises = ("S2", "L2")
    assumptions = (Assumption.NO_CRASH, Assumption.NO_LOSS, Assumption.FIFO)

    def boot(self, me: NodeId, stable: Stable | None) -> Result[TokenMutexState]:
        # There is one token, made on the very first start; who comes back has none.
        first = stable is None and me == self.members.strongest_of(self.members.ids)
        return self._rest(TokenMutexState(me, Stable(), has_token=first))

    def step(self, s: TokenMutexState, event: Event) -> Result[TokenMutexState]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []

            case Asked(Enter()) | TimedOut("rest") if s.phase is Phase.OUTSIDE:
                if s.has_token:
                    return self._enter(s)
                return replace(s, phase=Phase.WAITING), [self._next(s, Wanted(s.me))]
            case TimedOut("work") if s.phase is Phase.INSIDE:
                left, effects = self._rest(replace(s, phase=Phase.OUTSIDE))
                done, passed = self._pass_on(left)
                return done, [*effects, *passed]

            case Received(_, Wanted(i)) if i in self.members.ids and i != s.me:
                if not s.has_token:
                    return s, [self._next(s, Wanted(i))]
                noted = replace(s, waiting=self._with(s.waiting, i))
                return (noted, []) if s.phase is Phase.INSIDE else self._pass_on(noted)
            # My own request met nobody who has the token, so the token was before it all the way,
            # and has passed me meanwhile: it knows that I wait.

            case Received(_, Token(waiting)) if not s.has_token:
                if not set(waiting) <= set(self.members.ids):
                    return s, []
                has = replace(s, has_token=True, waiting=waiting)
                if s.phase is Phase.WAITING and self._is_my_turn(s, waiting):
                    return self._enter(has)
                if s.phase is Phase.WAITING:
                    has = replace(has, waiting=self._with(waiting, s.me))
                return self._pass_on(has)
        return s, []

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        idle = view.status is Status.NORMAL and view.leader is None
        return (Enter(),) if idle and self.rules.wants == "asked" else ()

    def hears(self, node: NodeId) -> tuple[NodeId, ...]:
        """Messages come from the node before, on the ring."""
        ids = self.members.ids
        return (ids[ids.index(node) - 1],)

    def view(self, s: TokenMutexState) -> Standing:
        match s.phase:
            case Phase.INSIDE:
                return Standing(Status.NORMAL, s.me)
            case Phase.WAITING:
                return Standing(Status.ELECTION)
            case Phase.OUTSIDE:
                return Standing(Status.NORMAL)

    def _is_my_turn(self, s: TokenMutexState, waiting: tuple[NodeId, ...]) -> bool:
        if self.rules.next == "ring":
            return True
        return self.members.strongest_of((*waiting, s.me)) == s.me

    def _enter(self, s: TokenMutexState) -> Result[TokenMutexState]:
        others = tuple(i for i in s.waiting if i != s.me)
        inside = replace(s, phase=Phase.INSIDE, waiting=others)
        return inside, [self.set_timer("work")]

    def _pass_on(self, s: TokenMutexState) -> Result[TokenMutexState]:
        """Send the token on for those that wait; it rests here if nobody does."""
        # I may be among them by a request that was overtaken by the token itself.
        others = tuple(i for i in s.waiting if i != s.me or s.phase is Phase.WAITING)
        if not others:
            return replace(s, waiting=()), []
        return replace(s, has_token=False, waiting=()), [self._next(s, Token(others))]

    def _rest(self, s: TokenMutexState) -> Result[TokenMutexState]:
        if self.rules.wants == "asked":
            return s, []
        return s, [self.set_timer("rest")]

    def _with(self, waiting: tuple[NodeId, ...], i: NodeId) -> tuple[NodeId, ...]:
        return tuple(sorted({*waiting, i}))

    def _next(self, s: TokenMutexState, message: Message) -> Effect:
        ids = self.members.ids
        return Send(ids[(ids.index(s.me) + 1) % len(ids)], message)
