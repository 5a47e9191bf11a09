"""Reading what nodes wrote down, and making one run of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from electorate.cli.error import UsageError
from electorate.cli.protocol import Protocol, find
from electorate.trace import Setting, Trace
from electorate.trace.merge import Occurrence, merged, rerun
from electorate.trace.record import Entry, Lived, RecordError, parse_entry


class Records(NamedTuple):
    """The records of one run, re-run and merged."""

    protocol: Protocol
    setting: Setting
    trace: Trace
    events: int
    lives: int


def is_record(path: Path) -> bool:
    """Whether the file, or what is in the folder, was written by a node."""
    if path.is_dir():
        return True
    try:
        with path.open("rb") as file:
            return file.readline(64).startswith(b'{"type":"booted"')
    except OSError:
        return False


def read_records(paths: Sequence[Path]) -> Records:
    """Re-run every record through the machine, and merge them."""
    files = [file for path in paths for file in _files(path)]
    entries = {file: _entries(file) for file in files}
    texts = {entry.cluster for found in entries.values() for entry in _lives(found)}
    if len(texts) != 1:
        raise UsageError(f"the records are of {len(texts)} different clusters")
    setting = Setting.parse(texts.pop())
    protocol = find(setting.protocol)
    machine = protocol.machine(setting)
    records: dict[int, list[Occurrence]] = {}
    for file, found in entries.items():
        node = _lives(found)[0].node
        if node in records:
            raise UsageError(f"{file}: there is another record of node {node}")
        try:
            records[node] = rerun(machine, found)
        except (RecordError, msgspec.DecodeError) as error:
            raise UsageError(f"{file}: {error}") from None
    try:
        trace = merged(setting, records)
    except RecordError as error:
        raise UsageError(f"the records do not fit together: {error}") from None
    events = sum(map(len, records.values()))
    lives = sum(len(_lives(found)) for found in entries.values())
    return Records(protocol, setting, trace, events, lives)


def _files(path: Path) -> list[Path]:
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"no records (*.jsonl) in {path}")
    return files


def _entries(path: Path) -> list[Entry]:
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()  # The node was killed while it wrote its last line.
    try:
        entries = [parse_entry(line, f"{path}:{n}") for n, line in enumerate(lines, start=1)]
    except RecordError as error:
        raise UsageError(str(error)) from None
    if not entries or not isinstance(entries[0], Lived):
        raise UsageError(f"{path} is not the record of a node")
    return entries


def _lives(entries: Sequence[Entry]) -> list[Lived]:
    return [entry for entry in entries if isinstance(entry, Lived)]
