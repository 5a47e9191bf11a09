"""Shared work: a group shares out a job; groups that merge throw out duplicates and join the rest.

Source: "Coordinator Election", lecture notes of Carnegie Mellon University, the last paragraph of
"The Invitation Algorithm": coordinators see to it that participants work on different portions of a
problem, and a merge of groups throws out duplicate work and assembles the partial results.
Needs: nothing for the results: what was done is saved, and joined whenever groups merge. For an end
of it: whatever Invitation, which runs inside, needs for a single group.

    electorate check examples/shared_work/protocol.py:SharedWork --nodes 2 --rule items=2
"""

from enum import StrEnum
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from electorate.core import (
    Assumption,
    CancelTimer,
    Effect,
    Event,
    Message,
    NodeId,
    Over,
    Received,
    Result,
    Send,
    SetTimer,
    Span,
    Stable,
    Standing,
    State,
    Status,
    T,
    TimedOut,
    Timer,
    Topic,
    Value,
)
from electorate.core.lift import OverRules
from electorate.protocols.invitation import Group, Invitation, InvitationRules


class Part(Value):
    """What came of one item, and who did it."""

    item: int
    result: int
    by: NodeId


Parts = frozenset[Part]


class Report(Message):
    """I am in your group and have nothing to do. This is what I know to be done."""

    group: Group
    parts: Parts


class Order(Message):
    """This is all that we know to be done. Do this item next, if there is one left."""

    group: Group
    item: int | None
    parts: Parts


class Wait(StrEnum):
    """The timers."""

    REPORTS = "reports"  # whoever is in my new group has told me what it knows
    EFFORT = "effort"  # the item is done
    AGAIN = "again"  # my leader would have answered my report by now
    OVERDUE = "overdue"  # whoever has been given an item would have done it by now


class SharedWorkRules(OverRules):
    """What may be varied."""

    inner: InvitationRules = InvitationRules()
    items: int = 36
    reports: Span = 2 * T
    effort: Span = 4 * T
    again: Span = 4 * T
    overdue: Span = 3 * T
    """On top of the effort."""


Inner = TypeVar("Inner", bound=State)
Kept = TypeVar("Kept", bound=Stable)


class SharedWorkStable(Stable, Generic[Kept]):
    """What survives a crash."""

    inner: Kept
    parts: Parts = frozenset()


class SharedWorkState(State, Generic[Inner, Kept]):
    """One node's part in the work."""

    stable: SharedWorkStable[Kept]
    inner: Inner
    group: Group | None = None
    """The group that I work in; None while work rests."""
    briefed: bool = False
    """Whether I know what my group knows."""
    item: int | None = None
    """What I am doing."""
    given: frozenset[tuple[NodeId, int]] = frozenset()
    """If I lead: who is doing what."""


Local = SharedWorkState[Any, Any]


