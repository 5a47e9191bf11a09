"""Writes down what the machine instances of a host go through, so that it can be re-run.

Events are gathered in memory, then put into lines and written with one call when the host asks for
it: before anything that follows from them leaves the node. A node that is killed in between has
lost only what nobody else has seen. A host that records nothing holds None instead.
"""

import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from electorate.core import (
    Asked,
    Event,
    Machine,
    NodeId,
    Received,
    Stable,
    State,
    TimedOut,
    Viewed,
)
from electorate.core.codec import json_of
from electorate.runtime.private import make_private_folder
from electorate.runtime.tcp import now_ms
from electorate.trace.record import (
    FORMAT,
    SUFFIX,
    Booted,
    Ended,
    Entry,
    Held,
    HostLife,
    Letterhead,
    Named,
    Ruled,
    Stopped,
    Took,
    digest_of,
    older_parts,
    part_file,
)
from electorate.trace.setting import Setting

PART_BYTES = 64 * 2**20
PARTS_MAX = 16
TAIL_BYTES = 64 * 1024

log = logging.getLogger("electorate.runtime")
_encoder = msgspec.json.Encoder()


def record_file(folder: Path, name: str) -> Path:
    """The record of the node with that name."""
    return folder / (quote(name, safe=" :@+,=") + SUFFIX)


Taken = tuple["InstanceRecorder", int, float, Event, State, Letterhead | None, str | None]
"""An event that was taken and is not yet in a line: states do not change, so that can wait."""


class Recorder:
    """The record of one host: a file, and older parts of it beside it. Opening raises OSError.

    Later a record that cannot be written never ends the node: the error is logged once, and nothing
    more is recorded.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = now_ms,
        part_bytes: int = PART_BYTES,
        parts_max: int = PARTS_MAX,
    ) -> None:
        self._path = path
        self._clock = clock
        self._part_bytes = part_bytes
        self._parts_max = parts_max
        self.gathered: list[Entry | Taken] = []
        """What is not written yet."""
        self._host: HostLife | None = None
        self._instances: dict[int, InstanceRecorder] = {}
        self._number = 0
        self._file: int | None = None
        self._part = 1 + max((number for number, _ in older_parts(path)), default=0)
        self._size = self._open()
        self.failure = ""
        """Why nothing is recorded any more; empty while all is well."""

    def begin(
        self,
        node: NodeId,
        incarnation: int,
        name: str = "",
        names: Mapping[NodeId, str] | None = None,
        cluster: str = "",
        authentication: str | None = None,
    ) -> None:
        """A life of the host begins; instances that outlive the last one go on in it."""
        is_first = self._host is None
        self._host = HostLife(
            FORMAT,
            self._now(),
            node,
            incarnation,
            name,
            dict(names or {}),
            cluster,
            _version(),
            authentication,
            part=self._part,
        )
        if is_first:  # What has begun with the process, before it was known which life this is.
            self.gathered.insert(0, self._host)
            return
        instances = list(self._instances.values())
        self._instances.clear()
        self.write(self._host)
        for instance in instances:
            instance.go_on()

    def know(self, names: Mapping[NodeId, str]) -> None:
        """What people call the nodes, once more of it is known."""
        host = self._host
        if host is not None and any(host.names.get(node) != names[node] for node in names):
            self._host = msgspec.structs.replace(host, names={**host.names, **names})
            self.write(Named(self._now(), dict(names)))

    def instance(
        self, name: str, sent: Callable[[], Mapping[NodeId, int]] | None = None
    ) -> "InstanceRecorder":
        """The recorder of one instance. `sent` says how many messages it has sent to each node.

        All that it has sent in this life of the host count, also those that were dropped.
        """
        return InstanceRecorder(self, name, sent)

    def flush(self) -> None:
        """Write what was gathered; call it before anything that follows from it leaves the node."""
        if not self.gathered or self._host is None:
            return
        if self.failure:
            self.gathered.clear()
            return
        self._write_gathered()
        if self._size >= self._part_bytes and self._file is not None:
            try:
                self._rotate()
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    # --- for its instances ---

    def write(self, entry: Entry) -> None:
        """Gather a line."""
        self.gathered.append(entry)

    def enroll(self, instance: "InstanceRecorder") -> int:
        """The number of an instance whose life begins."""
        self._number += 1
        self._instances[self._number] = instance
        return self._number

    def dismiss(self, number: int) -> None:
        """That instance has ended."""
        self._instances.pop(number, None)

    def _now(self) -> float:
        return round(self._clock(), 3)

    # --- the files ---

    def _write_gathered(self) -> None:
        # All at once: what is done once in a while is slow, and a loop over the same things is not.
        entries = [
            each[0].line_of(each) if isinstance(each, tuple) else each for each in self.gathered
        ]
        self.gathered.clear()
        self._write(_encoder.encode_lines(entries))

    def _open(self) -> int:
        """Open the file to go on after its last whole line; returns how long it is."""
        make_private_folder(self._path.parent)
        if self._path.exists() and _is_of_another_format(self._path):
            aside = self._path.with_name(f"{self._path.name}.old-format")
            log.warning("%s has another format; it is kept as %s", self._path, aside.name)
            self._path.rename(aside)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._file = _locked(os.open(self._path, flags, 0o600), self._path)
        size = os.fstat(self._file).st_size
        whole = _whole(self._file, size)
        if whole < size:
            os.ftruncate(self._file, whole)
        return whole

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            written = os.write(self._file, data)
            while written < len(data):  # The disk took only a part of it: why, it says next.
                written += os.write(self._file, data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            self._fail(error)
            return
        self._size += len(data)

    def _rotate(self) -> None:
        """Begin a new file, from which every live instance can be re-run without the older ones."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._path.rename(part_file(self._path, self._part))
        parts = older_parts(self._path)
        for _, old in parts[: max(0, len(parts) + 1 - self._parts_max)]:
            old.unlink(missing_ok=True)
        self._part += 1
        self._size = self._open()
        if self._host is not None:
            now = self._now()
            self.write(msgspec.structs.replace(self._host, at=now, part=self._part, continued=True))
        for instance in self._instances.values():
            instance.hold()
        self._write_gathered()

    def _fail(self, error: OSError) -> None:
        """Log once what is lost, and what to do about it; the node goes on."""
        self.failure = error.strerror or str(error)
        log.error(
            "cannot write the record %s: %s. The node goes on, but what happens from now on is not "
            "recorded; make room or move older parts away, and restart the node to record again",
            self._path,
            self.failure,
        )
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self.gathered.clear()
        self._instances.clear()
        stopped = _encoder.encode(Stopped(self._now(), self.failure)) + b"\n"
        parts = [file for _, file in reversed(older_parts(self._path))]
        with contextlib.suppress(OSError):  # As on a disk that is gone: a crash looks the same.
            files = (each for each in (self._path, *parts) if each.exists() and each.stat().st_size)
            for last in [*files][:1]:
                _end_with(last, stopped)


