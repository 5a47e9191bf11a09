"""What nodes say to one another about transactions, around the machine's own messages."""

from typing import Any

import msgspec

from electorate.core import NodeId, Stage
from electorate.runtime.frame import Hello
from electorate.transactions.resource import Answer


class Part(msgspec.Struct, frozen=True):
    """A node that takes part, with the memory that it had when it joined."""

    node: NodeId
    store: str
    incarnation: int

    def lost_by(self, hello: Hello) -> bool:
        """Whether the node has come back with another memory, or an older one."""
        return hello.store != self.store or hello.incarnation < self.incarnation


class Parts(msgspec.Struct, frozen=True):
    """Everybody who takes part in one transaction."""

    coordinator: Part
    participants: tuple[Part, ...]

    @property
    def all(self) -> tuple[Part, ...]:
        """The participants and the coordinator."""
        return (*self.participants, self.coordinator)

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """Their ids."""
        return tuple(part.node for part in self.all)

    def of(self, node: NodeId) -> Part | None:
        """The part of a node, if it has one."""
        return next((part for part in self.all if part.node == node), None)


class Work(msgspec.Struct, frozen=True, tag=True):
    """Do this; it is the so many-eth thing that this transaction wants of you."""

    tx: str
    number: int
    statement: Any
    values: tuple[Any, ...] = ()


class Worked(msgspec.Struct, frozen=True, tag=True):
    """I have, and this is what came of it."""

    tx: str
    number: int
    answer: Answer


class Failed(msgspec.Struct, frozen=True, tag=True):
    """I could not, and this is why: the transaction cannot be committed any more."""

    tx: str
    number: int
    reason: str


class Leave(msgspec.Struct, frozen=True, tag=True):
    """Undo your work: this transaction is not going to be."""

    tx: str


class Word(msgspec.Struct, frozen=True, tag=True):
    """This is why I am about to vote no."""

    tx: str
    reason: str


class Lost(msgspec.Struct, frozen=True, tag=True):
    """I cannot do as was decided: what I had promised is not there any more."""

    tx: str
    reason: str


class Settled(msgspec.Struct, frozen=True, tag=True):
    """I have done this a while ago, and nobody has said that I may forget it."""

    tx: str
    parts: Parts
    stage: Stage


class Step(msgspec.Struct, frozen=True):
    """A message of the machine that decides a transaction, and who takes part in that."""

    parts: Parts
    body: msgspec.Raw


Letter = Work | Worked | Failed | Leave | Word | Lost | Settled

_decoder = msgspec.msgpack.Decoder(Letter)


def encode(letter: Letter) -> bytes:
    """The letter as bytes; values that the wire does not know travel as text."""
    return msgspec.msgpack.encode(letter, enc_hook=str)


def decode(body: bytes) -> Letter:
    """The letter in these bytes."""
    letter: Letter = _decoder.decode(body)
    return letter
