"""The machines of a node's offices: one for each set of members and priorities, shared by all."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from msgspec.structs import replace

from electorate.core import Machine, Members, NodeId, Turns
from electorate.core.codec import Codec
from electorate.core.turn import Sample, SampledTurns
from electorate.pace import Pace
from electorate.protocols.mandate import Mandate
from electorate.protocols.strongest_alive import StrongestAlive

OfficeMandate = Mandate.over(StrongestAlive)
TURNS_MAX = 2_000
MACHINES_MAX = 200


class Machines:
    """Makes them when they are wanted, and keeps the latest."""

    def __init__(self, pace: Pace) -> None:
        self.kind_of_turns: Callable[[Machine[Any], int], Turns]
        self.kind_of_turns = partial(SampledTurns, sample=Sample())
        self.codec = Codec(_machine(pace, "application", (1,), (0,)))
        self._pace = pace

    @lru_cache(MACHINES_MAX)  # noqa: B019 - it lives as long as the node
    def of(self, form: str, ids: tuple[NodeId, ...], priorities: tuple[int, ...]) -> Turns:
        """The machine of that form, for members of these priorities."""
        return self.kind_of_turns(_machine(self._pace, form, ids, priorities), TURNS_MAX)


def _machine(
    pace: Pace, form: str, ids: tuple[NodeId, ...], priorities: tuple[int, ...]
) -> Machine[Any]:
    members = Members.of(ids, "highest", dict(zip(ids, priorities, strict=True)))
    rules = replace(OfficeMandate.form(form), **pace.lengths)
    return OfficeMandate(members, pace.timing, rules)