class InstanceRecorder:
    """Writes down what one instance goes through."""

    def __init__(
        self, recorder: Recorder, name: str, sent: Callable[[], Mapping[NodeId, int]] | None
    ) -> None:
        self._recorder = recorder
        self._gathered = recorder.gathered
        self._clock = recorder._clock
        self._name = name
        self._sent = sent
        self._number = 0
        self._cluster = ""
        self._digest_of: Callable[[State], int] | None = None
        self._state: State | None = None
        """Its present state; None while it is down."""
        self._alive: frozenset[NodeId] | None = None
        """The last word of its failure detector."""
        self._digested_state: State | None = None
        self._digest = 0

    def ruled(self, machine: Machine[Any], cluster: str) -> None:
        """From now on it runs this machine, which a `cluster` line describes (see `described`)."""
        self._digest_of = digest_of(machine)
        if cluster != self._cluster:
            self._cluster = cluster
            if self._number:
                self._say_rules()

    def booted(self, stable: Stable | None, state: State) -> None:
        """A life begins."""
        if not self._number:
            self._number = self._recorder.enroll(self)
            self._say_rules()
        self._state, self._alive = state, None
        kept: Any = msgspec.Raw(json_of(stable))
        digest = self._digested(state)
        self._recorder.write(Booted(self._number, round(self._clock(), 3), kept, digest))

    def took(
        self,
        event: Event,
        state: State,
        letterhead: Letterhead | None = None,
        source: str | None = None,
    ) -> None:
        """An event was taken, and led to this state."""
        self._state = state
        if type(event) is Viewed:
            self._alive = event.alive
        at = self._clock()
        self._gathered.append((self, self._number, at, event, state, letterhead, source))

    def line_of(self, taken: Taken) -> Took:
        """The line of an event that was taken; called once for each, in their order."""
        _, number, at, event, state, letterhead, source = taken
        at, digest = round(at, 3), self._digested(state)
        body: Any
        # Most of what a busy node takes is messages, so they come first.
        if type(event) is Received:
            body = event.message
            return Took(number, at, "received", body, digest, event.sender, letterhead)
        if type(event) is TimedOut:
            body = event.timer
            return Took(number, at, "timed out", body, digest)
        if type(event) is Viewed:
            body = sorted(event.alive)
            return Took(number, at, "viewed", body, digest)
        if type(event) is Asked:
            body = event.request
            return Took(number, at, "asked", body, digest, source=source)
        raise TypeError(f"no such event: {event!r}")

    def ended(self, *, over: bool = False) -> None:
        """The life ends in an orderly way, and the instance is forgotten."""
        if self._number:
            self._recorder.write(Ended(self._number, round(self._clock(), 3), over))
            self._recorder.dismiss(self._number)
            self._number, self._state = 0, None

    def halted(self) -> None:
        """The life ends as by a crash: nothing is written, a later boot says it all."""
        self._state = None

    def go_on(self) -> None:
        """The host's next life begins: the instance goes on as it is, or boots anew."""
        self._number = 0
        if self._state is not None:
            self._number = self._recorder.enroll(self)
            self.hold()

    def hold(self) -> None:
        """Write its present state, at the head of a new file."""
        self._say_rules()
        if self._state is not None:
            state: Any = msgspec.Raw(json_of(self._state))
            sent = None if self._sent is None else dict(self._sent())
            alive = None if self._alive is None else sorted(self._alive)
            at = round(self._clock(), 3)
            self._recorder.write(Held(self._number, at, state, alive, sent))

    def _say_rules(self) -> None:
        at = round(self._clock(), 3)
        self._recorder.write(Ruled(self._number, at, self._name, self._cluster))

    def _digested(self, state: State) -> int:
        if state is not self._digested_state:
            if self._digest_of is None:
                raise ValueError(f"{self._name} is recorded before its machine is known")
            self._digested_state, self._digest = state, self._digest_of(state)
        return self._digest


