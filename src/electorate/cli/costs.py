"""`electorate costs`: what an election costs, measured and beside the formulas."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, UsageError
from electorate.cli.picture import write
from electorate.cli.protocol import add_form_arguments, add_name_argument, find
from electorate.core import Topic
from electorate.costs import (
    Case,
    CostRow,
    Measure,
    MeasuredProtocol,
    cases_of,
    chart_of,
    lines_of_table,
    object_of,
)
from electorate.costs.measure import CONFIDENCE, SAMPLES
from electorate.trace.setting import NODES_MAX

NAME = "costs"
SUMMARY = "Measure what an election costs, and compare it with the protocol's formulas."
EXAMPLES = """examples:
  electorate costs bully
  electorate costs bully --nodes 3..64 --svg growth.svg
  electorate costs chang-roberts --nodes 3..64 --case "any order"
  electorate costs bully --rule answered=4T-1
  electorate costs path/to/ring.py:Ring --json

Every delay is exactly T. Up to 5,040 runs all are tried, beyond that a sample is drawn, and a mean
is given with an interval; all intervals of a table hold together with 95 % confidence.
Of a wide range of sizes all up to 8 are tried, and a few beyond.
exit code: 0 all is as the formulas say, 1 something differs, 2 bad usage or input, 3 a case without
formulas could not be played to its end"""

DENSE_MAX = 8
GROWTH = 2**0.5
"""Beyond DENSE_MAX, each size is this many times the one before."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `costs`."""
    add_name_argument(parser)
    parser.add_argument(
        "--nodes", type=_sizes, default="3..8", metavar="SIZES", help="3..64 or 3,5,9; default 3..8"
    )
    add_form_arguments(parser)
    parser.add_argument("--case", metavar="TEXT", help="only the cases whose name contains this")
    parser.add_argument(
        "--samples", type=_many, default=SAMPLES, metavar="K", help=f"default {SAMPLES}"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="for samples; default 0")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the growth into this file")


def _sizes(text: str) -> tuple[int, ...]:
    """The sizes of `3..64` or `3,5,9`; a wide range is thinned out beyond DENSE_MAX."""
    found = re.fullmatch(r"(\d{1,3})\.\.(\d{1,3})", text, re.ASCII)
    if found:
        sizes = _thinned(int(found[1]), int(found[2]))
    elif re.fullmatch(r"\d{1,3}(,\d{1,3})*", text, re.ASCII):
        sizes = sorted({int(each) for each in text.split(",")})
    else:
        raise argparse.ArgumentTypeError(f"must be like 3..64 or 3,5,9, not {text}")
    if not sizes or not 1 <= sizes[0] <= sizes[-1] <= NODES_MAX:
        raise argparse.ArgumentTypeError(f"must be from 1 to {NODES_MAX}, not {text}")
    return tuple(sizes)


def _thinned(first: int, last: int) -> list[int]:
    sizes = list(range(first, min(last, max(first, DENSE_MAX)) + 1))
    while sizes and sizes[-1] < last:
        sizes.append(min(last, max(sizes[-1] + 1, round(sizes[-1] * GROWTH))))
    return sizes


def _many(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"must be at least 2, not {text}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Measure every case, and report where it differs from its formula."""
    protocol = find(options.protocol, options.form)
    protocol.rules(options.rule)
    subject = MeasuredProtocol(
        protocol.spelled(), protocol.kind, protocol.form, tuple(options.rule)
    )
    try:
        cases = _cases(subject, options)
        rows = _measured(subject, cases, options)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.svg:
        write(options.svg, chart_of(_title(subject), rows))
    if options.json:
        print(msgspec.json.encode(_object(subject, cases, rows, options)).decode())
    else:
        print(f"{_title(subject)}, every delay being exactly T\n")
        print("\n".join(lines_of_table(rows)))
    if any(row.equal is False for row in rows):
        return EXIT_BROKEN
    return EXIT_UNKNOWN if any(row.problem for row in rows) else EXIT_DONE


def _cases(subject: MeasuredProtocol, options: argparse.Namespace) -> list[Case]:
    cases = [
        case
        for case in cases_of(subject.kind)
        if any(case.fits(subject.form, nodes) for nodes in options.nodes)
        and (options.case or "") in case.name
    ]
    if not cases:
        about = f" that contains {options.case!r}" if options.case else ""
        raise UsageError(f"{subject.name} has no case{about} for these sizes")
    return cases


def _measured(
    subject: MeasuredProtocol, cases: Sequence[Case], options: argparse.Namespace
) -> list[CostRow]:
    """All rows, with a bar on the terminal meanwhile; nothing where there is no terminal."""
    measure = Measure(subject, options.samples, options.seed)
    total = sum(case.fits(subject.form, nodes) for case in cases for nodes in options.nodes)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    rows: list[CostRow] = []
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("rows", total=total)
        for row in measure.rows(cases, options.nodes):
            rows.append(row)
            bar.update(task, advance=1, description=f"{row.case.name}, N={row.nodes}")
    return rows


def _title(subject: MeasuredProtocol) -> str:
    rules = f" with {' '.join(subject.rules)}" if subject.rules else ""
    is_transaction = Topic.DECISIONS in subject.kind.tells
    what = (
        "a transaction"
        if is_transaction
        else "a request"
        if subject.kind.begins_by
        else "an election"
    )
    return f"{subject.name}{rules}: what {what} costs"


def _object(
    subject: MeasuredProtocol,
    cases: Sequence[Case],
    rows: Sequence[CostRow],
    options: argparse.Namespace,
) -> dict[str, Any]:
    return {
        "protocol": subject.name,
        "form": subject.form,
        "rules": list(subject.rules),
        "nodes": list(options.nodes),
        "samples": options.samples,
        "seed": options.seed,
        "confidence": CONFIDENCE,
        "cases": cases,
        "rows": [object_of(row) for row in rows],
        "differences": sum(row.equal is False for row in rows),
    }
