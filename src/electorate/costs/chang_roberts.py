"""What an election on the ring of Chang and Roberts costs.

M. Albano, "Leader Election", 2022, slides "Chang Roberts", "Chang-Roberts - Code" and "Properties
Chang Roberts" (3N-1 messages per election).
"""

from electorate.costs.case import Case
from electorate.costs.ring import (
    ANY_INITIATORS,
    ASK_ALL,
    ASK_ANY,
    ASK_AT_DISTANCE,
    DISTANCE,
    INITIATORS,
    LEAST,
    MOST,
)
from electorate.trace import Start

SWALLOWING = ("sound", "code")

CASES = (
    Case(
        "one initiator, d hops before the strongest",
        ASK_AT_DISTANCE,
        {
            "Election": "N+d",
            "Elected": "N",
            "messages": "2N+d",
            "rounds": "2N+d+1",
            "time": "(2N+d)T",
        },
        leader="N",
        numbers=DISTANCE,
        nodes_min=2,
    ),
    # What is sent in one round is received in the next, and the first round only sends.
    Case(
        "all start, ranks rise along the ring",
        ASK_ALL,
        {
            "Election": "2N-1",
            "Elected": "N",
            "messages": "3N-1",
            "rounds": "2N+1",
            "time": "2N·T",
        },
        leader="N",
        forms=SWALLOWING,
        nodes_min=2,
    ),
    Case(
        "all start, ranks fall",
        ASK_ALL,
        {
            "Election": "N(N+1)/2",
            "Elected": "N",
            "messages": "N(N+1)/2+N",
            "rounds": "2N+1",
            "time": "2N·T",
        },
        leader="N",
        forms=SWALLOWING,
        ranks="falling",
        nodes_min=2,
    ),
    # At boot everybody starts.
    Case(
        "all start, any order",
        "settle",
        {
            "Election": "mean N·H_N",
            "Elected": "N",
            "messages": "mean N·H_N+N",
            "rounds": "2N+1",
            "time": "2N·T",
        },
        leader="N",
        forms=SWALLOWING,
        start=Start.BOOT,
        ranks="any",
        nodes_min=2,
    ),
    Case(
        "any k initiators, any order",
        ASK_ANY,
        {
            "Election": "N+k-1..N+kN-k(k+1)/2",
            "Elected": "N",
            "messages": "2N+k-1..2N+kN-k(k+1)/2",
        },
        leader="N",
        forms=SWALLOWING,
        ranks="any",
        numbers=INITIATORS,
        sets=ANY_INITIATORS,
        least=LEAST,
        most=MOST,
        nodes_min=2,
    ),
    # Every vote becomes that of the strongest, and wins once more.
    Case(
        "all start, and votes are replaced",
        "settle",
        {"Election": "N(5N-3)/2", "Elected": "N²", "messages": "N(7N-3)/2"},
        leader="N",
        forms=("slide",),
        start=Start.BOOT,
        ranks="any",
        nodes_min=2,
    ),
)
