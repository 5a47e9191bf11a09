"""`electorate timeouts`: what longer timers buy and cost, under several laws of delays."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from electorate.cli.error import EXIT_DONE, EXIT_UNKNOWN, UsageError
from electorate.cli.picture import write
from electorate.cli.protocol import add_form_arguments, add_name_argument, find
from electorate.cli.retell import kind_and_form
from electorate.cli.supervisor import any_end_is_ctrl_c
from electorate.costs.timeout import (
    LAWS,
    LENGTHS,
    Interval,
    Point,
    Quantile,
    points,
    subjects,
    trials,
)
from electorate.costs.timeout_chart import timeout_chart
from electorate.simulate.named import UnknownClaim
from electorate.simulate.start import SimulationStartError
from electorate.simulate.swarm import Interrupted, Seeded, run_swarms
from electorate.trace.setting import NODES_MAX
from electorate.trace.word import counted

NAME = "timeouts"
SUMMARY = "Measure what longer timers buy (fewer double leaders) and cost (time without one)."
EXAMPLES = """examples:
  electorate timeouts bully
  electorate timeouts bully --lengths 1,2,4 --delay uniform:0..1T --delay lognormal:0.3T,0.8
  electorate timeouts bully-rpc --nodes 5 --seeds 1000 --svg timeouts.svg

A length of 2 means that the protocol takes T to be twice as long as it is: its timers are twice as
long, while messages, failure detectors and faults stay as they are. For each length and law of
delays two kinds of runs are simulated: nodes crash and come back, and the runs are counted in which
two nodes led at once (S2); the strongest crashes once, and the time is taken until all follow
another (A2). Intervals hold 95 %: of a share after Wilson, of a quantile by order statistics.

