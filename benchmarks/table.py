"""What was measured, for people and for programs: medians, rates and ratios."""

import datetime
import os
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.case import Case
from benchmarks.engine import Engine, Figures

Measured = dict[Case, dict[str, list[Figures]]]

BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
YARDSTICK = "numba, 1 core"
HEADS = (
    "engine",
    "search s",
    "min–max",
    "CPU s",
    "before s",
    "states/s",
    "transitions/s",
    "bytes/state",
    "peak MB",
    "hits",
    "time ×",
    "CPU ×",
)


class Place(NamedTuple):
    """When and where it was measured, and with what."""

    date: str
    machine: str
    load: float
    versions: tuple[str, ...]
    left_out: tuple[str, ...]

    @classmethod
    def here(cls, engines: list[Engine], left_out: list[str]) -> "Place":
        """This machine, now."""
        cores = os.cpu_count()
        return cls(
            datetime.date.today().isoformat(),
            f"{processor()}, {cores} cores, {platform.system()} {platform.machine()}",
            os.getloadavg()[0],
            tuple(dict.fromkeys(part for each in engines for part in each.versions())),
            tuple(left_out),
        )

    def texts(self) -> list[str]:
        """One sentence each."""
        return [
            f"{self.date}; {self.machine}; load {self.load:.1f} at the beginning.",
            f"{', '.join(self.versions)}.",
            *(f"Left out: {advice}." for advice in self.left_out),
        ]


class Row(NamedTuple):
    """One engine on one model: medians over its repeats."""

    engine: str
    runs: int
    states: int
    transitions: int
    seconds: float
    seconds_min: float
    seconds_max: float
    cpu_seconds: float
    compile_seconds: float
    states_per_second: float
    transitions_per_second: float
    bytes_per_state: float | None
    peak_mb: float
    hit_rate: float | None
    time_ratio: float | None
    """Its time over that of our table engine on one core."""
    cpu_ratio: float | None


def rows(measured: dict[str, list[Figures]]) -> list[Row]:
    """The medians, in the order of measuring."""
    ours = measured.get(YARDSTICK, [])
    return [_row(name, figures, ours) for name, figures in measured.items()]


def _row(name: str, figures: list[Figures], ours: list[Figures]) -> Row:
    seconds, cpu = _median(figures, _seconds), _median(figures, _cpu_seconds)
    first = figures[0]
    return Row(
        name,
        len(figures),
        first.states,
        first.transitions,
        seconds,
        min(map(_seconds, figures)),
        max(map(_seconds, figures)),
        cpu,
        median(each.compile_seconds for each in figures),
        first.states / seconds,
        first.transitions / seconds,
        first.bytes_per_state,
        median(each.peak_mb for each in figures),
        first.hit_rate,
        seconds / _median(ours, _seconds) if ours else None,
        cpu / _median(ours, _cpu_seconds) if ours else None,
    )


def _seconds(figures: Figures) -> float:
    return max(figures.seconds, 1e-3)  # A difference of two runs may come out below nothing.


def _cpu_seconds(figures: Figures) -> float:
    return max(figures.cpu_seconds, 1e-3)


def _median(figures: list[Figures], of: Callable[[Figures], float]) -> float:
    return median(map(of, figures))


def as_object(place: Place, measured: Measured) -> dict[str, Any]:
    """Everything, as plain data, with each single run."""
    return {
        **place._asdict(),
        "cases": [
            {
                "case": case.word,
                "rows": [row._asdict() for row in rows(found)],
                "runs": {name: [f._asdict() for f in runs] for name, runs in found.items()},
            }
            for case, found in measured.items()
        ],
    }


def as_text(place: Place, measured: Measured) -> str:
    """Tables of even columns."""
    lines = place.texts()
    for case, found in measured.items():
        table = rows(found)
        cells = [HEADS, *map(_cells, table)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines += ["", f"{case.title}: {_counts(table)}"]
        for cell in cells:
            first, *rest = (text.rjust(width) for text, width in zip(cell, widths, strict=True))
            lines.append("  " + "  ".join([cell[0].ljust(len(first)), *rest]))
    return "\n".join(lines)


def as_markdown(place: Place, measured: Measured) -> str:
    """The same for a page."""
    lines = [*place.texts()]
    for case, found in measured.items():
        table = rows(found)
        lines += ["", f"**{case.title}**: {_counts(table)}", ""]
        lines += [_line(HEADS), _line(["---", *["---:"] * (len(HEADS) - 1)])]
        lines += [_line(_cells(row)) for row in table]
    return "\n".join(lines)


def rewritten(page: str, tables: str, begin: str = BEGIN, end: str = END) -> str:
    """A page with these tables between its two marks."""
    before, begun, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not (begun and ended):
        raise SystemExit(f"the page has no {begin} … {end}")
    return f"{before}{begin}\n\n{tables}\n\n{end}{after}"


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _counts(table: list[Row]) -> str:
    counts = sorted({row.states for row in table})
    states = " or ".join(f"{count:,}" for count in counts)
    same = "the same in every engine" if len(counts) == 1 else "which must not be"
    runs = "one run" if table[0].runs == 1 else f"medians of {table[0].runs} runs"
    return f"{states} states, {table[0].transitions:,} transitions, {same}; {runs}"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.engine,
        f"{row.seconds:.2f}",
        f"{row.seconds_min:.2f}–{row.seconds_max:.2f}",
        f"{row.cpu_seconds:.2f}",
        f"{row.compile_seconds:.1f}",
        f"{row.states_per_second:,.0f}",
        f"{row.transitions_per_second:,.0f}",
        "-" if row.bytes_per_state is None else f"{row.bytes_per_state:.0f}",
        f"{row.peak_mb:,.0f}",
        "-" if row.hit_rate is None else f"{100 * row.hit_rate:.4f} %",
        "-" if row.time_ratio is None else f"{row.time_ratio:.2f}",
        "-" if row.cpu_ratio is None else f"{row.cpu_ratio:.2f}",
    )


def processor() -> str:
    """The kind of processor, where the system says it."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
