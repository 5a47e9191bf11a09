"""What it costs that all members meet, and that one is put in the place of another.

The formulas are those of this project's own design, told in docs/protocols/admission.md. Deployed
nodes do not knock: every connection says which node has opened it. A first word on what the list
reads as is told before nodes have met, so that each is answered.
"""

from electorate.costs.case import Case
from electorate.trace import Start

CASES = (
    Case(
        "all nodes meet",
        "run 2T",
        {"Knock": "N(N-1)", "messages": "N(N-1)", "time": "T"},
        start=Start.BOOT,
        nodes_min=2,
    ),
)

REPLACEMENT = (
    Case(
        "all members meet, and compare their lists",
        "run 2T",
        {
            "Knock": "N(N-1)",
            "Edition": "N(N-1)",
            "Known": "N(N-1)",
            "messages": "3N(N-1)",
            "time": "2T",
        },
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "a member is removed",
        "run 2T; count; ask 1 members.request(Change(2, no)); run 3T",
        {"Listed": "N-1", "messages": "N-1", "time": "T"},
        start=Start.BOOT,
        nodes_min=3,
    ),
)
