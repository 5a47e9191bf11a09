"""The log of a node's transactions: forced before anything that follows from it is said.

It is kept in the node's store, one record for each transaction that is not over.
"""

import msgspec

from electorate.errors import StoreError
from electorate.runtime.store import Store
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


class Log:
    """The records of all transactions that are not over."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, tx: str, record: Record) -> None:
        """Make this durable before returning."""
        self._store.save({PREFIX + tx: msgspec.msgpack.encode(record)})

    def forget(self, tx: str) -> None:
        """The transaction is over."""
        self._store.drop(PREFIX + tx)

    def all(self) -> dict[str, Record]:
        """Every transaction that is not over."""
        names = [name for name in self._store.names() if name.startswith(PREFIX)]
        return {name.removeprefix(PREFIX): self._load(name) for name in sorted(names)}

    def _load(self, name: str) -> Record:
        try:
            record: Record = _decoder.decode(self._store.load(name) or b"")
        except msgspec.DecodeError as error:
            raise StoreError(f"the record of {name} cannot be read: {error}") from None
        return record
