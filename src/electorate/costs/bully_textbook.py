"""What the textbook's election costs.

M. Albano, "Leader Election", lecture 7.2 of Distributed Systems, Aalborg University, 2022, slides
"Bully Algorithm" and "Properties Bully"; N counts the dead old leader, which has the largest id,
and messages to it count.
"""

from electorate.costs.case import Case
from electorate.trace import Start

PLAIN = "office=at-once"
"""The textbook's one word: no acknowledgement, and no task to hand over."""
WEAKEST_ASKS = {"Election": "N(N-1)/2", "Answer": "(N-1)(N-2)/2"}
"""Everybody who is up asks everybody stronger, and is answered by all but the dead leader."""
IN_OFFICE = {"Coordinator": "N-2", "Acknowledge": "N-2", "Handover": "N-2"}

CASES = (
    Case(
        "one word: the second strongest announces without asking",
        "crash N; suspect N-1; run T; notice; settle",
        {"Coordinator": "N-2", "messages": "N-2", "multicasts": "1", "rounds": "2", "time": "T"},
        leader="N-1",
        forms=("sound",),
        rules=(PLAIN, "asked=visible"),
    ),
    Case(
        "one word: it asks the dead leader",
        "crash N; suspect N-1; run 3T; notice; settle",
        {"Election": "1", "Coordinator": "N-2", "messages": "N-1", "time": "3T"},
        leader="N-1",
        forms=("sound",),
        rules=(PLAIN,),
    ),
    # One silent round is taken for "no answer", but an answer needs two.
    Case(
        "one word: it asks, with the deadline that is too tight",
        "crash N; suspect N-1; run 2T; notice; settle",
        {"Election": "1", "Coordinator": "N-2", "messages": "N-1", "time": "2T"},
        leader="N-1",
        forms=("sound",),
        rules=(PLAIN, "asking=T"),
    ),
    Case(
        "one word: the weakest starts",
        "crash N; suspect 1; run 2T; notice; settle",
        {**WEAKEST_ASKS, "Coordinator": "N-2", "messages": "N²-N-1", "time": "4T"},
        leader="N-1",
        forms=("sound",),
        rules=(PLAIN,),
    ),
    Case(
        "the second strongest asks the dead leader",
        "crash N; suspect N-1; run 3T; notice; settle",
        {"Election": "1", **IN_OFFICE, "messages": "3N-5", "time": "5T"},
        leader="N-1",
        forms=("sound",),
    ),
    Case(
        "the weakest starts",
        "crash N; suspect 1; run 2T; notice; settle",
        {**WEAKEST_ASKS, **IN_OFFICE, "messages": "N²+N-5", "time": "6T"},
        leader="N-1",
        forms=("sound",),
    ),
    # All views are right again before anybody follows the old leader.
    Case(
        "the strongest recovers and fetches the task",
        """
        crash N; suspect N-1; run 3T; notice; settle; ask N-1 Work; count
        recover N; notice; settle
        """,
        {
            "WhatTask": "N-1",
            "Task": "1",
            "Coordinator": "N-1",
            "Acknowledge": "N-1",
            "Handover": "N-1",
            "messages": "4N-3",
            "time": "5T",
        },
        leader="N",
        forms=("sound",),
    ),
    # It ends with two leaders, so that nobody is named here.
    Case(
        "the code, all start at boot",
        "settle",
        {
            "Election": "N(N-1)/2",
            "Answer": "N(N-1)/2-1",
            "Coordinator": "3N-2",
            "messages": "(N-1)(N+3)",
            "time": "4T",
        },
        forms=("printed", "letter"),
        start=Start.BOOT,
    ),
)
