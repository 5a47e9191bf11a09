"""Machines with a planted fault that a search must not miss, told as orders of a diary."""

from msgspec.structs import replace

from electorate.core import Standing, Status
from tests.check.diary import Diary, DiaryState

FLOOD = {
    "1 boot": "follow 1; send 2 a",
    "1 heard a": "quietly; send 2 a; send 2 a",
    "2 boot": "elect",
    "2 heard a": "quietly; send 1 a; send 1 a",
}
"""Whoever hears something says it twice; node 2 never follows anybody."""

PROBES = 10


def probing() -> dict[str, str]:
    """Node 1 sends ten probes to a node that is down, and then follows it all the same."""
    orders = {"any boot": "follow 1", "1 saw 1": "quietly; send 2 probe; set p1 1"}
    for number in range(1, PROBES):
        orders[f"1 fired p{number}"] = f"quietly; send 2 probe; set p{number + 1} 1"
    return {**orders, f"1 fired p{PROBES}": "quietly; follow 2"}


FORGETS_AT = 11
COUNTING = {"any boot": "follow 1; set x 1", "any fired x": "quietly; count; set x 1"}


class Forgetful(Diary):
    """Counts, and at eleven forgets whom it follows."""

    growing = ("count",)

    def _change(self, state: DiaryState, order: list[str]) -> DiaryState:
        after = super()._change(state, order)
        forgets = after.count >= FORGETS_AT
        return replace(after, standing=Standing(Status.ELECTION)) if forgets else after


STANDSTILL = {"1 boot": "follow 1; set x 0; set y 3", "1 fired x": "quietly; set x 0"}
"""A timer of no length that is armed again for ever: what y does is never seen."""
