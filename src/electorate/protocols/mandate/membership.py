"""Membership: who has a vote in all elections of a node, changed by one node at a time.

The list is that of a mandate of its own, the register. A node that is asked for a change stands for
it, makes the one change that a term allows, tells all others, and leaves. An undecided change costs
every election a majority of two lists, so one that its maker seems to have left is taken up by the
others in turn.

Source: this project's own design, told in docs/protocols/leadership.md.

Needs: what the mandate needs.
"""

from typing import Any, Generic, Literal

from msgspec.structs import replace

from electorate.core import *
from electorate.protocols.mandate.message import Add, Ended, Found, Listed, Remove, Stand
from electorate.protocols.mandate.state import AnyState, Inner, Kept, Phase, Roster

CARE, RENEWED = "care", "inner.renew"


class Change(Request):
    """Have this node be a member from now on, or not."""

    node: NodeId
    belongs: bool


class Hold(Request):
    """Hold the register, and change nothing, until that is withdrawn."""


class Settle(Request):
    """Have a change decided that another node has begun."""


class Withdraw(Request):
    """Do not go on with what was asked for: it may have come about, or may still do so."""


class Show(Request):
    """Let this node know the list: it has another one."""

    node: NodeId


class MembershipRules(OverRules):
    """What may be varied. The defaults are the sound form."""

    care: Span = 10 * T
    """How long an undecided change is left to others, times my place in the list."""
    reach: Literal["majority", "any"] = "majority"
    """Whether a change is proposed only if more than half of those that would then be members seem
    to be alive: without them it would stop every election."""
    told: Literal["all", "voters"] = "all"
    """Which nodes are told once a change is decided: all, or those that have voted in that
    round."""
    left: Literal["taken-up", "left"] = "taken-up"
    """What becomes of a change whose maker is gone."""


class MembershipStable(Stable, Generic[Kept]):
    """What survives a crash: the register's."""

    inner: Kept


class MembershipState(State, Generic[Inner, Kept]):
    """One node's part."""

    stable: MembershipStable[Kept]
    inner: Inner
    wish: Change | Hold | None = None
    """What this node was asked for, and has not done yet."""
    cares: bool = False
    """Whether it stands only to have a change decided that another node has begun."""


