"""The log of a node's transactions: forced before anything that follows from it is said.

It is kept in the node's store, one record for each transaction that is not over.
"""

from typing import Protocol

import msgspec

from electorate.errors import StoreError
from electorate.transactions.letter import Parts

PREFIX = "transaction "


class Record(msgspec.Struct, frozen=True):
    """What is known of a transaction."""

    parts: Parts
    stable: bytes
    """The stable part of its machine."""
    began: float
    """When it was first written down, in seconds since 1970; for people to read."""
    by_hand: str | None = None
    """What somebody has decided by hand, if so."""


_decoder = msgspec.msgpack.Decoder(Record)


class Kept(Protocol):
    """The store, as far as it is needed here."""

    def names(self) -> list[str]:
        """Everything under which something is saved."""

    def load(self, instance: str) -> bytes | None:
        """What was saved last under this name."""


def records(store: Kept) -> dict[str, Record]:
    """Every transaction that is not over."""
    names = [name for name in store.names() if name.startswith(PREFIX)]
    return {name.removeprefix(PREFIX): _read(store, name) for name in sorted(names)}


def _read(store: Kept, name: str) -> Record:
    try:
        record: Record = _decoder.decode(store.load(name) or b"")
    except msgspec.DecodeError as error:
        raise StoreError(f"the record of {name} cannot be read: {error}") from None
    return record
