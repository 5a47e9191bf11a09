"""What it costs to enter a critical section by a token that rests until somebody wants it.

The token rests at node 1. A request goes on round the ring until it meets the token, and the token
goes on from there until it meets who asked: once round, wherever that is.
"""

from electorate.costs.case import Case

CASES = (
    Case(
        "the node before the token enters",
        "ask N Enter; settle",
        {"Wanted": "1", "Token": "N-1", "messages": "N", "time": "N·T"},
        nodes_min=2,
    ),
    Case(
        "the node behind the token enters",
        "ask 2 Enter; settle",
        {"Wanted": "N-1", "Token": "1", "messages": "N", "time": "N·T"},
        nodes_min=2,
    ),
    Case("who has the token enters", "ask 1 Enter; settle", {"messages": "0"}, nodes_min=2),
)