class Membership(Over[Any]):
    """A register, and the change that this node is asked for."""

    rules: MembershipRules
    state_type = MembershipState
    stable_type = MembershipStable
    rules_type = MembershipRules
    requests = (Change, Hold, Settle, Withdraw, Show, Found)
    timers = (Timer(CARE),)
    tells = frozenset({Topic.TERMS})
    promises = ("M1", "M2", "M3", "M4")
    assumptions = (Assumption.BOUNDED_CLOCKS,)
    begins_by = (Change,)
    outputs = {"roster": "inner.roster"}

    def inside(self, members: Members) -> Members:
        # Whoever is asked for a change stands; with which priority applications stand is another's.
        return members.unranked

    def boot(self, me: NodeId, stable: Any) -> Result[Any]:
        inner, effects = self.lift.boot(me, stable)
        s = MembershipState(me, MembershipStable(inner.stable), inner)
        return self._pursued(None, s, effects)

    def step(self, s: Any, event: Event) -> Result[Any]:
        before, effects, again = s, list[Effect](), False
        match event:
            case Received(j, _) if j not in self.members:
                return s, []
            case Asked(Change() | Hold() as wish) if wish != s.wish:
                s = replace(s, wish=wish, cares=False)
            case Asked(Settle()) if s.wish is None:
                s = replace(s, cares=True)
            case Asked(Withdraw()) if s.wish is not None or s.cares:
                s, effects = self._left(replace(s, wish=None, cares=False))
            case Asked(Show(j)) if j in self.members and j != s.me:
                return s, self._shown(s, j)
            case Asked(Found() as founded):
                s, effects = self._ask(s, founded)
            case TimedOut(timer) if timer == CARE:
                s = replace(s, cares=s.wish is None)
            case _:
                again = event == TimedOut(RENEWED)
                s, effects = self.lift.step(s, event)
        return self._pursued(before, s, effects, again=again)

    def view(self, s: Any) -> Standing:
        return self.lift.view(s)

    def judged(self, stable: Any) -> Stable:
        return self.lift.inner.judged(stable.inner)

    def offers(self, state: Any, view: Standing) -> tuple[Request, ...]:
        if state.wish is not None:
            return (Withdraw(),)
        members = state.inner.stable.roster.new
        others = [node for node in self.members.ids if node != state.me]
        return tuple(Change(node, node not in members) for node in others)

    # --- what was asked for ---

    def _pursued(
        self, before: Any, s: Any, effects: list[Effect], *, again: bool = False
    ) -> Result[Any]:
        """After every event: do the next thing for the change."""
        s, more = self._next(s, again=again)
        return s, [*effects, *more, *self._cared(before, s)]

    def _next(self, s: Any, *, again: bool) -> Result[Any]:
        inner: AnyState = s.inner
        wants = s.wish is not None or s.cares
        if not wants:
            return s, []
        if self._is_done(s):
            return self._finished(s)
        if not inner.wish:
            return self._ask(s, Stand(1))
        if inner.phase is not Phase.HOLDING:
            return s, []
        if self._is_used_up(inner):
            # One change in a term: this one was another's.
            s, effects = self._left(s)
            s, more = self._ask(s, Stand(1))
            return s, [*effects, *more]
        return self._propose(s, again=again)

    def _is_done(self, s: Any) -> bool:
        """Whether what was asked for has happened."""
        roster: Roster = s.inner.stable.roster
        match s.wish:
            case Change(node, belongs):
                return not roster.is_pending and (node in roster.new) is belongs
            case Hold():
                return False
        return not roster.is_pending

    def _is_used_up(self, inner: AnyState) -> bool:
        roster = inner.stable.roster
        token, number = roster.version
        return token == inner.stable.promise.epoch and number > 0 and not roster.is_pending

    def _propose(self, s: Any, *, again: bool) -> Result[Any]:
        """Make the change, as soon as the register lets this node."""
        match s.wish:
            case Change(node, belongs) if self._is_carried(s.inner, node, belongs=belongs):
                if not belongs:
                    return self._ask(s, Remove(node))
                if again or s.inner.joining != node:
                    return self._ask(s, Add(node))
        return s, []

    def _is_carried(self, inner: AnyState, node: NodeId, *, belongs: bool) -> bool:
        """Whether those that would then be members can go on by themselves."""
        new = {*inner.stable.roster.new} - {node} | ({node} if belongs else set())
        return self.rules.reach == "any" or 2 * len(new & inner.alive) > len(new)

    def _finished(self, s: Any) -> Result[Any]:
        """It is decided: a node that only voted does not know yet that enough others have."""
        others = [j for j in s.inner.stable.roster.everybody if j != s.me]
        is_mine = s.inner.wish and self.rules.told == "all"
        told = [each for j in others if is_mine for each in self._shown(s, j)]
        s, effects = self._left(replace(s, wish=None, cares=False))
        return s, [*told, *effects]

    def _left(self, s: Any) -> Result[Any]:
        """Leave the register, or do not stand for it any more."""
        if not s.inner.wish:
            return s, []
        s, effects = self._ask(s, Stand(0))
        s, more = self._ask(s, Ended())
        return s, [*effects, *more]

    def _ask(self, s: Any, request: Request) -> Result[Any]:
        return self.lift.step(s, Asked(self.lift.request(request)))

    def _shown(self, s: Any, j: NodeId) -> list[Effect]:
        """Show the list to another node, unless it was never changed, or is not decided."""
        roster: Roster = s.inner.stable.roster
        if roster.version == Roster().version or roster.is_pending:
            return []
        return [Send(j, self.lift.messages[0](Listed(roster)))]

    # --- what others have begun ---

    def _cared(self, before: Any, s: Any) -> list[Effect]:
        """Count how long a change has been undecided that another node has begun."""
        did, does = self._awaited(before), self._awaited(s)
        if did == does:
            return []
        if does is None:
            return [CancelTimer(CARE)]
        # Perhaps nobody else knows of it; but if many do, they need not all begin at once.
        turn = 1 + does.everybody.index(s.me)
        return [SetTimer(CARE, turn * self.rules.care.of(self.timing))]

    def _awaited(self, s: Any) -> Roster | None:
        """The undecided list that others have to finish."""
        if s is None or s.cares or s.wish is not None or self.rules.left == "left":
            return None
        roster: Roster = s.inner.stable.roster
        return roster if roster.is_pending and s.me in roster.everybody else None
