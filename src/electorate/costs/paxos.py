"""What a decision by Paxos costs, N being all who vote.

L. Lamport, "Paxos Made Simple", 2001, sections 2.2 and 2.3: a question and a promise, a value and
an acceptance, and the decision told to all by the one who leads. The election inside is told
leader, which sends nothing: what a real one sends comes on top, and is measured with it.
"""

from electorate.costs.case import Case
from electorate.trace import Start

FIRST = ("inner.first=1",)
BALLOT = {"Prepare": "N-1", "Promise": "N-1", "Accept": "N-1", "Accepted": "N-1"}

CASES = (
    Case(
        "a node leads, and all vote",
        "settle",
        {**BALLOT, "Decided": "N-1", "forced writes": "3N-1", "messages": "5(N-1)", "time": "5T"},
        rules=FIRST,
        leader="1",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "another comes to lead who knows the decision",
        "settle; count; for i in 1..N: ask i inner.request(Name(2)); settle",
        {"messages": "0"},
        rules=FIRST,
        leader="2",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "one who was down asks",
        "crash N; run 8T; count; recover N; run 8T",
        {"Help": "1", "Decided": "1", "messages": "2", "time": "8T"},
        rules=FIRST,
        leader="1",
        start=Start.BOOT,
        nodes_min=3,
    ),
)

OVER = (Case("everybody decides, from boot", "agree; run 20T", start=Start.BOOT, nodes_min=2),)
"""Over any other election. Measured only: what that one sends is counted as well."""
