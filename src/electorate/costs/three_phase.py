"""What three-phase commit costs, N being those who vote and the coordinator one more.

Carnegie Mellon University, lecture notes "Coordinator Election", sections "Three-phase Commit" and
"Recovery in 3PC": one more message to everybody, and one more answer. An
elected node spends five messages on everybody whom it can reach; its election comes on top.
"""

from electorate.costs.case import Case
from electorate.costs.two_phase import ALONE, VOTE

CASES = (
    Case(
        "all vote yes",
        "ask N+1 Begin; settle",
        {"Prepare": "N", "Yes": "N", "PreCommit": "N", "Ack": "N", "Commit": "N"}
        | {"forced writes": "2+3N", "messages": "5N", "time": "5T"},
        rules=("acknowledge=never",),
    ),
    Case(
        "all vote yes, and acknowledge",
        "ask N+1 Begin; settle",
        {"Prepare": "N", "Yes": "N", "PreCommit": "N", "Ack": "N", "Commit": "N", "Done": "N"}
        | {"forced writes": "3+3N", "messages": "6N", "time": "6T"},
        rules=("forget=never",),
    ),
    Case(
        "one votes no",
        "ask N+1 Begin; tick T; for i in 1..N: deliver N+1->i; ask 1 Vote(no); settle",
        {"Prepare": "N", "Yes": "N-1", "No": "1", "Abort": "N", "forced writes": "1+2N"}
        | {"messages": "3N", "time": "3T"},
        rules=("acknowledge=never",),
    ),
    Case(
        "the coordinator crashes, and all are uncertain",
        f"{VOTE}; crash N+1; count; settle",
        {"Poll": "N-1", "Report": "N-1", "PreAbort": "N-1", "Ack": "N-1", "Abort": "N-1"}
        | {"forced writes": "2N", "messages": "5(N-1)"},
        rules=ALONE,
    ),
    Case(
        "the coordinator crashes, and one is committable",
        f"""
        {VOTE}; tick T; for i in 1..N-1: deliver i->N+1; deliver N->N+1 torn N:1
        count; settle
        """,
        {"Poll": "N-1", "Report": "N-1", "PreCommit": "N-1", "Ack": "N", "Commit": "N-1"}
        | {"forced writes": "2N", "messages": "5(N-1)+1"},
        rules=ALONE,
    ),
)
