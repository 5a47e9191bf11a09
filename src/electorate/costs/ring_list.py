"""What an election on the list-collecting ring costs.

Carnegie Mellon University, "Coordinator Election", section "Ring Election": the list goes round
once and its outcome goes round once. As printed, further initiators are wasted overhead.
"""

from electorate.costs.ring import IN_ANY_ORDER, any_initiators, one_initiator

CASES = (
    one_initiator(
        "one initiator, anywhere",
        {"Election": "N", "Coordinator": "N", "messages": "2N", "rounds": "2N+1", "time": "2N·T"},
    ),
    any_initiators(
        "any k initiators",
        {"Election": "kN", "Coordinator": "kN", "messages": "2kN", "time": "2N·T"},
        forms=("printed",),
    ),
    # The list of the strongest initiator suppresses the others.
    any_initiators(
        "any k initiators, any order",
        {
            "Election": "N+k-1..N+(k-1)N-k(k-1)/2",
            "Coordinator": "N",
            "messages": "2N+k-1..2N+(k-1)N-k(k-1)/2",
        },
        forms=("sound",),
        **IN_ANY_ORDER,
    ),
)
