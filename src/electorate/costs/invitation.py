"""What it costs to merge groups.

P. F. Souto, "Elections", 2021, slides "The Invitation Algorithm" and "The Invitation Algorithm:
Example" (16 messages from INVITATION to ACK). Checks are far apart, and only the one that the case
is about comes while groups merge.
"""

from collections.abc import Mapping
from typing import Any

from electorate.costs.case import Case
from electorate.trace import Start

SELDOM = ("check=60T",)
MERGING = {"merging": ("Invite", "Accept", "Ready", "Ack")}
"""All but the question who leads, and its answers."""

ALONE = "phase 1 check T; tick T; count; fire 1 check; settle"
SINGLES = """
    for i in 1..N-k: recover i; phase 1 check T; tick T; fire 1 check; settle
    for i in N-k+1..N: recover i; phase 1 check T; tick T; count; fire 1 check; settle
"""
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
"""Node 3 has waited for the stronger node 2 in vain, and leads it; node 1 is down."""
AT_REST = """
    phase 1 check T; tick T; fire 1 check; settle
    for i in 1..N: phase i check T; tick T; count; run 59T
"""


def merge(
    name: str,
    script: str,
    asked: Mapping[str, str],
    messages: tuple[str, str],
    merging: tuple[str, str] = ("3(N-1)", "4(N-1)"),
    joining: str = "N-1",
    **more: Any,
) -> tuple[Case, ...]:
    """The same in both forms: the printed one has an Ack more for each node, and ends T later."""
    more = {"leader": "1", "rules": SELDOM, "start": Start.DOWN, "nodes_min": 2, **more}
    cases = []
    for place, (form, kinds) in enumerate(
        {"sound": ("Invite", "Accept", "Ready"), "printed": MERGING["merging"]}.items()
    ):
        formulas = {
            **asked,
            **dict.fromkeys(kinds, joining),
            "merging": merging[place],
            "messages": messages[place],
            "time": ("6T", "7T")[place],
        }
        cases.append(Case(name, script, formulas, forms=(form,), tallies=MERGING, **more))
    return tuple(cases)


CASES = (
    *merge(
        "one leader merges N groups of one",
        ALONE,
        {"AreYouLeader": "N-1", "Leading": "N-1"},
        ("5(N-1)", "6(N-1)"),
        start=Start.BOOT,
    ),
    *merge(
        "a group merges with k groups of one",
        SINGLES,
        {"AreYouLeader": "N-1", "Leading": "k"},
        ("3(N-1)+N-1+k", "4(N-1)+N-1+k"),
        numbers={"k": "1..N-1"},
    ),
    *merge(
        "two groups merge, of h and of N-h nodes",
        GROUPS,
        {"AreYouLeader": "N-1", "Leading": "1"},
        ("3(N-1)+N", "4(N-1)+N"),
        numbers={"h": "1..N-1"},
    ),
    *merge(
        "the example: 3 leads 2, 4 leads 5 and 6, and 3 invites 4",
        EXAMPLE,
        {"AreYouLeader": "5", "Leading": "1"},
        ("18", "22"),
        ("12", "16"),
        "4",
        leader="3",
        rules=(*SELDOM, "outranked=delay"),
        nodes=(6,),
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
