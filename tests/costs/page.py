"""The cost table of a protocol's page, written from the cases."""

import re
from collections.abc import Container, Sequence
from pathlib import Path

from electorate.costs import Case, cases_of
from electorate.costs.case import MESSAGES, TIME
from electorate.protocols.registry import REGISTRY

HEAD = ["| what happens | by kind | messages | last delivery |", "|---|---|---|---|"]
PAGES = Path(__file__).parents[2] / "docs" / "protocols"
TABLE = re.compile(r"(## Costs\n(?:(?!## |\|).*\n)*)((?:\|.*\n)+)")
"""The first table of the section on costs, and all that comes before it there."""


def pages() -> dict[Path, str]:
    """Every page that has such a table, and what the table should be."""
    tables: dict[Path, list[Case]] = {}
    for kind in dict.fromkeys(entry.machine for entry in REGISTRY.values()):
        protocol = kind.__module__.removesuffix(".machine").rpartition(".")[2]
        tables.setdefault(PAGES / f"{protocol}.md", []).extend(cases_of(kind))
    return {
        page: "".join(f"{line}\n" for line in table_of(cases)) for page, cases in tables.items()
    }


def table_of(cases: Sequence[Case]) -> list[str]:
    """A line for each case; rules that all of them have are left to the page's text."""
    common = set.intersection(*(set(case.rules) for case in cases))
    return [*HEAD, *(line_of(case, common) for case in cases)]


def line_of(case: Case, common: Container[str]) -> str:
    about = [*case.forms, *(f"`{rule}`" for rule in case.rules if rule not in common)]
    name = case.name + (f" ({', '.join(about)})" if about else "")
    ends = (MESSAGES, TIME)
    kinds = ", ".join(
        f"`{kind}` {said(text)}" if kind[0].isupper() else f"{kind} {said(text)}"
        for kind, text in case.formulas.items()
        if kind not in ends and text != "0"
    )
    cells = (name, kinds, *(said(case.formulas.get(each, "")) for each in ends))
    return f"| {' | '.join(cells)} |"


def said(formula: str) -> str:
    """A formula as a page has it."""
    if formula.startswith("mean "):
        return f"{formula.removeprefix('mean ')} on average"
    return formula.replace("..", " to ")
