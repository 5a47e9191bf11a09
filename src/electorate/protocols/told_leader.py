"""Told leader: an election that names whomever it is told to, at any time, or nobody.

It stands for all elections at once: whatever a protocol over it promises, it promises over every
other election too. Deployed, it repeats what an election outside of it has found: the application
asks it to name that leader. It needs nothing, and promises nothing.
"""

from typing import Any

from msgspec.structs import replace

from electorate.core import *


class Name(Request):
    """From now on this node leads; None if nobody is known to."""

    leader: NodeId | None


class ToldLeaderRules(Rules):
    """The leader that all follow to begin with."""

    first: int = 0
    """The id of the leader that all follow to begin with; 0 means none."""


class ToldLeaderState(State):
    """The leader that this node was told last."""

    leader: NodeId | None = None


class ToldLeader(Machine[ToldLeaderState]):
    """An election without a message: every node may be told anything."""

    state_type = ToldLeaderState
    rules_type = ToldLeaderRules
    requests = (Name,)
    begins_by: tuple[type[Request], ...] = (Name,)

    rules: ToldLeaderRules

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        if self.rules.first and self.rules.first not in members.ids:
            raise ValueError(f"{self.rules.first} is not a member")
        if self.rules.first:
            self.begins_by = ()

    def boot(self, me: NodeId, stable: Stable | None) -> Result[ToldLeaderState]:
        return ToldLeaderState(me, Stable(), self.rules.first or None), []

    def step(self, s: ToldLeaderState, event: Event) -> Result[ToldLeaderState]:
        match event:
            case Asked(Name(leader)) if leader is None or leader in self.members.ids:
                return replace(s, leader=leader), []
        return s, []

    def view(self, s: ToldLeaderState) -> Standing:
        return Standing(Status.ELECTION if s.leader is None else Status.NORMAL, s.leader)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        others = (None, *self.members.ids)
        return tuple(Name(leader) for leader in others if leader != view.leader)
