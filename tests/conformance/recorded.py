"""What nodes wrote down, read back."""

from collections.abc import Mapping
from pathlib import Path

from electorate.core import NodeId
from electorate.trace import Trace
from electorate.trace.merge import Occurrence, merged, rerun
from electorate.trace.record import Entry, parse_entry
from tests.conformance.story import Run


def entries_of(path: Path) -> list[Entry]:
    """The entries of one record, but for a last line that a crash has torn."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    whole = [line for line in lines if line.endswith(b"\n")]
    return [parse_entry(line, f"{path.name}:{n}") for n, line in enumerate(whole, start=1)]


def occurrences(run: Run, paths: Mapping[NodeId, Path]) -> dict[NodeId, list[Occurrence]]:
    """The events of every record, run again; a RecordError if the states are not the same."""
    return {node: rerun(run.turns.machine, entries_of(path)) for node, path in paths.items()}


def recorded(run: Run, paths: Mapping[NodeId, Path]) -> Trace:
    """The records of all nodes as one trace."""
    return merged(run.setting, occurrences(run, paths))
