"""What an office costs: to come into it, to stay, to hand it over, and to leave.

The formulas are those of this project's own design, told in docs/protocols/mandate.md. The election
inside is told leader, which sends nothing: what a real one sends comes on top, and is measured with
it.
"""

from electorate.costs.case import Case
from electorate.trace import Start

NAMED = "ask 1 inner.request(Name(1)); settle"
OTHER = "ask 1 inner.request(Name(2)); ask 2 inner.request(Name(2))"
ROUND = {"Poll": "N-1", "Free": "N-1", "Claim": "N-1", "Grant": "N-1"}

CASES = (
    Case(
        "a node is named, polls and claims",
        f"{NAMED}",
        {**ROUND, "messages": "4(N-1)", "time": "4T"},
        leader="1",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "one renewal",
        f"{NAMED}; tick 3T; count; fire 1 renew; settle",
        {"Claim": "N-1", "Grant": "N-1", "messages": "2(N-1)", "time": "2T"},
        leader="1",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "the office is handed over to an heir",
        f"{NAMED}; count; ask 1 Transfer(2); run 2T; ask 1 Ended; settle",
        {
            "Offer": "1",
            "Wish": "1",
            "Release": "N-1",
            "Claim": "N-1",
            "Grant": "N-1",
            "messages": "3(N-1)+2",
            "time": "5T",
        },
        leader="2",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "the holder steps down, and another is named",
        f"{NAMED}; {OTHER}; count; ask 1 StepDown; ask 1 Ended; settle",
        {**ROUND, "Release": "N-1", "messages": "5(N-1)", "time": "5T"},
        leader="2",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "the holder restarts at once, and another is named",
        f"{NAMED}; {OTHER}; crash 1; count; recover 1; settle",
        {**ROUND, "Release": "N-1", "messages": "5(N-1)", "time": "5T"},
        leader="2",
        start=Start.BOOT,
        nodes_min=3,
    ),
)

OVER = (
    Case("somebody comes into office, from boot", "agree", start=Start.BOOT, nodes_min=2),
    Case(
        "whoever is in office stays for ten periods",
        "agree; count; run 30T",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "the holder crashes and all notice",
        "agree; count; crash leader; notice; agree",
        start=Start.BOOT,
    ),
)
"""Over any other election. Measured only: what that one sends is counted as well."""
