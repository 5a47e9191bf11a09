"""Rows as a table of text, one block for each case, and as plain data for JSON."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from electorate.costs.case import TIME, Case
from electorate.costs.measure import CONFIDENCE, CostRow, Figure

RUNS = "runs"


def lines_of_table(rows: Sequence[CostRow]) -> Iterator[str]:
    """Every case with its formulas, and a column for each size."""
    for _, group in groupby(rows, key=lambda row: row.case.name):
        yield from _block(list(group))
        yield ""
    if any(figure.margin for row in rows for figure in row.figures.values()):
        yield "A mean of drawn runs is followed by its interval (all of them together hold the true"
        yield f"means with {CONFIDENCE:.0%} confidence) and by the value of its formula."
    yield _summary(rows)


def object_of(row: CostRow) -> dict[str, Any]:
    """A row as JSON has it."""
    return {
        "case": row.case.name,
        "nodes": row.nodes,
        "measured": {name: _measured(figure) for name, figure in row.figures.items()},
        "formula": {
            name: _bounds(*figure.formula) if figure.formula else None
            for name, figure in row.figures.items()
        },
        "equal": row.equal,
        "runs": row.runs,
        "complete": row.complete,
        "problem": row.problem or None,
    }


def _block(rows: list[CostRow]) -> Iterator[str]:
    case = rows[0].case
    yield case.name
    yield f"  {_setup(case)}"
    if any(row.figures for row in rows):
        yield from _columns(_table(case, rows))
    for row in rows:
        if row.problem:
            yield f"  N={row.nodes}: {row.problem}"


def _table(case: Case, rows: list[CostRow]) -> list[list[str]]:
    measures = list(dict.fromkeys(name for row in rows for name in row.figures))
    table = [["", "formula", *(f"N={row.nodes}" for row in rows)]]
    for measure in measures:
        cells = (_cell(measure, row.figures.get(measure)) for row in rows)
        table.append([measure, case.formulas.get(measure, _unsaid(case, measure)), *cells])
    if any(row.runs > 1 for row in rows):
        table.append([RUNS, "", *(f"{'all ' if r.complete else ''}{r.runs}" for r in rows)])
    return table


def _setup(case: Case) -> str:
    """What happens, on one line, and with which rules."""
    commands = "; ".join(" ".join(line.split()) for line in case.script.split("\n"))
    commands = "; ".join(part.strip() for part in commands.split(";") if part.strip())
    return " · ".join([f"from {case.start}: {commands}", *case.rules])


def _unsaid(case: Case, measure: str) -> str:
    return "-" if case.expected(measure) is None else "0"


def _cell(measure: str, figure: Figure | None) -> str:
    if figure is None:
        return "-"
    unit = "T" if measure == TIME else ""
    text = _range(*figure.measured) if figure.mean is None else _decimal(figure.mean)
    formula = _range(*figure.formula) if figure.formula else ""
    if figure.margin:
        text += f"±{figure.margin:.2f}"
        formula = f"({formula})"
    if figure.equal is False:
        return f"{text}≠{formula}{unit}"
    return f"{text} {formula}{unit}" if figure.margin else text + unit


def _range(least: Fraction, most: Fraction) -> str:
    return _decimal(least) if least == most else f"{_decimal(least)}..{_decimal(most)}"


def _decimal(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):.2f}"


def _columns(table: list[list[str]]) -> Iterator[str]:
    """Names and formulas to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, formula, *cells in table:
        numbers = (f"{cell:>{width}}" for cell, width in zip(cells, widths[2:], strict=True))
        yield "  ".join(["", f"{name:<{widths[0]}}", f"{formula:<{widths[1]}}", *numbers]).rstrip()


def _summary(rows: Iterable[CostRow]) -> str:
    judged = [row for row in rows if row.equal is not None]
    differ = sum(not row.equal for row in judged)
    if not judged:
        return "Measured only: no formulas are declared."
    if differ:
        return f"{differ} of {len(judged)} rows differ from their formulas."
    return f"{len(judged)} rows, 0 differ from their formulas."


def _measured(figure: Figure) -> Any:
    if figure.mean is None:
        return _bounds(*figure.measured)
    mean, margin = float(figure.mean), figure.margin
    interval = [mean - margin, mean + margin] if margin else None
    return {"mean": _number(figure.mean), "interval": interval}


def _bounds(least: Fraction, most: Fraction) -> Any:
    return _number(least) if least == most else {"least": _number(least), "most": _number(most)}


def _number(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
