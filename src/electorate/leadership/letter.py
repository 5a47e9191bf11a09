"""What nodes say to each other about their elections."""

import msgspec

from electorate.core import NodeId
from electorate.leadership.directory import Known


class Edition(msgspec.Struct, frozen=True, tag=True):
    """What the list of members reads as here: a node that has another one shows it."""

    edition: int


class Order(msgspec.Struct, frozen=True, tag=True):
    """Step down, or hand over to that node: somebody wants it who is not the leader itself."""

    office: str
    token: int
    """The term that is meant: what comes late must not end a later one."""
    heir: NodeId | None = None


Letter = Edition | Order | Known

decoder = msgspec.msgpack.Decoder(Letter)
