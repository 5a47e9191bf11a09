"""What a decision on a leader's last bit costs besides the election: nothing.

The election inside is told leader, which sends nothing: what a real one sends is all that is sent.
"""

from electorate.costs.case import Case
from electorate.trace import Start

CASES = (
    Case(
        "everybody is told who leads",
        "for i in 1..N: ask i inner.request(Name(1)); settle",
        {"forced writes": "N", "messages": "0"},
        leader="1",
        start=Start.BOOT,
        nodes_min=2,
    ),
)

OVER = (Case("everybody decides, from boot", "agree", start=Start.BOOT, nodes_min=2),)
"""Over any other election. Measured only: what that one sends is all that is sent."""