class SharedWork(Over[Local]):
    """Invitation forms the groups; here a group's leader hands out items, one at a time."""

    state_type = SharedWorkState
    stable_type = SharedWorkStable
    rules_type = SharedWorkRules
    inner_kind = Invitation
    messages = (Report, Order)
    timers = tuple(Timer(wait) for wait in Wait)
    tells = frozenset({Topic.GROUPS})
    promises = ("A3", "A2")
    assumptions = (Assumption.BOUNDED_DELAY, Assumption.CLOSED_BOUNDS, Assumption.NO_PARTITION)

    rules: SharedWorkRules

    def boot(self, me: NodeId, stable: SharedWorkStable[Any] | None) -> Result[Local]:
        inner, effects = self.lift.boot(me, stable)
        kept = SharedWorkStable(inner.stable, stable.parts if stable else frozenset())
        return self._look(SharedWorkState(me, kept, inner), effects)

    def step(self, s: Local, event: Event) -> Result[Local]:
        match event:
            case Received(j, message) if not self._makes_sense(j, message):
                return s, []
            case Received(j, Report(group, parts)) if group == s.group and group[0] == s.me:
                knowing = _knowing(s, parts)
                return self._hand_out(knowing, j) if s.briefed else (knowing, [])
            case TimedOut(Wait.REPORTS) if s.group is not None and s.group[0] == s.me:
                return self._begin(s)
            case Received(j, Order(group, item, parts)) if group == s.group and group[0] == j:
                return self._obey(replace(_knowing(s, parts), briefed=True), item)
            case TimedOut(Wait.EFFORT) if s.item is not None:
                done = Part(s.item, self.result(s.item), s.me)
                return self._next(_knowing(replace(s, item=None), frozenset({done})))
            case TimedOut(Wait.AGAIN) if s.group is not None:
                return self._next(s)
            case TimedOut(Wait.OVERDUE) if s.group is not None:
                forgotten = replace(s, given=frozenset())
                return self._next(forgotten) if s.item is None else (forgotten, [])
        return self._look(*self.lift.step(s, event))

    def view(self, s: Local) -> Standing:
        view = self.lift.view(s)
        if view.status is Status.NORMAL and not s.briefed:
            return replace(view, status=Status.REORGANIZATION)
        return view

    def result(self, item: int) -> int:
        """The work itself: how many primes there are in one hundred of numbers."""
        numbers = range(max(2, 100 * (item - 1) + 1), 100 * item + 1)
        return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in numbers)

    def _look(self, s: Local, effects: list[Effect]) -> Result[Local]:
        """See whether the election has moved me from one group to another, or to none yet."""
        view = self.lift.view(s)
        group: Group | None = s.inner.group if view.status is Status.NORMAL else None
        if group == s.group:
            return s, effects
        # Whatever I was doing is dropped: in the new group it may be somebody else's.
        dropped = [CancelTimer(wait) for wait in Wait] if s.group is not None else []
        moved = SharedWorkState(s.me, s.stable, s.inner, group)
        if group is None:
            return moved, [*effects, *dropped]
        if group[0] != s.me:
            state, begun = self._next(moved)
        elif s.inner.followers:
            state, begun = moved, [self.set_timer(Wait.REPORTS)]
        else:
            state, begun = self._begin(moved)
        return state, [*effects, *dropped, *begun]

    def _begin(self, s: Local) -> Result[Local]:
        """I know what my group has done: give everybody in it something else to do."""
        state, effects = replace(s, briefed=True), []
        for j in (s.me, *sorted(s.inner.followers)):
            state, more = self._hand_out(state, j)
            effects += more
        return state, effects

    def _next(self, s: Local) -> Result[Local]:
        """Look for something to do: ask my leader, or myself if I lead."""
        assert s.group is not None
        if s.group[0] == s.me:
            return self._hand_out(s, s.me)
        return s, [Send(s.group[0], Report(s.group, s.stable.parts)), self.set_timer(Wait.AGAIN)]

    def _hand_out(self, s: Local, j: NodeId) -> Result[Local]:
        """Give a node an item that nobody has done and nobody is doing."""
        assert s.group is not None
        others = frozenset((node, item) for node, item in s.given if node != j)
        taken = {part.item for part in s.stable.parts} | {item for _, item in others}
        # Groups that do not know of each other begin in different places, to do less work twice.
        items, place = self.rules.items, self.members.ids.index(s.me)
        first = place * items // len(self.members.ids)
        order = ((first + k) % items + 1 for k in range(items))
        item = next((item for item in order if item not in taken), None)
        given = replace(s, given=others if item is None else others | {(j, item)})
        patience = (self.rules.effort + self.rules.overdue).of(self.timing)
        overdue = [] if item is None else [SetTimer(Wait.OVERDUE, patience)]
        if j == s.me:
            state, effects = self._obey(given, item)
            return state, [*effects, *overdue]
        return given, [Send(j, Order(s.group, item, s.stable.parts)), *overdue]

    def _obey(self, s: Local, item: int | None) -> Result[Local]:
        """Do this item, or ask for another one later if some are left."""
        if s.item is not None:
            return s, []
        if item is not None:
            return replace(s, item=item), [CancelTimer(Wait.AGAIN), self.set_timer(Wait.EFFORT)]
        is_over = len(s.stable.parts) == self.rules.items
        return s, [CancelTimer(Wait.AGAIN) if is_over else self.set_timer(Wait.AGAIN)]

    def _makes_sense(self, j: NodeId, message: Message) -> bool:
        """Whether a message can be from a node that keeps the rules."""
        items: set[int] = set()
        match message:
            case Order(_, item, parts):
                items = {part.item for part in parts} | ({item} if item is not None else set())
            case Report(_, parts):
                items = {part.item for part in parts}
        return j in self.members.ids and items <= set(range(1, self.rules.items + 1))


def _knowing(s: Local, parts: Parts) -> Local:
    """The state with these parts joined to it: of two for the same item one is thrown out."""
    joined: dict[int, Part] = {}
    for part in sorted(s.stable.parts | parts, key=lambda part: (part.item, part.by)):
        joined.setdefault(part.item, part)
    return replace(s, stable=replace(s.stable, parts=frozenset(joined.values())))