delays: constant:1T, uniform:0..1T, lognormal:MEDIAN,SIGMA, pareto:SCALE,ALPHA
exit code: 0 measured, 2 bad usage or input, 3 the runs were interrupted"""

SEEDS = 400
LENGTHS_MAX = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `timeouts`."""
    add_name_argument(parser)
    add_form_arguments(parser)
    lengths = ",".join(f"{length:g}" for length in LENGTHS)
    parser.add_argument("--nodes", type=_many, default=5, metavar="N", help="default 5")
    parser.add_argument(
        "--lengths", type=_lengths, default=LENGTHS, metavar="K,K", help=f"default {lengths}"
    )
    parser.add_argument(
        "--delay",
        action="append",
        metavar="MODEL",
        help=f"a law of delays; may be given again; default {' '.join(LAWS)}",
    )
    parser.add_argument(
        "--crashes", type=_many, default=4, metavar="K", help="in each run; all come back; 4"
    )
    parser.add_argument(
        "--seeds", type=_many, default=SEEDS, metavar="K", help=f"runs of each kind; {SEEDS}"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the first; default 0")
    parser.add_argument("--workers", type=_many, metavar="W", help="default: one per processor")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw both into this file")


def _many(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return int(text)


def _lengths(text: str) -> tuple[float, ...]:
    try:
        found = sorted({float(each) for each in text.split(",")})
    except ValueError:
        found = []
    if not found or not 0.01 <= found[0] <= found[-1] <= LENGTHS_MAX:
        problem = f"must be numbers from 0.01 to {LENGTHS_MAX} like 0.5,1,2, not {text}"
        raise argparse.ArgumentTypeError(problem)
    return tuple(found)


def run(options: argparse.Namespace) -> int:
    """Measure every length under every law, and show it."""
    protocol = find(options.protocol, options.form)
    protocol.rules(options.rule)
    if protocol.kind.begins_by:
        raise UsageError(f"{protocol.spelled()} elects nobody by itself; name an election")
    if not 2 <= options.nodes <= NODES_MAX:
        raise UsageError(f"--nodes must be from 2 to {NODES_MAX}")
    laws = tuple(dict.fromkeys(options.delay or LAWS))
    seeds = range(options.seed, options.seed + options.seeds)
    begun, interrupted = time.monotonic(), False
    try:
        tried = trials(
            protocol.spelled(),
            protocol.kind,
            options.nodes,
            laws,
            options.lengths,
            rules=tuple(options.rule),
            crashes=options.crashes,
        )
        asked = subjects(tried)
        with any_end_is_ctrl_c(), _bar(len(asked) * len(seeds)) as report:
            swarms = run_swarms(
                asked, kind_and_form, seeds, progress=report, workers=options.workers
            )
    except Interrupted as error:
        swarms, interrupted = list(error.swarms), True
        print(f"electorate: {error}", file=sys.stderr)
    except UnknownClaim as error:
        raise UsageError(f"{protocol.spelled()}: {error}") from None
    except (SimulationStartError, ValueError) as error:
        raise UsageError(str(error)) from None
    found = points(tried, swarms)
    title = (
        f"{protocol.spelled()}, {counted(options.nodes, 'nodes')}: what longer timers buy and cost"
    )
    about = _about(options, interrupted)
    if options.svg:
        write(options.svg, timeout_chart(title, about, found))
    if options.json:
        told: dict[str, Any] = {
            "protocol": protocol.spelled(),
            "rules": list(options.rule),
            "nodes": options.nodes,
            "crashes": options.crashes,
            "seeds": [seeds.start, seeds.stop - 1],
            "seconds": round(time.monotonic() - begun, 3),
            "interrupted": interrupted,
            "points": [_object(point) for point in found],
        }
        print(msgspec.json.encode(told).decode())
    else:
        print(f"{title}\n{about}\n")
        print("\n".join(_table(found)))
    return EXIT_UNKNOWN if interrupted else EXIT_DONE


def _about(options: argparse.Namespace, interrupted: bool) -> str:
    first, last = options.seed, options.seed + options.seeds - 1
    rules = f"{' '.join(options.rule)} · " if options.rule else ""
    end = ", interrupted" if interrupted else ""
    storm = f"{counted(options.crashes, 'crashes')} and as many recoveries"
    return (
        f"{rules}two leaders: {storm} · time: the leader crashes once · seeds {first}..{last}{end}"
    )


class _bar:
    """A bar on the terminal while seeds are run; nothing where there is no terminal."""

    def __init__(self, runs: int) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        console = Console(stderr=True)
        self._shown = Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._shown.add_task("runs", total=runs)

    def __enter__(self) -> "_bar":
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.stop()

    def __call__(self, chunk: Sequence[Seeded]) -> None:
        self._shown.update(self._task, advance=len(chunk))


HEADS = ("delays", "> T", "timers", "two leaders", "95 %", "median", "95 %", "p95", "95 %")


def _table(found: Sequence[Point]) -> list[str]:
    rows = [HEADS, *map(_cells, found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADS))]
    lines = []
    for number, row in enumerate(rows):
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join((row[0].ljust(len(first)), *others)))
        after = found[number - 1].delay if number else ""
        if 0 < number < len(found) and found[number].delay != after:
            lines.append("")
    lacking = sum(point.elections - len(point.times) for point in found)
    notes = ["", "Times are in T, from the crash of the leader until all follow another."]
    if lacking:
        notes.append(
            f"In {lacking:,} runs they never came to that, and these are not among the times."
        )
    return [*lines, *notes]


def _cells(point: Point) -> tuple[str, ...]:
    low, high = point.share_ends
    share = "" if low is None or high is None else f"{100 * low:.1f}..{100 * high:.1f} %"
    times = [cell for at in (0.5, 0.95) for cell in _time(point.quantile(at))]
    beyond = f"{100 * point.beyond:.1f} %"
    two = f"{point.two} of {point.runs}"
    return point.delay, beyond, f"x{point.length:g}", two, share, *times


def _time(quantile: Quantile | None) -> tuple[str, str]:
    if quantile is None:
        return "-", ""
    return f"{quantile.time:.1f}", f"{_end(quantile.ends[0])}..{_end(quantile.ends[1])}"


def _end(end: float | None) -> str:
    return "?" if end is None else f"{end:.1f}"


def _object(point: Point) -> dict[str, Any]:
    def told(quantile: Quantile | None) -> dict[str, float | Interval | None] | None:
        return quantile and {"T": quantile.time, "interval": quantile.ends}

    return {
        "delay": point.delay,
        "beyond_T": point.beyond,
        "length": point.length,
        "runs": point.runs,
        "two_leaders": point.two,
        "first_seed": point.first,
        "share": point.share,
        "share_interval": point.share_ends,
        "elections": point.elections,
        "elected": len(point.times),
        "median": told(point.quantile(0.5)),
        "p95": told(point.quantile(0.95)),
    }
