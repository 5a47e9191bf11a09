"""What nodes say to each other about their elections."""

import msgspec

from electorate.leadership.directory import Known


class Edition(msgspec.Struct, frozen=True, tag=True):
    """What the list of members reads as here: a node that has another one shows it."""

    edition: int


Letter = Edition | Known

decoder = msgspec.msgpack.Decoder(Letter)
