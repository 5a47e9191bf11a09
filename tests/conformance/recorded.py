"""What nodes wrote down, read back."""

from collections.abc import Mapping
from pathlib import Path

from electorate.core import NodeId, Turns
from electorate.trace import Setting, Trace
from electorate.trace.merge import Occurrence, merged, rerun
from electorate.trace.record import Line, RecordFile
from tests.conformance.probe import find
from tests.conformance.story import Run


def lines_of(path: Path, instance: str) -> list[Line]:
    """The lines of one instance in a record, but for a last one that a crash has torn."""
    return [line for line in RecordFile(path).lines() if line.instance == instance]


def turns_of(cluster: str) -> Turns:
    """The machine that a record names."""
    setting = Setting.parse(cluster)
    return Turns(setting.machine(*find(setting.protocol)))


def occurrences(paths: Mapping[NodeId, Path], instance: str) -> dict[NodeId, list[Occurrence]]:
    """The events of every record, run again; a RecordError if the states are not the same."""
    return {node: rerun(lines_of(path, instance), turns_of) for node, path in paths.items()}


def recorded(run: Run, paths: Mapping[NodeId, Path], instance: str) -> Trace:
    """The records of all nodes as one trace."""
    return merged(run.setting, occurrences(paths, instance))
