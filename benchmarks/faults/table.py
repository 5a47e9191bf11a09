"""What was found, as two tables: in text, or in Markdown."""

from collections.abc import Sequence
from typing import Any

INSIDE_HEAD = (
    "fault",
    "times",
    "terms",
    "overlaps",
    "tokens reused or back",
    "old-token writes",
    "leader without majority",
    "longest without a leader, ms",
)
OUTSIDE_HEAD = ("fault", "s or ×", "what happened", "who noticed, and how")
SHOWN_MAX = 5
NOTICED_MAX = 4
LINE_MAX = 120


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, is_markdown: bool) -> list[str]:
    """A table; the first column is of words, and so is the last if it does not begin a number."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    numeric = [all(row[at][:1].isdigit() for row in rows) for at in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numeric, strict=True)
        ]
        return f"| {' | '.join(cells)} |" if is_markdown else "  ".join(cells).rstrip()

    marks = [
        "-" * (width - 1) + ":" if n else "-" * width
        for width, n in zip(widths, numeric, strict=True)
    ]
    rule = f"| {' | '.join(marks)} |" if is_markdown else "  ".join("-" * w for w in widths)
    return [line(head), rule, *map(line, rows)]


def inside(result: dict[str, Any], *, is_markdown: bool) -> list[str]:
    """What came of faults that the promises allow for."""
    rows = [
        (
            name,
            str(row["faults"]),
            str(row["terms"]),
            *(str(sum(row["wrong"].get(kind, 0) for kind in kinds)) for kinds in COLUMNS),
            f"{row['vacant_ms']:.0f}",
        )
        for name, row in result["rows"].items()
    ]
    return table(INSIDE_HEAD, rows, is_markdown=is_markdown)


COLUMNS = (
    ("overlap",),
    ("token reused", "token going back"),
    ("old token written",),
    ("leader without majority",),
)


def outside(result: dict[str, Any], *, is_markdown: bool) -> list[str]:
    """What came of faults that no promise allows for."""
    rows = []
    for row in result["outside"]:
        noticed = row["noticed"] or ["nobody"]
        shown = [cut(each) for each in noticed[:NOTICED_MAX]]
        shown += [f"… and {len(noticed) - NOTICED_MAX} more"] if len(noticed) > NOTICED_MAX else []
        amount = f"{row['amount']:g}" if row["amount"] else ""
        first, *rest = shown
        if is_markdown:
            rows.append((row["called"], amount, row["happened"], "<br>".join(shown)))
        else:
            rows.append((row["called"], amount, row["happened"], first))
            rows += [("", "", "", each) for each in rest]
    return table(OUTSIDE_HEAD, rows, is_markdown=is_markdown)


def cut(text: str) -> str:
    """A line that is not too long."""
    return text if len(text) <= LINE_MAX else f"{text[: LINE_MAX - 1]}…"


def text_of(result: dict[str, Any], *, is_markdown: bool = False) -> str:
    """All that was found, for people."""
    lines = _summary(result) if result["faults"] else []
    wrong = result["violations"]
    lines += [f"VIOLATED: {each}" for each in wrong[:SHOWN_MAX]]
    lines += [f"… and {len(wrong) - SHOWN_MAX} more"] if len(wrong) > SHOWN_MAX else []
    lines += [f"in doubt: {each}" for each in result["doubts"]]
    lines += [_replayed(each) for each in result["replayed"]]
    if result["faults"]:
        lines += ["", "Inside the assumptions:", "", *inside(result, is_markdown=is_markdown), ""]
    if result["outside"]:
        lines += [
            *([] if result["faults"] else [""]),
            "Outside the assumptions:",
            "",
            *outside(result, is_markdown=is_markdown),
            "",
        ]
    if not wrong and result["faults"]:
        lines.append("no two terms overlap, and the fence let nothing stale through")
    if result["outside"]:
        stale = sum(row["stale_taken"] for row in result["outside"])
        lines.append(f"outside the assumptions the fence took {stale} old tokens")
    return "\n".join(lines)


def _summary(result: dict[str, Any]) -> list[str]:
    inflicted = ", ".join(f"{number} × {kind}" for kind, number in result["inflicted"].items())
    lines = [
        f"{result['faults']} faults to {result['nodes']} nodes in {result['seconds']} s (seed "
        f"{result['seed']}, load {result['load']}): {inflicted}",
        f"{result['terms']} terms of {result['elections']} elections, seen in office at "
        f"{result['points']:,} points",
        f"the fence took {result['fence_took']:,} writes and refused {result['fence_refused']} "
        f"stale ones; without a fence {result['stale_without_fence']} stale ones were taken",
    ]
    told = "median {median} ms, p95 {p95} ms, max {max} ms"
    for kind, times in result["next_leader_ms"].items():
        lines.append(f"from {kind} to the first work of the next leader: {told.format(**times)}")
    if result["change_ms"]:
        lines.append(f"a change of the members: {told.format(**result['change_ms'])}")
    if result["busy_s"]:
        lines.append(
            f"for {result['busy_s']} s the machine was busy with other things; what was late "
            "then is not judged"
        )
    if result["transfers"]:
        became = ", ".join(f"{number:,} {what}" for what, number in result["transfers"].items())
        lines.append(f"transfers between accounts: {became}")
    return lines


def _replayed(replayed: dict[str, Any]) -> str:
    instances = replayed["instances"]
    shown = ", ".join(f"{name} {n:,}" for name, n in list(instances.items())[:SHOWN_MAX])
    more = len(instances) - SHOWN_MAX
    return (
        f"replayed: {replayed['nodes']} nodes, {len(instances)} instances, "
        f"{replayed['events']:,} events in {replayed['lives']} lives ({shown}"
        f"{f' and {more} more' if more > 0 else ''}; "
        f"{replayed['bytes'] / 1e6:.1f} MB), "
        f"{len(replayed['differences'])} came out differently"
    )
