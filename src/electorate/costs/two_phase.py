"""What two-phase commit costs, N being those who vote and the coordinator one more.

Carnegie Mellon University, lecture notes "Coordinator Election", section "Two Phase Commit (2PC)":
one request, one vote and one decision for each. What a node writes to its log before it says so is
counted as forced, and so is it when it drops its record; the application's own writes are not.
"""

from electorate.costs.case import Case

VOTE = "ask N+1 Begin; tick T; for i in 1..N: deliver N+1->i; for i in 1..N: ask i Vote(yes)"
"""Everybody has voted yes, and no vote has arrived."""
ALONE = ("inner.first=1", "acknowledge=never")
"""Node 1 is elected, and the coordinator does not come back to ask who has applied what."""

CASES = (
    Case(
        "all vote yes",
        "ask N+1 Begin; settle",
        {"Prepare": "N", "Yes": "N", "Commit": "N", "forced writes": "2+2N", "messages": "3N"}
        | {"time": "3T"},
        rules=("acknowledge=never",),
    ),
    Case(
        "all vote yes, and acknowledge",
        "ask N+1 Begin; settle",
        {"Prepare": "N", "Yes": "N", "Commit": "N", "Done": "N", "forced writes": "3+2N"}
        | {"messages": "4N", "time": "4T"},
        rules=("forget=never",),
    ),
    Case(
        "all vote yes, acknowledge, and may forget",
        "ask N+1 Begin; settle",
        {"Prepare": "N", "Yes": "N", "Commit": "N", "Done": "N", "Forget": "N"}
        | {"forced writes": "3+3N", "messages": "5N", "time": "5T"},
    ),
    Case(
        "one votes no",
        "ask N+1 Begin; tick T; for i in 1..N: deliver N+1->i; ask 1 Vote(no); settle",
        {"Prepare": "N", "Yes": "N-1", "No": "1", "Abort": "N", "forced writes": "1+2N"}
        | {"messages": "3N", "time": "3T"},
        rules=("acknowledge=never",),
    ),
    Case(
        "the coordinator crashes, and one knows the decision",
        f"""
        {VOTE}; tick T; for i in 1..N-1: deliver i->N+1; deliver N->N+1 torn N:1
        count; settle
        """,
        {"Poll": "N-1", "Report": "N-1", "Commit": "N-1", "messages": "3(N-1)"},
        rules=ALONE,
    ),
    Case(
        "the coordinator crashes, and nobody knows the decision: each try",
        f"{VOTE}; crash N+1; run 5T; count; run 3T",
        {"Poll": "N-1", "Report": "N-1", "messages": "2(N-1)"},
        rules=ALONE,
    ),
)
