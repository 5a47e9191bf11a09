"""What an election by Bully costs, one node being the initiator unless the case says otherwise.

P. F. Souto, "Elections", 2021, slides "The Bully Election Algorithm" and "Example Execution";
N counts the dead old leader, and messages to it count.
"""

from electorate.costs.case import Case

ALL_PROBE = {"AreYouThere": "N(N-1)/2", "Yes": "(N-1)(N-2)/2", "Halt": "N-2", "NewLeader": "N-2"}
"""Everybody who is up asks everybody stronger, and is answered by all but the dead leader."""

CASES = (
    Case(
        "the strongest survivor notices",
        "crash 1; suspect 2; run 3T; notice; settle",
        {
            "AreYouThere": "1",
            "Yes": "0",
            "Halt": "N-2",
            "NewLeader": "N-2",
            "messages": "2N-3",
            "time": "4T",
        },
        leader="2",
    ),
    Case(
        "the weakest notices",
        "crash 1; suspect N; run 2T; notice; settle",
        {**ALL_PROBE, "messages": "(N-1)²+2(N-2)", "time": "5T"},
        leader="2",
    ),
    Case(
        "all survivors notice at once",
        "crash 1; for i in 2..N: suspect i; settle",
        {**ALL_PROBE, "messages": "(N-1)²+2(N-2)", "time": "4T"},
        leader="2",
    ),
    # Its Halt arrives before the detector of the acting leader has noticed that it is back.
    Case(
        "the old leader recovers",
        """
        crash 1; for i in 2..N: suspect i; settle; count
        recover 1; tick T
        for i in 2..N: deliver 1->i
        for i in 2..N: view i 1..N
        settle
        """,
        {
            "AreYouThere": "0",
            "Yes": "0",
            "Halt": "N-1",
            "NewLeader": "N-1",
            "messages": "2(N-1)",
            "time": "2T",
        },
        leader="1",
    ),
    Case(
        "the weakest recovers",
        "crash N; count; recover N; settle",
        {
            "AreYouThere": "N(N-1)/2",
            "Yes": "N(N-1)/2",
            "Halt": "N-1",
            "NewLeader": "N-1",
            "messages": "(N-1)(N+2)",
            "time": "3T",
        },
        leader="1",
    ),
)
