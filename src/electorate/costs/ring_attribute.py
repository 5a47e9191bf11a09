"""What an election on the ring of attributes costs.

I. Gupta, "Ring Leader Election": slides "Worst-Case Analysis" (the initiator is the successor of
the would-be leader: 3N-1), "Best Case?" (it is the would-be leader itself: 2N) and "Multiple
Initiators?". As printed and to the letter, only the very first election is certain to end, and
that only with one initiator.
"""

from electorate.costs.ring import IN_ANY_ORDER, all_start, any_initiators, one_initiator
from electorate.trace import Start

ONE_INITIATOR = {
    "Election": "N+d",
    "Elected": "N",
    "messages": "2N+d",
    "rounds": "2N+d+1",
    "time": "(2N+d)T",
}

CASES = (
    one_initiator("one initiator, d hops before the best node", ONE_INITIATOR, forms=("sound",)),
    one_initiator(
        "the first election, d hops before the best node",
        ONE_INITIATOR,
        forms=("printed", "letter"),
        rules=("newcomers=wait",),
        start=Start.BOOT,
    ),
    # Everybody has sent a message of its own, so nobody puts itself into that of another.
    all_start(
        "the first election, all start, ids and ranks rise together",
        {"Election": "2N-1", "Elected": "N", "messages": "3N-1", "time": "2NT"},
        forms=("letter",),
        rules=("newcomers=wait",),
        start=Start.BOOT,
    ),
    # Only the run of the strongest initiator goes the whole way.
    any_initiators(
        "any k < N initiators, any order",
        {
            "Election": "N+k-1..2N-1+(k-1)N-k(k-1)/2",
            "Elected": "N",
            "messages": "2N+k-1..3N-1+(k-1)N-k(k-1)/2",
        },
        "1..N-1",
        forms=("sound",),
        **IN_ANY_ORDER,
    ),
    # The best node is the strongest initiator, so its own run wins.
    all_start(
        "all start, any order",
        {"Election": "2N-1..N+N(N-1)/2", "Elected": "N", "messages": "3N-1..2N+N(N-1)/2"},
        forms=("sound",),
        **IN_ANY_ORDER,
    ),
)
