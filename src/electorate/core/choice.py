"""What an application may see of a consensus: a Choice, which says what its node has decided.

Every node proposes a value, and decides on one once and for ever. Here a node proposes the last bit
of its own id, as whoever wants to get a consensus out of an election would have it.
"""

from electorate.core.standing import Standing
from electorate.core.value import NodeId


class Choice(Standing):
    """What a node has decided; its standing is that of the election underneath."""

    proposes: int = 0
    """The value that this node would have everybody decide on."""
    decided: int | None = None
    """The value that it has decided on, for ever; None before."""


def last_bit(node: NodeId) -> int:
    """The value that a node proposes."""
    return node % 2


def choice_of(below: Standing, me: NodeId, decided: int | None) -> Choice:
    """What a node shows that has decided so, over what its election shows."""
    return Choice(
        below.status,
        below.leader,
        below.group,
        below.until,
        below.token,
        proposes=last_bit(me),
        decided=decided,
    )
