"""Protocols that keep something outside the states that they return, or change what is given."""

from typing import Any

from msgspec.structs import force_setattr, replace

from electorate.core import Event, Machine, NodeId, Result, Stable, Standing, State, Status, Viewed


class Tally(Stable):
    count: int = 0


class TallyState(State):
    stable: Tally
    count: int = 0


class MutatesState(Machine[TallyState]):
    state_type = TallyState
    promises = ("A1",)
    stable_type = Tally
    uses_views = True

    def boot(self, me: NodeId, stable: Tally | None) -> Result[TallyState]:
        return TallyState(me, stable or Tally()), []

    def step(self, s: TallyState, event: Event) -> Result[TallyState]:
        force_setattr(s, "count", s.count + 1)
        return s, []

    def view(self, s: TallyState) -> Standing:
        return Standing(Status.ELECTION)


class MutatesStable(MutatesState):
    def step(self, s: TallyState, event: Event) -> Result[TallyState]:
        force_setattr(s.stable, "count", 1)
        return TallyState(s.me, Tally()), []


class MutatesEvent(MutatesState):
    def step(self, s: TallyState, event: Event) -> Result[TallyState]:
        if isinstance(event, Viewed):
            force_setattr(event, "alive", frozenset())
        return s, []


class MutatesInView(MutatesState):
    def step(self, s: TallyState, event: Event) -> Result[TallyState]:
        return s, []

    def view(self, s: TallyState) -> Standing:
        force_setattr(s, "count", 7)
        return Standing(Status.ELECTION)


class RemembersInMachine(MutatesState):
    """Answers both calls alike, and yet another node will find out what this one has seen."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: dict[str, list[NodeId]] = {"nodes": []}

    def step(self, s: TallyState, event: Event) -> Result[TallyState]:
        self.seen["nodes"].append(s.me)
        return s, []


class RemembersInAttribute(MutatesState):
    def step(self, s: TallyState, event: Event) -> Result[TallyState]:
        self.last = s.me
        return s, []


class RemembersInClass(MutatesState):
    calls = 0

    def step(self, s: TallyState, event: Event) -> Result[TallyState]:
        type(self).calls += 1
        return s, []


class ListState(State):
    queue: list[int] = []


class KeepsList(Machine[ListState]):
    state_type = ListState
    promises = ("A1",)
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[ListState]:
        return ListState(me, Stable()), []

    def step(self, s: ListState, event: Event) -> Result[ListState]:
        s.queue.append(1)
        return s, []

    def view(self, s: ListState) -> Standing:
        return Standing(Status.ELECTION)


class Box:
    """Hashable, for it has the hash of every object; and yet it can change."""

    content = 0


BOX = Box()


class BoxState(State):
    box: Any = None


class KeepsBox(Machine[BoxState]):
    state_type = BoxState
    promises = ("A1",)
    uses_views = True

    def boot(self, me: NodeId, stable: Stable | None) -> Result[BoxState]:
        return BoxState(me, Stable()), []

    def step(self, s: BoxState, event: Event) -> Result[BoxState]:
        return replace(s, box=BOX), []

    def view(self, s: BoxState) -> Standing:
        return Standing(Status.ELECTION)
