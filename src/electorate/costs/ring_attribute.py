"""What an election on the ring of attributes costs.

I. Gupta, "Ring Leader Election": slides "Worst-Case Analysis" (the initiator is the successor of
the would-be leader: 3N-1), "Best Case?" (it is the would-be leader itself: 2N) and "Multiple
Initiators?". As printed, only the very first election is certain to end.
"""

from electorate.costs.case import Case
from electorate.costs.ring import (
    ANY_INITIATORS,
    ASK_ANY,
    ASK_AT_DISTANCE,
    DISTANCE,
    LEAST,
    MOST,
)
from electorate.trace import Start

ONE_INITIATOR = {
    "Election": "N+d",
    "Elected": "N",
    "messages": "2N+d",
    "rounds": "2N+d+1",
    "time": "(2N+d)T",
}

CASES = (
    Case(
        "one initiator, d hops before the best node",
        ASK_AT_DISTANCE,
        ONE_INITIATOR,
        leader="N",
        forms=("sound",),
        numbers=DISTANCE,
        nodes_min=2,
    ),
    Case(
        "the first election, d hops before the best node",
        ASK_AT_DISTANCE,
        ONE_INITIATOR,
        leader="N",
        forms=("printed",),
        rules=("newcomers=wait",),
        start=Start.BOOT,
        numbers=DISTANCE,
        nodes_min=2,
    ),
    # Only the run of the strongest initiator goes the whole way.
    Case(
        "any k < N initiators, any order",
        ASK_ANY,
        {
            "Election": "N+k-1..2N-1+(k-1)N-k(k-1)/2",
            "Elected": "N",
            "messages": "2N+k-1..3N-1+(k-1)N-k(k-1)/2",
        },
        leader="N",
        forms=("sound",),
        ranks="any",
        numbers={"k": "1..N-1"},
        sets=ANY_INITIATORS,
        least=LEAST,
        most=MOST,
        nodes_min=2,
    ),
    # The best node is the strongest initiator, so its own run wins.
    Case(
        "all start, any order",
        "for i in 1..N: ask i Elect; settle",
        {
            "Election": "2N-1..N+N(N-1)/2",
            "Elected": "N",
            "messages": "3N-1..2N+N(N-1)/2",
        },
        leader="N",
        forms=("sound",),
        ranks="any",
        least=LEAST,
        most=MOST,
        nodes_min=2,
    ),
)
