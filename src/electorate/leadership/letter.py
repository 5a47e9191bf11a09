"""What nodes say to each other about their elections."""

import msgspec

from electorate.core import NodeId


class Ranks(msgspec.Struct, frozen=True, tag=True):
    """The elections in groups in which this node takes part, with its priority; 0 only follows."""

    ranks: dict[str, int]


class Order(msgspec.Struct, frozen=True, tag=True):
    """Step down, or hand over to that node: somebody wants it who is not the leader itself."""

    office: str
    token: int
    """The term that is meant: what comes late must not end a later one."""
    heir: NodeId | None = None


Letter = Ranks | Order

decoder = msgspec.msgpack.Decoder(Letter)
