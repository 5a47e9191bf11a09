"""What the elections on rings have in common: nobody fails, and N counts every node."""

from collections.abc import Mapping
from typing import Any

from electorate.costs.case import Case, Extreme

IN_ANY_ORDER: dict[str, Any] = {
    "ranks": "any",
    # Where ranks rise, the next node stops every message but that of the strongest. Where they
    # fall, a message that starts right behind the strongest node goes as far as it can.
    "least": Extreme("rising", {"S": "N-k+1..N"}),
    "most": Extreme("falling", {"S": "1..k"}),
}
"""Every placement of the ranks on the ring."""


def one_initiator(name: str, formulas: Mapping[str, str], **more: Any) -> Case:
    """One node is asked, d hops before the strongest one, which is N."""
    more["numbers"] = {"d": "0..N-1"}
    return Case(name, "ask N-d Elect; settle", formulas, leader="N", nodes_min=2, **more)


def all_start(name: str, formulas: Mapping[str, str], **more: Any) -> Case:
    """All nodes are asked at once."""
    script = "for i in 1..N: ask i Elect; settle"
    return Case(name, script, formulas, leader="N", nodes_min=2, **more)


def any_initiators(name: str, formulas: Mapping[str, str], k: str = "1..N", **more: Any) -> Case:
    """Some k nodes are asked at once; each set of k nodes is tried."""
    more |= {"numbers": {"k": k}, "sets": {"S": "k of 1..N"}}
    script = "for i in S: ask i Elect; settle"
    return Case(name, script, formulas, leader="N", nodes_min=2, **more)
