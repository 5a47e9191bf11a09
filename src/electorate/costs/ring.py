"""What the elections on rings have in common: nobody fails, and N counts every node."""

from electorate.costs.case import Extreme

DISTANCE = {"d": "0..N-1"}
ASK_AT_DISTANCE = "ask N-d Elect; settle"
"""One initiator, d hops before the strongest node, which is N."""
ASK_ALL = "for i in 1..N: ask i Elect; settle"

INITIATORS = {"k": "1..N"}
ANY_INITIATORS = {"S": "k of 1..N"}
ASK_ANY = "for i in S: ask i Elect; settle"

# Where ranks rise, the next node stops every message but that of the strongest. Where they fall,
# a message that starts right behind the strongest node goes as far as it can.
LEAST = Extreme("rising", {"S": "N-k+1..N"})
MOST = Extreme("falling", {"S": "1..k"})
