"""What nodes wrote down, read back."""

from collections.abc import Mapping
from pathlib import Path

from electorate.core import NodeId, Turns
from electorate.trace import Setting, Trace
from electorate.trace.merge import Occurrence, merged, rerun
from electorate.trace.record import Line, RecordFile
from tests.conformance.probe import find
from tests.conformance.story import Run


def lines_of(path: Path) -> list[Line]:
    """The lines of one record, but for a last one that a crash has torn."""
    return list(RecordFile(path).lines())


def turns_of(cluster: str) -> Turns:
    """The machine that a record names."""
    setting = Setting.parse(cluster)
    return Turns(setting.machine(*find(setting.protocol)))


def occurrences(run: Run, paths: Mapping[NodeId, Path]) -> dict[NodeId, list[Occurrence]]:
    """The events of every record, run again; a RecordError if the states are not the same."""
    return {node: rerun(lines_of(path), turns_of) for node, path in paths.items()}


def recorded(run: Run, paths: Mapping[NodeId, Path]) -> Trace:
    """The records of all nodes as one trace."""
    return merged(run.setting, occurrences(run, paths))
