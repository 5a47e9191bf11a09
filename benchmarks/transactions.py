"""How many transactions two databases do in a second, beside what they do without us."""

import argparse
import asyncio
import json
import math
import sqlite3
import sys
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, get_args

from benchmarks.table import Place, rewritten
from benchmarks.transfer import CLIENTS_MAX, Kind, Run, Site, Wrong, site
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, EXIT_USAGE
from electorate.cli.supervisor import any_end_is_ctrl_c
from electorate.errors import Refused
from examples.bank.server import NoServer

EXAMPLES = """examples:
  python -m benchmarks.transactions                          both kinds, 1 to 32 clients: minutes
  python -m benchmarks.transactions --kind sqlite --clients 1,8 --seconds 1 --repeats 1
  python -m benchmarks.transactions --json                   every single run
  python -m benchmarks.transactions --write benchmarks/README.md      renews the tables there

exit code: 0 done, 1 money was lost or made, 2 bad usage, 3 interrupted"""

CLIENTS = (1, 2, 4, 8, 16, 32)
TITLES = {"postgres": "PostgreSQL", "sqlite": "SQLite"}
BEGIN, END = "<!-- measured transactions -->", "<!-- end of measured transactions -->"
HEADS = ("clients", "tx/s", "min–max", "p50 ms", "p99 ms", "aborted", "floor tx/s", "of the floor")


class Pair(NamedTuple):
    """A run of the floor, and one of clients right after it."""

    floor: Run
    run: Run


class Row(NamedTuple):
    """So many clients: medians over the repeats."""

    clients: int
    repeats: int
    rate: float
    rate_min: float
    rate_max: float
    p50_ms: float
    p99_ms: float
    aborted: float
    """The share of all that were tried."""
    floor_rate: float
    floor_p50_ms: float
    ratio: float
    """Of each rate to that of the floor just before it."""


Measured = dict[Kind, dict[int, list[Pair]]]


def main() -> int:
    """Measure and print."""
    options = _options()
    kinds: list[Kind] = [options.kind] if options.kind else [*get_args(Kind)]
    measured: Measured = {}
    missing: list[str] = []
    code = EXIT_DONE
    try:
        with any_end_is_ctrl_c():
            for kind in kinds:
                try:
                    _measure(kind, options, measured)
                except (NoServer, Refused) as error:
                    missing.append(f"{TITLES[kind]}: {error}")
    except KeyboardInterrupt:
        print("\ntransactions: interrupted", file=sys.stderr)
        code = EXIT_UNKNOWN
    except Wrong as error:
        print(f"\ntransactions: {error}", file=sys.stderr)
        return EXIT_BROKEN
    for advice in missing:
        print(f"transactions: left out: {advice}", file=sys.stderr)
    if missing and not measured:
        return EXIT_USAGE
    _tell(options, measured, missing)
    return code


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.transactions",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kind", choices=get_args(Kind), help="default: both")
    parser.add_argument(
        "--clients",
        type=_counts,
        default=CLIENTS,
        metavar="K,K",
        help=f"at the same time; default {','.join(map(str, CLIENTS))}",
    )
    parser.add_argument("--seconds", type=_positive, default=3.0, metavar="S", help="per run; 3")
    parser.add_argument("--repeats", type=int, default=3, metavar="R", help="default 3")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print one JSON object")
    output.add_argument("--write", type=Path, metavar="PAGE", help="renew the tables in a page")
    return parser.parse_args()


def _counts(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.isdecimal() and 1 <= int(word) <= CLIENTS_MAX for word in words):
        raise argparse.ArgumentTypeError(f"must be numbers from 1 to {CLIENTS_MAX}, not {text}")
    return tuple(sorted({int(word) for word in words}))


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 3600:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, not {text}")
    return number


def _measure(kind: Kind, options: argparse.Namespace, measured: Measured) -> None:
    with site(kind) as place:
        measured[kind] = {count: [] for count in options.clients}
        asyncio.run(_pairs(place, kind, options, measured[kind]))


async def _pairs(
    place: Site, kind: Kind, options: argparse.Namespace, found: dict[int, list[Pair]]
) -> None:
    """Everything in turn, again and again, so that a noisy moment hits all alike."""
    await place.ready()
    for repeat in range(1, options.repeats + 1):
        for count, pairs in found.items():
            # Nothing else is to go on meanwhile, so this may hold up the loop.
            floor = place.floor(options.seconds)
            pairs.append(Pair(floor, await place.clients(count, options.seconds)))
            _progress(kind, count, repeat, options.repeats, pairs[-1])
    await place.audit()


