"""What an election over views costs.

S. Park, "A Safe Election Protocol based on an Unreliable Failure Detector in Distributed Systems":
three messages for every other node of the view, and three delays; three more to oneself. A view
of m nodes is that of all N, or of the N-1 that are left.
"""

from msgspec.structs import replace

from electorate.costs.case import Case
from electorate.trace import Start

CASES = (
    Case(
        "the first election, a view of N",
        "settle",
        {
            "Propose": "N-1",
            "Accept": "N-1",
            "Commit": "N-1",
            "messages": "3(N-1)",
            "to oneself": "3",
            "time": "3T",
        },
        leader="1",
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "the leader dies and all notice, a view of N-1",
        "crash 1; for i in 2..N: suspect i; settle",
        {
            "Propose": "N-2",
            "Accept": "N-2",
            "Commit": "N-2",
            "messages": "3(N-2)",
            "to oneself": "3",
            "time": "3T",
        },
        leader="2",
    ),
)

PRINTED = (
    *(replace(case, forms=("printed",)) for case in CASES),
    Case(
        "the first election, a view of N",
        "settle",
        {"Propose": "N-1", "Reject": "N-1", "messages": "2(N-1)", "time": "2T"},
        forms=("literal",),
        start=Start.BOOT,
        nodes_min=2,
    ),
)
