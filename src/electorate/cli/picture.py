"""Runs as pictures: space-time diagrams for `--svg FILE`."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from electorate.cli.error import UsageError
from electorate.core import Machine, NodeId, Standing
from electorate.simulate.start import first_standings
from electorate.trace import Trace
from electorate.trace.diagram import layout_of
from electorate.trace.svg import svg_of


def add_svg_argument(parser: argparse._ActionsContainer) -> None:
    """`--svg`, the same on every command that shows a run."""
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the run into this file")


def draw(
    path: Path,
    trace: Trace,
    machine: Machine[Any],
    title: str,
    marks: Sequence[tuple[int, str]] = (),
    start: Mapping[NodeId, Standing] | None = None,
    names: Mapping[NodeId, str] | None = None,
    *,
    recorded: bool = False,
) -> None:
    """Write the diagram of a run; `marks` are steps with something to say about them.

    `start` has the standings of the nodes where a part of a run begins, `names` are those that
    people use. A `recorded` run has times in milliseconds.
    """
    if start is None:
        start, _ = first_standings(trace, machine)
    layout = layout_of(trace, machine.view, title, marks, start, names, recorded=recorded)
    write(path, svg_of(layout))


def write(path: Path, text: str) -> None:
    """Write a file that was asked for, or say in one line why that failed."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