@lru_cache(1000)
def described(machine: Machine[Any], protocol: str, form: str = "sound") -> str:
    """A machine as the `cluster` line that builds it again.

    `protocol` is the name under which commands find its class in that form, such as
    `mandate-over-strongest-alive/register`.
    """
    setting = Setting.of(machine, protocol, form)
    again = Setting.parse(setting.text()).machine(type(machine), form)
    alike = [(each.members, each.timing, each.rules) for each in (machine, again)]
    if alike[0] != alike[1]:
        raise ValueError(f"{protocol}: {setting.text()} builds another machine: {alike}")
    return setting.text()


def _version() -> str:
    # Loading it takes as long as half of the runtime: only a node that records pays for it.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("electorate")
    except PackageNotFoundError:
        return "unknown"


def _locked(file: int, path: Path) -> int:
    """Keep other processes from writing there: nobody could tell whose lines are whose."""
    try:
        import fcntl

        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(file)
        wrong = f"another process writes the record {str(path)!r}: name another folder"
        raise OSError(wrong) from None
    except (ImportError, OSError):  # Not every system and not every disk has locks.
        pass
    return file


def _is_of_another_format(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.readline(64)
    expected = f'{{"type":"host","format":{FORMAT},'.encode()
    return head[: len(expected)] != expected[: len(head)]  # A torn head is as good as none.


def _end_with(path: Path, line: bytes) -> None:
    """Write a last line on a full disk, if need be over the last lines before it."""
    file = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    try:
        size = _whole(file, os.fstat(file).st_size)
        over = _whole(file, max(0, size - len(line)))
        for begin in (size, over):
            with contextlib.suppress(OSError):
                if begin and (written := os.pwrite(file, line, begin)):
                    is_whole = written == len(line)
                    os.ftruncate(file, begin + written if is_whole else begin)
                    return
    finally:
        os.close(file)


def _whole(file: int, size: int) -> int:
    """How much of a file is whole lines: its node may have been killed in the last one."""
    end = size
    while end:
        begin = max(0, end - TAIL_BYTES)
        newline = os.pread(file, end - begin, begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        end = begin
    return 0
