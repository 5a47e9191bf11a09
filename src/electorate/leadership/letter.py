"""What nodes say to each other about their elections."""

import msgspec

from electorate.core import NodeId
from electorate.leadership.members.acquaintance import Known
from electorate.runtime.frame import FRAME_MAX

BUNDLE_MAX = FRAME_MAX // 4
"""Bytes of one bundle, about."""
SAID_MAX = 100
"""Messages in one bundle: whoever reads it is busy with them for some milliseconds."""


class Said(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message of the machine of one election."""

    office: str
    body: msgspec.Raw
    group: tuple[int, int] | None = None
    """The group that the sender was in, where each group elects its own leader; None elsewhere."""


class Bundle(msgspec.Struct, frozen=True, tag=True):
    """What there is to say at one moment, about all elections."""

    said: list[Said]


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


Letter = Bundle | Standing | Ranks | Order | Known

decoder = msgspec.msgpack.Decoder(Letter)


def bundles(said: list[Said]) -> list[Bundle]:
    """All of it, in pieces that fit into one frame each."""
    parts: list[list[Said]] = [[]]
    size = 0
    for each in said:
        length = len(each.office) + len(bytes(each.body)) + 20
        if parts[-1] and (size + length > BUNDLE_MAX or len(parts[-1]) >= SAID_MAX):
            parts.append([])
            size = 0
        parts[-1].append(each)
        size += length
    return [Bundle(part) for part in parts]
