"""What an election on the ring of Chang and Roberts costs.

M. Albano, "Leader Election", 2022, slides "Chang Roberts", "Chang-Roberts - Code" and "Properties
Chang Roberts" (3N-1 messages per election).
"""

from electorate.costs.case import Case
from electorate.costs.ring import IN_ANY_ORDER, all_start, any_initiators, one_initiator
from electorate.trace import Start

SWALLOWING = ("sound", "code")
# What is sent in one round is received in the next, and the first round only sends.
TWICE_ROUND = {"rounds": "2N+1", "time": "2N·T"}

CASES = (
    one_initiator(
        "one initiator, d hops before the strongest",
        {
            "Election": "N+d",
            "Elected": "N",
            "messages": "2N+d",
            "rounds": "2N+d+1",
            "time": "(2N+d)T",
        },
    ),
    all_start(
        "all start, ranks rise along the ring",
        {"Election": "2N-1", "Elected": "N", "messages": "3N-1", **TWICE_ROUND},
        forms=SWALLOWING,
    ),
    all_start(
        "all start, ranks fall",
        {"Election": "N(N+1)/2", "Elected": "N", "messages": "N(N+1)/2+N", **TWICE_ROUND},
        forms=SWALLOWING,
        ranks="falling",
    ),
    # At boot everybody starts.
    Case(
        "all start, any order",
        "settle",
        {"Election": "mean N·H_N", "Elected": "N", "messages": "mean N·H_N+N", **TWICE_ROUND},
        leader="N",
        forms=SWALLOWING,
        start=Start.BOOT,
        ranks="any",
        nodes_min=2,
    ),
    any_initiators(
        "any k initiators, any order",
        {
            "Election": "N+k-1..N+kN-k(k+1)/2",
            "Elected": "N",
            "messages": "2N+k-1..2N+kN-k(k+1)/2",
        },
        forms=SWALLOWING,
        **IN_ANY_ORDER,
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
