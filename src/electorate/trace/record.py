"""What a node went through, as it is written down while it runs: JSON lines, format 2.

One host writes one series of files, for all machine instances that live in it. A line is about one
instance: the machine that it runs, the boots, the events, each with a digest of the state that it
led to. An event re-run through `step` gives the same digest; a receipt names the message that it
received, so that the records of all nodes merge into one trace (trace/merge.py).
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from electorate.core import Asked, Event, Machine, NodeId, Received, Stable, State, TimedOut, Viewed
from electorate.core.codec import json_of

FORMAT = 2
CONTAINS = (
    "events, messages and requests of the machines, and the names of nodes, elections and "
    "transactions; no statements, values or rows of transactions, and no work of elections"
)
"""What a record contains of an application's data."""

SUFFIX = ".jsonl"
_PART = re.compile(r"(.+)\.(\d{6})\.jsonl")


class Letterhead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which message it was: the life of the sender's host, and a number.

    The number counts what this instance of the sender has sent to this node in that life of its
    host; it goes on if only the instance boots again.
    """

    incarnation: int
    number: int


class HostLife(msgspec.Struct, frozen=True, tag="host"):
    """A life of the host begins, or (`continued`) the next file of the same life."""

    format: int
    at: float
    """Milliseconds on the node's clock."""
    node: NodeId
    incarnation: int
    name: str = ""
    """The name of the node."""
    names: dict[NodeId, str] = {}
    """The names of the others, as far as they are known."""
    cluster: str = ""
    """The cluster's id."""
    electorate: str = ""
    """The version that wrote this."""
    authentication: str | None = None
    """How the nodes of this cluster prove who they are; None if they do not."""
    contains: str = CONTAINS
    part: int = 1
    """The number of this file in its series."""
    continued: bool = False


class Named(msgspec.Struct, frozen=True, tag="named"):
    """More is known about the names of nodes."""

    at: float
    names: dict[NodeId, str]


class Ruled(msgspec.Struct, frozen=True, tag="ruled"):
    """From here on the instance of this number and name runs this machine."""

    i: int
    at: float
    instance: str
    cluster: str
    """The machine, as the first line of a script."""


class Booted(msgspec.Struct, frozen=True, tag="booted"):
    """A life of an instance began."""

    i: int
    at: float
    stable: msgspec.Raw
    """What the last life saved; null on the first start."""
    digest: int


class Held(msgspec.Struct, frozen=True, tag="held", omit_defaults=True):
    """The state of an instance when a new file was begun: it can be re-run from here."""

    i: int
    at: float
    state: msgspec.Raw
    alive: list[NodeId] | None = None
    """The last word of its failure detector."""
    sent: dict[NodeId, int] | None = None
    """How many messages it had sent to each node in this life of the host; None if unknown."""


class Took(msgspec.Struct, frozen=True, tag="took", omit_defaults=True, gc=False):
    """An instance took an event to its end."""

    i: int
    at: float
    what: str
    body: msgspec.Raw
    digest: int
    """Of the state to which it led."""
    sender: NodeId | None = None
    letterhead: Letterhead | None = None
    source: str | None = None
    """The instance of the same node whose state led to this request."""


class Ended(msgspec.Struct, frozen=True, tag="ended", omit_defaults=True):
    """A life of an instance ended in an orderly way; a crash leaves no such line."""

    i: int
    at: float
    over: bool = False
    """Whether there was nothing more to do for it, and its host went on without it."""


class Stopped(msgspec.Struct, frozen=True, tag="stopped"):
    """From here on nothing is recorded, though the node goes on."""

    at: float
    why: str


OfInstance = Ruled | Booted | Held | Took | Ended
Entry = HostLife | Named | Stopped | OfInstance

_entries = msgspec.json.Decoder(Entry)
_views = msgspec.json.Decoder(frozenset[NodeId])
_texts = msgspec.json.Decoder(str)
_fast = msgspec.msgpack.Encoder(order="deterministic")


class RecordError(ValueError):
    """A record that cannot be read."""


# --- states ---


def digest_of(machine: Machine[Any]) -> Callable[[State], int]:
    """A digest of 32 bits for comparing a machine's states, the same in every process."""
    return _digest if _sorts(machine.state_type) else _slow_digest


def _digest(state: State) -> int:
    return crc32(_fast.encode(state))


def _slow_digest(state: State) -> int:
    return crc32(json_of(state))


@cache
def _sorts(kind: Any) -> bool:
    """Whether everything in the sets of a type has an order, so that msgspec can sort them."""
    seen: set[int] = set()

    def walk(info: object) -> bool:
        match info:
            case (
                msgspec.inspect.SetType(item_type=item)
                | msgspec.inspect.FrozenSetType(item_type=item)
            ):
                return isinstance(item, msgspec.inspect.IntType | msgspec.inspect.StrType)
            case msgspec.inspect.Type() | msgspec.inspect.Field() if id(info) not in seen:
                seen.add(id(info))
                return all(walk(getattr(info, name)) for name in info.__struct_fields__)
            case tuple() | list():
                return all(map(walk, info))
        return True

    return walk(msgspec.inspect.type_info(kind))


class EventReader:
    """Decodes the values of one machine, strictly."""

    def __init__(self, machine: Machine[Any]) -> None:
        self._stable = msgspec.json.Decoder(machine.stable_type | None)
        self._state = msgspec.json.Decoder(machine.state_type)
        self._messages = msgspec.json.Decoder(_union(machine.messages))
        self._requests = msgspec.json.Decoder(_union(machine.requests))

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

    def stable(self, entry: Booted) -> Stable | None:
        """What the life began with."""
        found: Stable | None = self._stable.decode(bytes(entry.stable))
        return found

    def state(self, entry: Held) -> State:
        """The state in which the file begins."""
        found: State = self._state.decode(bytes(entry.state))
        return found


