"""What groups cost whose leader is the member of the highest priority.

Merging costs what it does in Invitation; what is said of priorities goes along with it. The other
formulas are those of this project's own design, told in docs/protocols/ranked_invitation.md. Checks
are far apart, and only the one that the case is about comes.
"""

from electorate.costs.case import Case
from electorate.costs.invitation import ALONE, AT_REST, SELDOM
from electorate.trace import Start

RISES = """
    phase 1 check T; tick T; fire 1 check; settle
    count; ask N Stand(2); phase N check T; tick T; fire N check; settle
"""
TOLD = "phase 1 check T; tick T; fire 1 check; settle; count; ask 1 Stand(2); settle"
ANEW = "phase 1 check T; tick T; fire 1 check; settle; count; ask 1 Anew; settle"

CASES = (
    Case(
        "one leader merges N groups of one",
        ALONE,
        {
            "AreYouLeader": "N-1",
            "Leading": "N-1",
            "Invite": "N-1",
            "Accept": "N-1",
            "Ready": "N-1",
            "messages": "5(N-1)",
            "time": "6T",
        },
        leader="1",
        rules=SELDOM,
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "a leader tells that it stands with another priority",
        TOLD,
        {"Leading": "N-1", "messages": "N-1", "time": "T"},
        leader="1",
        rules=SELDOM,
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "a follower stands higher than its leader, and takes over with its next check",
        RISES,
        {
            "AreYouLeader": "N-1",
            "Leading": "1",
            "Invite": "N-1",
            "Accept": "N-1",
            "Ready": "N-1",
            "messages": "4(N-1)+1",
            "time": "7T",
        },
        leader="N",
        rules=SELDOM,
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "a leader forms its group anew",
        ANEW,
        {
            "Invite": "N-1",
            "Accept": "N-1",
            "Ready": "N-1",
            "messages": "3(N-1)",
            "time": "4T",
        },
        leader="1",
        rules=SELDOM,
        start=Start.BOOT,
        nodes_min=2,
    ),
    Case(
        "a group of N at rest, in each check period",
        AT_REST,
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
