"""How many messages of each kind a run took."""

from collections import Counter
from collections.abc import Iterable

from electorate.core import Send
from electorate.trace.happening import Step, TurnRecord
from electorate.trace.svg.sheet import kind_of


def messages_of(steps: Iterable[Step]) -> Counter[str]:
    """The messages that left for other nodes, by kind; also those to nodes that were down."""
    return Counter(
        kind_of(send.message) for step in steps for turn in step.turns for send in spoken(turn)
    )


def spoken(turn: TurnRecord) -> list[Send]:
    """What left for other nodes: of a turn that a crash tore, a first part for each of them."""
    sends = [
        effect for effect in turn.effects if isinstance(effect, Send) and effect.to != turn.node
    ]
    if turn.sent is None:
        return sends
    left = Counter(dict(turn.sent))
    gone: list[Send] = []
    for send in sends:
        if left[send.to] > 0:
            left[send.to] -= 1
            gone.append(send)
    return gone
