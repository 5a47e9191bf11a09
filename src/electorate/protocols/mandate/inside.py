"""The election inside a mandate: who has a part in it, and what it is shown."""

from typing import Any

from msgspec.structs import replace

from electorate.core import (
    CancelTimer,
    Effect,
    Event,
    Members,
    NodeId,
    Over,
    Result,
    Send,
    Timing,
    Viewed,
)
from electorate.protocols.mandate.message import Back, Listed
from electorate.protocols.mandate.rule import MandateRules, Terms
from electorate.protocols.mandate.state import AnyState, Phase, Wait
from electorate.protocols.mandate.voter import AT_REST


class Electing(Over[Any]):
    """Lets an election run inside, among those members that may lead and reach a majority."""

    rules: MandateRules

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        if self.lift.inner.begins_by:
            self.begins_by = self.lift.requests
        self.terms = Terms(members, timing, self.rules)
        if self.rules.constants == "sound":
            self.terms.expect_sound()

    def inside(self, members: Members) -> Members:
        # Priorities act by transfers: an election inside that they disturb would do so for ever.
        if self.rules.named == "priority":
            return members
        return Members.of(members.ids, members.strongest)

    def _is_named(self, s: AnyState) -> bool:
        """Whether I should lead, and may try."""
        return s.bound is None and not self._is_deaf(s) and self.lift.view(s).leader == s.me

    def _is_deaf(self, s: AnyState) -> bool:
        """Whether I have no part in the election inside."""
        return s.silent or self.terms.is_witness(s.me) or s.me not in self.terms.voters(s)

    def _awaited(self, s: AnyState) -> NodeId | None:
        """Whom I leave the office to, and have not heard of in it. It may not have my list."""
        is_free = s.bound is None and s.phase is Phase.IDLE and not self._is_deaf(s)
        if not is_free or not self.rules.base or self.rules.changes == "told":
            return None
        leader = self.lift.view(s).leader
        return None if leader == s.me else leader

    def _is_silent(self, s: AnyState) -> bool:
        """Whether I look for a majority so that I may have a part again."""
        return s.silent and s.me in self.terms.voters(s)

    def _speak_up(self, s: AnyState) -> Result[AnyState]:
        """A majority answers again: boot the election inside anew, and tell all."""
        told = self.terms.to_others(s, Back()) if self.rules.silence == "told" else []
        s, effects = self._take_part(replace(s, **AT_REST, silent=False))
        return s, [CancelTimer(Wait.ANSWER), *told, *effects]

    def _take_part(self, s: AnyState) -> Result[AnyState]:
        """Boot the election inside anew."""
        inner, effects = self.lift.boot(s.me, s.stable)
        s, more = self._show(self.lift.into(s, inner))
        return s, [*effects, *more]

    def _follow(self, before: AnyState, s: AnyState, effects: list[Effect]) -> Result[AnyState]:
        """If the list of members has changed: who has come takes part, who has gone does not."""
        if before.stable.roster == s.stable.roster:
            return s, effects
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
        """Count how long I have left the office to another. Who boots has not done so before."""
        did = before is not None and self._awaited(before) is not None
        does = self._awaited(s) is not None
        if did == does:
            return s, effects
        return s, [*effects, self.terms.set(Wait.SHOW) if does else CancelTimer(Wait.SHOW)]

    def _show_list(self, s: AnyState) -> list[Effect]:
        """Show my list to whom I wait for, again and again; who has a newer one sends me that.

        Otherwise nobody might ever come into office: it may not know yet that it was added, or I
        may not know that it was removed.
        """
        awaited = self._awaited(s)
        if awaited is None:
            return []
        return [Send(awaited, Listed(s.stable.roster)), self.terms.set(Wait.SHOW)]

    def _notice(self, s: AnyState, j: NodeId, *, silent: bool) -> Result[AnyState]:
        """Take note of whether j has a part in the election inside."""
        if silent is (j in s.hushed) or not self.lift.inner.uses_views:
            return s, []
        return self._show(replace(s, hushed=s.hushed | {j} if silent else s.hushed - {j}))

    def _show(self, s: AnyState) -> Result[AnyState]:
        """Show the election inside who has a part in it."""
        members = frozenset(j for j in self.terms.voters(s) if not self.terms.is_witness(j))
        return self._inside(s, Viewed((s.alive - s.hushed) & members | {s.me}), [])

    def _inside(self, s: AnyState, event: Event, effects: list[Effect]) -> Result[AnyState]:
        """Let the election inside take an event, unless I have no part in it."""
        if self._is_deaf(s):
            return s, effects
        s, more = self.lift.step(s, event)
        return s, [*effects, *more]
