"""What it costs to merge groups.

P. F. Souto, "Elections", 2021, slides "The Invitation Algorithm" and "The Invitation Algorithm:
Example". Checks are far apart, and only the one that the case is about comes while groups merge.
The printed form has one Ack more for each node, and ends T later.
"""

from electorate.costs.case import Case
from electorate.trace import Start

SOUND, PRINTED = ("sound",), ("printed",)
SELDOM = ("check=60T",)
ASK_ALONE = {"AreYouLeader": "N-1", "Leading": "N-1"}
ASK_GROUPS = {"AreYouLeader": "N-1", "Leading": "1"}
MERGE = {"Invite": "N-1", "Accept": "N-1", "Ready": "N-1"}
ACK = {"Ack": "N-1"}
MERGING = {"merging": ("Invite", "Accept", "Ready", "Ack")}
"""From the first invitation to the last Ack, where there are any."""

ALONE = "phase 1 check T; tick T; count; fire 1 check; settle"
GROUPS = """
    for i in h+1..N: recover i; phase h+1 check T; tick T; fire h+1 check; settle
    cut 1 h+1; for i in 1..h: recover i; phase 1 check T; tick T; fire 1 check; settle
    heal 1 h+1; phase 1 check T; tick T; count; fire 1 check; settle
"""
EXAMPLE = """
    for i in 4..6: recover i; phase 4 check T; tick T; fire 4 check; settle
    cut 3 4; for i in 2..3: recover i; phase 3 check T; tick T; fire 3 check; settle
    heal 3 4; phase 3 check T; tick T; count; fire 3 check; settle
"""
"""Node 3 has waited for the stronger node 2 in vain, and leads it."""
EXAMPLE_COSTS = {"AreYouLeader": "5", "Leading": "1", "Invite": "4", "Accept": "4", "Ready": "4"}

CASES = (
    Case(
        "one leader merges N groups of one",
        ALONE,
        {**ASK_ALONE, **MERGE, "messages": "5(N-1)", "time": "6T"},
        leader="1",
        forms=SOUND,
        rules=SELDOM,
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "one leader merges N groups of one, with Acks",
        ALONE,
        {**ASK_ALONE, **MERGE, **ACK, "messages": "6(N-1)", "time": "7T"},
        leader="1",
        forms=PRINTED,
        rules=SELDOM,
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "two groups merge, which brings in N-1 nodes",
        GROUPS,
        {**ASK_GROUPS, **MERGE, "merging": "3(N-1)", "messages": "3(N-1)+N", "time": "6T"},
        leader="1",
        forms=SOUND,
        rules=SELDOM,
        start=Start.DOWN,
        numbers={"h": "1..N-1"},
        tallies=MERGING,
        nodes_min=2,
    ),
    Case(
        "two groups merge, which brings in N-1 nodes, with Acks",
        GROUPS,
        {**ASK_GROUPS, **MERGE, **ACK, "merging": "4(N-1)", "messages": "4(N-1)+N", "time": "7T"},
        leader="1",
        forms=PRINTED,
        rules=SELDOM,
        start=Start.DOWN,
        numbers={"h": "1..N-1"},
        tallies=MERGING,
        nodes_min=2,
    ),
    Case(
        "the example: 3 leads 2, 4 leads 5 and 6, and 3 invites 4",
        EXAMPLE,
        {**EXAMPLE_COSTS, "merging": "12", "messages": "18", "time": "6T"},
        leader="3",
        forms=SOUND,
        rules=(*SELDOM, "outranked=delay"),
        start=Start.DOWN,
        tallies=MERGING,
        nodes=(6,),
    ),
    Case(
        "the example: 3 leads 2, 4 leads 5 and 6, and 3 invites 4, with Acks",
        EXAMPLE,
        {**EXAMPLE_COSTS, "Ack": "4", "merging": "16", "messages": "22", "time": "7T"},
        leader="3",
        forms=PRINTED,
        rules=SELDOM,
        start=Start.DOWN,
        tallies=MERGING,
        nodes=(6,),
    ),
    Case(
        "a group of N at rest, in each check period",
        """
        phase 1 check T; tick T; fire 1 check; settle
        for i in 1..N: phase i check T; tick T; count; run 59T
        """,
        {
            "AreYouLeader": "N-1",
            "AreYouThere": "N-1",
            "Here": "N-1",
            "messages": "3(N-1)",
            "time": "2T",
        },
        leader="1",
        rules=SELDOM,
        start=Start.BOOT,
        nodes_min=2,
    ),
)
