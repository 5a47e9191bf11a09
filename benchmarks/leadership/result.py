"""What was measured, for people and for programs."""

import datetime
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.failover import spread
from benchmarks.leadership.calm import Calm
from benchmarks.leadership.contender import FAULTS, Contender
from benchmarks.leadership.cost import Cost
from benchmarks.leadership.fault import Trial
from benchmarks.table import processor
from electorate.cli.error import UsageError

BEGIN, END = "<!-- leadership -->", "<!-- end of leadership -->"
FAULT_HEADS = {
    "kill": "SIGKILL",
    "stop": "SIGSTOP",
    "partition": "cut off",
    "hand-over": "hand-over",
    "cold": "cold start",
}
COST_HEADS = (
    *("pace", "nodes", "elections", "led after s", "CPU % per node", "busiest node"),
    *("resident MB per node", "bytes/s sent per node", "leader changes", "remark"),
)


class Result(NamedTuple):
    """Everything, by the title of each contender."""

    nodes: int
    load: float
    """At the beginning."""
    versions: list[str]
    left_out: list[str]
    failover: dict[str, dict[str, list[Trial]]]
    calm: dict[str, Calm]
    costs: list[tuple[str, Cost]]

    @classmethod
    def begun(
        cls, nodes: int, contenders: Sequence[Contender], left_out: list[str], page: Path | None
    ) -> "Result":
        """Nothing yet, or what an earlier run wrote down before it was stopped."""
        versions = list(dict.fromkeys(each.version() for each in contenders))
        if page is None or not page.exists():
            return cls(nodes, os.getloadavg()[0], versions, left_out, {}, {}, [])
        try:
            kept = msgspec.json.decode(page.read_bytes(), type=cls)
        except msgspec.DecodeError as error:
            raise UsageError(f"{page} was not written by --keep: {error}") from None
        if (kept.nodes, kept.versions) != (nodes, versions):
            raise UsageError(f"{page} is of {kept.nodes} nodes of {', '.join(kept.versions)}")
        return kept

    def keep(self, page: Path) -> None:
        """Write it down, so that another run can go on from here."""
        page.write_bytes(msgspec.json.encode(self))

    @property
    def troubles(self) -> list[str]:
        """Each thing that did not go as it should, once."""
        found = [
            f"{title}, {FAULT_HEADS[fault]}: {trial.trouble}"
            for title, faults in self.failover.items()
            for fault, trials in faults.items()
            for trial in trials
            if trial.ms is None
        ]
        return list(dict.fromkeys(found))


def as_object(result: Result) -> dict[str, Any]:
    """Everything as plain data, with each single trial."""
    return {
        "date": datetime.date.today().isoformat(),
        "machine": _machine(),
        "nodes": result.nodes,
        "load": result.load,
        "versions": result.versions,
        "left_out": result.left_out,
        "failover": [
            {
                "contender": title,
                "fault": fault,
                **spread([trial.ms for trial in trials]),
                "ms": [trial.ms for trial in trials if trial.ms is not None],
                "troubles": [trial.trouble for trial in trials if trial.ms is None],
            }
            for title, faults in result.failover.items()
            for fault, trials in faults.items()
        ],
        "calm": [{"contender": name, **calm._asdict()} for name, calm in result.calm.items()],
        "costs": [{"contender": name, **cost._asdict()} for name, cost in result.costs],
    }


def as_markdown(result: Result) -> str:
    """Tables that are fit for a page and for a terminal."""
    lines = [
        f"{datetime.date.today()}; {_machine()}; load {result.load:.1f} at the beginning.",
        f"Python {platform.python_version()}, {', '.join(result.versions)}.",
    ]
    for part in (_failover(result), _calm(result), _costs(result)):
        lines += ["", *part] if part else []
    notes = [*(f"Left out: {each}" for each in result.left_out), *result.troubles]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)] if notes else lines)


def _failover(result: Result) -> list[str]:
    if not result.failover:
        return []
    shown = [fault for fault in FAULTS if any(fault in each for each in result.failover.values())]
    head = f"**Without a leader**: milliseconds, median / p95 / max; {result.nodes} nodes"
    table = [["", *(FAULT_HEADS[fault] for fault in shown), "trials"]]
    for title, faults in result.failover.items():
        counts = sorted({len(trials) for trials in faults.values()})
        cells = [_cell(faults.get(fault, [])) for fault in shown]
        table.append([title, *cells, " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]])))])
    return [head, "", *_lines(table)]


def _cell(trials: list[Trial]) -> str:
    found = spread([trial.ms for trial in trials])
    failed = sum(trial.ms is None for trial in trials)
    text = " / ".join(f"{number:,}" for number in found.values()) or "-"
    return f"{text}; {failed} failed" if failed else text


def _calm(result: Result) -> list[str]:
    if not result.calm:
        return []
    one = next(iter(result.calm.values()))
    head = f"**Calm**: {result.nodes} nodes and {one.busy} processes that never rest, no fault"
    table = [["", "seconds", "leader changes"]]
    for title, found in result.calm.items():
        table.append([title, f"{found.seconds:g}", str(found.changes)])
    return [head, "", *_lines(table)]


def _costs(result: Result) -> list[str]:
    if not result.costs:
        return []
    table = [list(COST_HEADS)]
    for title, cost in result.costs:
        sent = "-" if cost.sent_bytes_per_s is None else f"{cost.sent_bytes_per_s:,.0f}"
        cpu = (f"{cost.cpu_percent:.1f}", f"{cost.busiest_cpu_percent:.1f}")
        memory = f"{cost.resident_mb:.0f}"
        counts = (str(cost.nodes), f"{cost.elections:,}", f"{cost.led_after_s:.1f}")
        table.append([title, *counts, *cpu, memory, sent, str(cost.changes), cost.trouble])
    seconds = round(result.costs[0][1].seconds)
    return [f"**Idle**: what a node costs, over {seconds} s", "", *_lines(table)]


def _lines(table: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rule = ["-" * max(3, widths[0]), *("-" * max(2, width - 1) + ":" for width in widths[1:])]
    rows = [table[0], rule, *table[1:]]
    return [
        "| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |"
        for row in rows
    ]


def _machine() -> str:
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
