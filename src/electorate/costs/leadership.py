"""What members and an election cost together, and what a change of members costs alone.

The formulas are those of this project's own design, told in docs/protocols/leadership.md and
docs/protocols/membership.md.
"""

from electorate.costs.case import Case
from electorate.trace import Start

CASES = (
    Case(
        "all stand when they boot, and the strongest comes into office",
        "settle",
        {
            "Stands": "2N(N-1)",
            "Poll": "N-1",
            "Free": "N-1",
            "Claim": "N-1",
            "Grant": "N-1",
            "messages": "2(N+2)(N-1)",
            "time": "5T",
        },
        leader="N",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "one renewal, while nobody asks for a change of members",
        "settle; count; run 5T",
        {"Claim": "N-1", "Grant": "N-1", "messages": "2(N-1)"},
        start=Start.BOOT,
        nodes_min=2,
    ),
)

MEMBERS = (
    Case(
        "a member is removed",
        "ask 2 Change(1, no); run 20T",
        {
            "Stands": "3N-4",
            "Poll": "N-1",
            "Free": "N-1",
            "Claim": "4(N-1)",
            "Grant": "5(N-1)",
            "Decree": "N-1",
            "Listed": "N-1",
            "Release": "N-2",
            "messages": "17N-19",
            "time": "20T",
        },
        start=Start.BOOT,
        nodes_min=3,
    ),
)
