"""What nodes say to each other about their elections."""

import msgspec

from electorate.core import NodeId
from electorate.leadership.directory import Known


class Standing(msgspec.Struct, frozen=True, tag=True):
    """The elections in which this node stands, with its priorities; in all others it only votes."""

    priorities: dict[str, int]
    question: int = 0
    """Tell me yours, and repeat this number; 0 asks nothing."""
    answer: int = 0
    """The number of the question that this answers."""
    edition: int = 0
    """What the list of members reads as here: who has another one is shown this one."""


class Ranks(msgspec.Struct, frozen=True, tag=True):
    """The elections in groups in which this node takes part, with its priority; 0 only follows."""

    ranks: dict[str, int]


class Order(msgspec.Struct, frozen=True, tag=True):
    """Step down, or hand over to that node: somebody wants it who is not the leader itself."""

    office: str
    token: int
    """The term that is meant: what comes late must not end a later one."""
    heir: NodeId | None = None


Letter = Standing | Ranks | Order | Known

decoder = msgspec.msgpack.Decoder(Letter)