def _progress(kind: Kind, count: int, repeat: int, repeats: int, pair: Pair) -> None:
    is_watched = sys.stderr.isatty()
    line = f"{TITLES[kind]}, {count} clients, {repeat} of {repeats}: {pair.run.rate:.0f} tx/s, "
    line += f"floor {pair.floor.rate:.0f} tx/s"
    line += f", {pair.run.aborted} aborted: {pair.run.why}" if pair.run.aborted else ""
    print(
        f"\r\033[K{line}" if is_watched else line, end="" if is_watched else "\n", file=sys.stderr
    )
    sys.stderr.flush()


def quantile_ms(run: Run, share: float) -> float:
    """What this share of the transactions does not take longer than."""
    found = sorted(run.latencies_s) or [math.nan]
    return 1000 * found[max(0, math.ceil(share * len(found)) - 1)]


def rows(found: dict[int, list[Pair]]) -> list[Row]:
    """The medians, for each number of clients that was measured."""
    return [_row(count, pairs) for count, pairs in found.items() if pairs]


def _row(count: int, pairs: list[Pair]) -> Row:
    rates = [pair.run.rate for pair in pairs]
    return Row(
        count,
        len(pairs),
        median(rates),
        min(rates),
        max(rates),
        median(quantile_ms(pair.run, 0.5) for pair in pairs),
        median(quantile_ms(pair.run, 0.99) for pair in pairs),
        median(_aborted(pair.run) for pair in pairs),
        median(pair.floor.rate for pair in pairs),
        median(quantile_ms(pair.floor, 0.5) for pair in pairs),
        median(pair.run.rate / pair.floor.rate for pair in pairs),
    )


def _aborted(run: Run) -> float:
    tried = len(run.latencies_s) + run.aborted
    return run.aborted / tried if tried else 0.0


def _tell(options: argparse.Namespace, measured: Measured, missing: list[str]) -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)
    versions = [f"Python {sys.version.split()[0]}", f"SQLite {sqlite3.sqlite_version}"]
    versions += [f"psycopg {version('psycopg')}"] if "postgres" in measured else []
    place = Place.here([], missing)._replace(versions=tuple(versions))
    if options.json:
        print(json.dumps(_object(options, place, measured)))
        return
    tables = as_markdown(place, measured, options.seconds)
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        options.write.write_text(rewritten(page, tables, BEGIN, END), encoding="utf-8")
    else:
        print(tables)


def _object(options: argparse.Namespace, place: Place, measured: Measured) -> dict[str, Any]:
    return {
        **place._asdict(),
        "seconds": options.seconds,
        "kinds": {
            kind: {
                "rows": [row._asdict() for row in rows(found)],
                "runs": {
                    count: [[pair.floor.rate, pair.run.rate] for pair in pairs]
                    for count, pairs in found.items()
                },
            }
            for kind, found in measured.items()
        },
    }


def as_markdown(place: Place, measured: Measured, seconds: float) -> str:
    """Tables that are fit for a page and for a terminal."""
    lines = place.texts()
    for kind, found in measured.items():
        table = rows(found)
        if table:
            runs = "one run" if table[0].repeats == 1 else f"medians of {table[0].repeats} runs"
            lines += ["", f"**{TITLES[kind]}**: {runs} of {seconds:g} s", ""]
            lines += _lines([HEADS, *map(_cells, table)])
    return "\n".join(lines)


def _lines(cells: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = tuple("-" * (width - 1) + ":" for width in widths)
    return [
        f"| {' | '.join(text.rjust(width) for text, width in zip(line, widths, strict=True))} |"
        for line in (cells[0], rule, *cells[1:])
    ]


def _cells(row: Row) -> tuple[str, ...]:
    return (
        str(row.clients),
        f"{row.rate:,.0f}",
        f"{row.rate_min:,.0f}–{row.rate_max:,.0f}",
        f"{row.p50_ms:.1f}",
        f"{row.p99_ms:.1f}",
        f"{100 * row.aborted:.1f} %",
        f"{row.floor_rate:,.0f}",
        f"{row.ratio:.2f}",
    )


if __name__ == "__main__":
    raise SystemExit(main())