def _union(types: tuple[type[Any], ...]) -> Any:
    return reduce(or_, types) if types else None


# --- files ---


class Line(NamedTuple):
    """A line about one instance, with what the lines before it say."""

    where: str
    """File and line number."""
    host: HostLife
    clock: int
    """How often the clock of this node has begun anew, as when its machine was rebooted."""
    gap: bool
    """Whether lines may be missing between this one and the last about any instance."""
    instance: str
    entry: OfInstance


class Gap(NamedTuple):
    """A part of a node's history that its record does not show, on the node's own clock."""

    node: NodeId
    clock: int
    begin: float
    end: tuple[int, float] | None = None
    """The clock and the time at which the record goes on; None if it does not."""
    missing: tuple[int, int] | None = None
    """The first and the last missing life of the host."""


def part_file(path: Path, number: int) -> Path:
    """The file of an older part of a series."""
    return path.with_name(f"{path.name.removesuffix(SUFFIX)}.{number:06}{SUFFIX}")


def older_parts(path: Path) -> list[tuple[int, Path]]:
    """The older parts of a series that are still there, the oldest first."""
    stem = path.name.removesuffix(SUFFIX)
    found = [(_PART.fullmatch(each.name), each) for each in path.parent.glob(f"*{SUFFIX}")]
    return sorted((int(m[2]), each) for m, each in found if m is not None and m[1] == stem)


def series_in(folder: Path) -> list[Path]:
    """The records in a folder, each by the file that is written last."""
    files = [each for each in folder.glob(f"*{SUFFIX}") if each.is_file()]
    parts = [(_PART.fullmatch(each.name), each) for each in files]
    return sorted({each if m is None else folder / f"{m[1]}{SUFFIX}" for m, each in parts})


class RecordFile:
    """The series of files that one node has written, read line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: list[NodeId] = []
        """The node of the record; None before the first whole line. It may change: if a node has
        lost its folder, and was replaced under its name."""
        self.names: dict[NodeId, str] = {}
        self.hosts: list[HostLife] = []
        """Every life of the host."""
        self.gaps: list[Gap] = []
        self._host: HostLife | None = None
        self._stopped: Gap | None = None
        self._instances: dict[int, str] = {}
        self._clock = 0
        self._at = 0.0
        self._gap = True

    def lines(self) -> Iterator[Line]:
        """Every line about an instance; a RecordError says what cannot be read, and where."""
        parts = [file for _, file in older_parts(self.path)]
        for file in [*parts, self.path] if self.path.exists() else parts:
            try:
                with file.open("rb") as opened:
                    for number, line in enumerate(opened, start=1):
                        if line.endswith(b"\n"):  # Else the node was killed while it wrote it.
                            found = self._read(line, f"{file.name}:{number}")
                            if found is not None:
                                yield found
            except OSError as error:
                raise RecordError(f"{file}: {error.strerror}") from None
        if self._stopped is not None:
            self.gaps.append(self._stopped)

    def _read(self, line: bytes, where: str) -> Line | None:
        entry = parse_entry(line, where)
        if isinstance(entry, HostLife):
            self._begin(entry)
            return None
        if self._host is None:
            raise RecordError(f"{where}: a record begins with a line about its host")
        self._at = entry.at
        if isinstance(entry, Stopped):
            self._stopped = Gap(self._host.node, self._clock, entry.at)
            return None
        if isinstance(entry, Named):
            self.names |= entry.names
            return None
        if isinstance(entry, Ruled):
            self._instances[entry.i] = entry.instance
        name = self._instances.get(entry.i)
        if name is None:
            raise RecordError(f"{where}: no line before says which instance number {entry.i} is")
        if isinstance(entry, Ended):
            del self._instances[entry.i]
        return Line(where, self._host, self._clock, self._gap, name, entry)

    def _begin(self, host: HostLife) -> None:
        if host.node not in self.nodes:
            self.nodes.append(host.node)
        last, self._host = self._host, host
        before = Gap(host.node if last is None else last.node, self._clock, self._at)
        if host.at < self._at:
            self._clock += 1
        self._gap = self._is_gap(last, host)
        if self._gap and last is not None:
            lives = (last.incarnation + 1, host.incarnation - 1)
            missing = lives if last.node == host.node and lives[0] <= lives[1] else None
            gap = self._stopped or before
            self.gaps.append(gap._replace(end=(self._clock, host.at), missing=missing))
        self._stopped = None
        if not host.continued or self._gap:
            self.hosts.append(host)
        self._at = host.at
        self.names |= host.names
        if host.name:
            self.names[host.node] = host.name
        self._instances.clear()

    def _is_gap(self, last: HostLife | None, host: HostLife) -> bool:
        """Whether something is missing between the last line and this life, or this file."""
        if last is None:
            return host.continued
        if host.continued:
            follows = host.part in (last.part, last.part + 1)
            return not follows or last.incarnation != host.incarnation
        skips = last.node == host.node and host.incarnation > last.incarnation + 1
        return skips or self._stopped is not None


def parse_entry(line: bytes, where: str) -> Entry:
    """The entry in a line; `where` is named in the error."""
    try:
        entry: Entry = _entries.decode(line)
    except msgspec.DecodeError as error:
        if line.startswith(b'{"type":"booted","format":1,'):
            raise RecordError(
                f"{where}: format 1; this version reads {FORMAT}: "
                "replay it with the version that wrote it"
            ) from None
        raise RecordError(f"{where}: {error}") from None
    if isinstance(entry, HostLife) and entry.format != FORMAT:
        raise RecordError(f"{where}: format {entry.format}; this version reads {FORMAT}")
    return entry
