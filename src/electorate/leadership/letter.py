"""What nodes say to each other about their elections."""

import msgspec

from electorate.leadership.directory import Known


class Edition(msgspec.Struct, frozen=True, tag=True):
    """What the list of members reads as here: a node that has another one shows it."""

    edition: int


class Ranks(msgspec.Struct, frozen=True, tag=True):
    """The elections in groups in which this node takes part, with its priority; 0 only follows."""

    ranks: dict[str, int]


Letter = Edition | Ranks | Known

decoder = msgspec.msgpack.Decoder(Letter)
