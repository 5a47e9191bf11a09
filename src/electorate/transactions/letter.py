"""What nodes say to each other about transactions, and what each of them has in its log.

The log is forced before anything that follows from it is said. It is in the node's store, one
record for each transaction that is not over.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import msgspec

from electorate.core import NodeId
from electorate.errors import StoreError
from electorate.runtime.frame import Hello
from electorate.runtime.store import FILE
from electorate.transactions.resource import Answer

PREFIX = "transaction "
"""How the names of their instances and records begin."""
BY_HAND = "decided by hand "
"""How the records of those begin that people have decided though they were not in the log."""


class Party(msgspec.Struct, frozen=True):
    """A node with the memory that it had when it joined: what a number means in one transaction."""

    node: NodeId
    store: str
    incarnation: int
    name: str = ""
    """Its name; it may be no member any more when somebody wants to know."""

    def lost_by(self, hello: Hello) -> bool:
        """Whether the node has come back with another memory, or an older one."""
        return hello.store != self.store or hello.incarnation < self.incarnation


class Parties(msgspec.Struct, frozen=True):
    """All that take part in one transaction."""

    coordinator: Party
    participants: tuple[Party, ...]

    @property
    def all(self) -> tuple[Party, ...]:
        """The participants and the coordinator."""
        return (*self.participants, self.coordinator)

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """Their ids."""
        return tuple(part.node for part in self.all)

    def of(self, node: NodeId) -> Party | None:
        """That node, as it takes part; None if it does not."""
        return next((part for part in self.all if part.node == node), None)


class Work(msgspec.Struct, frozen=True, tag=True):
    """Do this; the number counts what this transaction wants of you."""

    tx: str
    number: int
    statement: Any
    values: tuple[Any, ...] = ()
    named: bool = False
    """Whether the statement is the name of an operation that you have declared."""


class Worked(msgspec.Struct, frozen=True, tag=True):
    """I have done it, and this is the answer."""

    tx: str
    number: int
    answer: Answer


class Failed(msgspec.Struct, frozen=True, tag=True):
    """I could not, and this is why: the transaction cannot be committed any more."""

    tx: str
    number: int
    """Which piece of work is meant; 0 means everything, also what was done already."""
    reason: str


class Leave(msgspec.Struct, frozen=True, tag=True):
    """Undo your work: the transaction will not be committed."""

    tx: str


class Word(msgspec.Struct, frozen=True, tag=True):
    """This is why I am about to vote no."""

    tx: str
    reason: str


class PromiseLost(msgspec.Struct, frozen=True, tag="Lost"):
    """I cannot do what was decided: what I had promised is lost."""

    tx: str
    reason: str


class TransactionEnvelope(msgspec.Struct, frozen=True):
    """A message of the machine that decides a transaction, and all that take part."""

    parts: Parties
    body: msgspec.Raw


Letter = Work | Worked | Failed | Leave | Word | PromiseLost

PLAIN: tuple[type[Any], ...] = (str, int, float, bytes)

_decoder = msgspec.msgpack.Decoder(Letter)


def encode(letter: Letter) -> bytes:
    """The letter as bytes. A database value that the wire does not know is sent as text."""
    return msgspec.msgpack.encode(letter, enc_hook=_as_text)


def _as_text(value: Any) -> Any:
    for kind in PLAIN:
        if isinstance(value, kind):
            return kind(value)  # It is of a class of its own, and as good as any.
    return str(value)


def expect_sendable(statement: Any, values: tuple[Any, ...]) -> None:
    """TypeError if a value of this work would arrive only as its text."""
    try:
        msgspec.msgpack.encode((statement, values), enc_hook=_expect_plain)
    except OverflowError:
        raise ValueError("a number of more than 64 bits cannot be sent: send its text") from None


def _expect_plain(value: Any) -> Any:
    if isinstance(value, PLAIN):
        return _as_text(value)
    raise TypeError(
        f"a value of type {type(value).__qualname__} cannot be sent: use text, numbers, bytes, "
        "None, dates and times, or lists and dicts of these"
    )


def decode(body: bytes) -> Letter:
    """The letter in these bytes."""
    letter: Letter = _decoder.decode(body)
    return letter


class LoggedTransaction(msgspec.Struct, frozen=True):
    """What the log knows of a transaction."""

    parts: Parties
    stable: bytes
    """The stable part of its machine."""
    began: float
    """When it was first written down, in seconds since 1970; for people to read."""
    by_hand: str | None = None
    """What a person has decided by hand, if so."""


_records = msgspec.msgpack.Decoder(LoggedTransaction)


class Kept(Protocol):
    """What is needed of the store."""

    def names(self) -> list[str]:
        """All names under which something is saved."""

    def load(self, instance: str) -> bytes | None:
        """What was saved last under this name."""


def records(store: Kept) -> dict[str, LoggedTransaction]:
    """Every transaction that is not over."""
    names = [name for name in store.names() if name.startswith(PREFIX)]
    return {name.removeprefix(PREFIX): _read(store, name) for name in sorted(names)}


def _read(store: Kept, name: str) -> LoggedTransaction:
    try:
        record: LoggedTransaction = _records.decode(store.load(name) or b"")
    except msgspec.DecodeError as error:
        raise StoreError(f"the record of {name} cannot be read: {error}") from None
    return record


# --- folders of an earlier version ---

ELECTION, MEMBERS = "election", "directory"
"""Older nodes that only had transactions saved their one election, and nothing of members. Their
members were numbered in the order of a list that the folder does not hold. So what is open there
can only be finished by the version that has begun it."""


def explained(error: str, folder: Path) -> str:
    """Why a folder cannot be used, and what to do, if it is one of those; otherwise empty."""
    kept = _kept(folder / FILE)
    left = sorted(name.removeprefix(PREFIX) for name in kept if name.startswith(PREFIX))
    if ELECTION not in kept or MEMBERS in kept:
        return error
    if not left:
        told = "was not written by a Node: start it in an empty folder"
        return f"{folder} {told} (no transaction is open in this one)"
    some = ", ".join(left[:3]) + (", …" if len(left) > 3 else "")
    return (
        f"{folder} was written by an earlier version, and transactions are open in it ({some}): "
        "run that version until `electorate tx list` shows none at any member, then start all "
        "members of this version in empty folders"
    )


def _kept(file: Path) -> frozenset[str]:
    """All names under which something is saved there; none if that cannot be read."""
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=0)) as db:
            return frozenset(name for (name,) in db.execute("select instance from stable"))
    except sqlite3.Error:
        return frozenset()
