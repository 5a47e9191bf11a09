"""What an election on the list-collecting ring costs.

Carnegie Mellon University, "Coordinator Election", section "Ring Election": the list goes round
once and its outcome goes round once. As printed, further initiators are wasted overhead.
"""

from electorate.costs.case import Case
from electorate.costs.ring import (
    ANY_INITIATORS,
    ASK_ANY,
    ASK_AT_DISTANCE,
    DISTANCE,
    INITIATORS,
    LEAST,
    MOST,
)

CASES = (
    Case(
        "one initiator, anywhere",
        ASK_AT_DISTANCE,
        {"Election": "N", "Coordinator": "N", "messages": "2N", "rounds": "2N+1", "time": "2N·T"},
        leader="N",
        numbers=DISTANCE,
        nodes_min=2,
    ),
    Case(
        "any k initiators",
        ASK_ANY,
        {"Election": "kN", "Coordinator": "kN", "messages": "2kN", "time": "2N·T"},
        leader="N",
        forms=("printed",),
        numbers=INITIATORS,
        sets=ANY_INITIATORS,
        nodes_min=2,
    ),
    # The list of the strongest initiator suppresses the others.
    Case(
        "any k initiators, any order",
        ASK_ANY,
        {
            "Election": "N+k-1..N+(k-1)N-k(k-1)/2",
            "Coordinator": "N",
            "messages": "2N+k-1..2N+(k-1)N-k(k-1)/2",
        },
        leader="N",
        forms=("sound",),
        ranks="any",
        numbers=INITIATORS,
        sets=ANY_INITIATORS,
        least=LEAST,
        most=MOST,
        nodes_min=2,
    ),
)
