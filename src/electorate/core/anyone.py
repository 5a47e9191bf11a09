"""Anyone: an election that may name anybody at any time, or nobody.

It stands for all elections at once: whatever a protocol over it promises, it promises over every
other election too. Deployed, it repeats what an election outside of it has found: the application
asks it to name that leader. It needs nothing, and promises nothing.
"""

from typing import Any

from msgspec.structs import replace

from electorate.core.event import Asked, Event
from electorate.core.machine import Machine, Result
from electorate.core.member import Members
from electorate.core.rule import Rules
from electorate.core.standing import Standing, Status
from electorate.core.timing import Timing
from electorate.core.value import NodeId, Request, Stable, State


class Name(Request):
    """From now on this node leads; None if nobody is known to."""

    leader: NodeId | None


class AnyoneRules(Rules):
    """Whom everybody follows to begin with."""

    first: int = 0
    """The id of whom everybody follows to begin with; 0 means nobody."""


class AnyoneState(State):
    """Whom this node was told last."""

    leader: NodeId | None = None


class Anyone(Machine[AnyoneState]):
    """An election without a message: every node may be told anything."""

    state_type = AnyoneState
    rules_type = AnyoneRules
    requests = (Name,)

    rules: AnyoneRules

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        if self.rules.first and self.rules.first not in members.ids:
            raise ValueError(f"{self.rules.first} is not a member")
        self.begins_by = () if self.rules.first else (Name,)

    def boot(self, me: NodeId, stable: Stable | None) -> Result[AnyoneState]:
        return AnyoneState(me, Stable(), self.rules.first or None), []

    def step(self, s: AnyoneState, event: Event) -> Result[AnyoneState]:
        match event:
            case Asked(Name(leader)) if leader is None or leader in self.members.ids:
                return replace(s, leader=leader), []
        return s, []

    def view(self, s: AnyoneState) -> Standing:
        return Standing(Status.ELECTION if s.leader is None else Status.NORMAL, s.leader)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        others = (None, *self.members.ids)
        return tuple(Name(leader) for leader in others if leader != view.leader)
