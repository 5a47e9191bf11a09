"""What one node went through, as it is written down while it runs: JSON lines.

A record re-run through `step` gives the same states; the records of all nodes merge into one
trace (trace/merge.py), because a receipt names the message it received.
"""

from functools import reduce
from operator import or_
from typing import Any

import msgspec

from electorate.core import (
    Asked,
    Event,
    Machine,
    NodeId,
    Received,
    Stable,
    TimedOut,
    Viewed,
    text_of,
)
from electorate.core.codec import json_of

FORMAT = 1


class Letterhead(msgspec.Struct, frozen=True):
    """Which message it was: the sender's life, and the number on its channel in that life."""

    incarnation: int
    number: int


class Lived(msgspec.Struct, frozen=True, tag="booted"):
    """A life began."""

    format: int
    at: float
    """Milliseconds on the node's clock."""
    cluster: str
    """The setting, as the first line of a script."""
    node: NodeId
    incarnation: int
    stable: msgspec.Raw
    """What the last life saved; null on the first start."""
    state: str


class Took(msgspec.Struct, frozen=True, tag="took"):
    """An event was taken to its end."""

    at: float
    what: str
    body: msgspec.Raw
    state: str
    sender: NodeId | None = None
    letterhead: Letterhead | None = None
    wake: int = 0
    """Turns of one wake-up of their host are saved together, or none of them is."""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """A life ended in an orderly way; a crash leaves no such line."""

    at: float


Entry = Lived | Took | Ended

_entries = msgspec.json.Decoder(Entry)
_views = msgspec.json.Decoder(frozenset[NodeId])
_texts = msgspec.json.Decoder(str)


class RecordError(ValueError):
    """A record that cannot be read, or that does not come out the same."""


class Scribe:
    """Writes down the events of one machine, and reads them back strictly."""

    def __init__(self, machine: Machine[Any]) -> None:
        self._stable = msgspec.json.Decoder(machine.stable_type | None)
        self._messages = msgspec.json.Decoder(_union(machine.messages))
        self._requests = msgspec.json.Decoder(_union(machine.requests))

    @staticmethod
    def raw(value: object) -> msgspec.Raw:
        """A value as JSON inside an entry."""
        return msgspec.Raw(json_of(value))

    def took(
        self,
        at: float,
        event: Event,
        state: object,
        letterhead: Letterhead | None = None,
        wake: int = 0,
    ) -> Took:
        """The entry for an event that led to `state`."""
        text = text_of(state)
        match event:
            case Received(sender, message):
                return Took(at, "received", self.raw(message), text, sender, letterhead, wake)
            case TimedOut(timer):
                return Took(at, "timed out", self.raw(timer), text, wake=wake)
            case Viewed(alive):
                return Took(at, "viewed", self.raw(sorted(alive)), text, wake=wake)
            case Asked(request):
                return Took(at, "asked", self.raw(request), text, wake=wake)

    def event(self, entry: Took) -> Event:
        """The event in an entry."""
        body = bytes(entry.body)
        match entry.what, entry.sender:
            case "received", int() as sender:
                return Received(sender, self._messages.decode(body))
            case "timed out", None:
                return TimedOut(_texts.decode(body))
            case "viewed", None:
                return Viewed(_views.decode(body))
            case "asked", None:
                return Asked(self._requests.decode(body))
        raise RecordError(f"no such event: {entry.what}")

    def stable(self, entry: Lived) -> Stable | None:
        """What the life began with."""
        found: Stable | None = self._stable.decode(bytes(entry.stable))
        return found


def _union(types: tuple[type[Any], ...]) -> Any:
    return reduce(or_, types) if types else None


def line_of(entry: Entry) -> str:
    """The entry as one line."""
    return msgspec.json.encode(entry).decode()


def parse_entry(line: str | bytes, where: str) -> Entry:
    """The entry in a line; `where` is named in the error."""
    try:
        entry: Entry = _entries.decode(line)
    except msgspec.DecodeError as error:
        raise RecordError(f"{where}: {error}") from None
    if isinstance(entry, Lived) and entry.format != FORMAT:
        raise RecordError(f"{where}: format {entry.format}; this version reads {FORMAT}")
    return entry
