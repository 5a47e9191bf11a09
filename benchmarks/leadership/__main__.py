"""How long applications are without a leader, how calm it is, and what it costs.

Clusters of real processes on this machine, beside other systems where they are installed:

    python -m benchmarks.leadership --trials 10 --only kill --only stop
    python -m benchmarks.leadership --system electorate --only calm --seconds 300
    python -m benchmarks.leadership --system electorate --only idle --json
    python -m benchmarks.leadership --write benchmarks/README.md --keep measured.json
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.leadership.calm import calm
from benchmarks.leadership.contender import (
    DEFAULTS,
    FAST,
    FAULTS,
    SLOW,
    TRUSTING,
    Contender,
    Electorate,
)
from benchmarks.leadership.cost import cost
from benchmarks.leadership.fault import impossible, trials
from benchmarks.leadership.result import BEGIN, END, Result, as_markdown, as_object
from benchmarks.leadership.rival import RIVALS
from benchmarks.table import rewritten
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, EXIT_USAGE, UsageError
from electorate.cli.supervisor import any_end_is_ctrl_c

PARTS = (*FAULTS, "calm", "idle", "many")
CONTENDERS: tuple[Contender, ...] = (DEFAULTS, FAST, TRUSTING, *RIVALS)
IDLE: tuple[tuple[Electorate, int], ...] = (
    *((DEFAULTS, nodes) for nodes in (3, 5, 25, 100)),
    (SLOW, 100),
)
MANY: tuple[Electorate, ...] = (DEFAULTS, SLOW)
MANY_ELECTIONS = 1_000


def main() -> int:
    """Measure, print, and say with the exit code whether every trial found a leader."""
    options = _options()
    parts = [part for part in PARTS if not options.only or part in options.only]
    contenders, left_out = _contenders(options.system)
    try:
        result = Result.begun(options.nodes, contenders, left_out, options.keep)
    except UsageError as error:
        print(f"leadership: {error}", file=sys.stderr)
        return EXIT_USAGE
    whole = True
    try:
        with any_end_is_ctrl_c():
            _measure(options, parts, contenders, result)
    except KeyboardInterrupt:
        print("leadership: interrupted", file=sys.stderr)
        whole = False
    _tell(options, result, whole)
    if result.troubles:
        return EXIT_BROKEN
    return EXIT_DONE if whole else EXIT_UNKNOWN


def _options() -> argparse.Namespace:
    head, _, examples = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.leadership",
        description=head,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", action="append", default=[], choices=PARTS, help="default all; may be repeated"
    )
    parser.add_argument(
        "--system",
        action="append",
        default=[],
        choices=list(dict.fromkeys(each.system for each in CONTENDERS)),
        help="default all that are installed; may be repeated",
    )
    parser.add_argument("--nodes", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument("--trials", type=int, default=50, metavar="N", help="default 50")
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="of calm, and of idling; 60"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write down every row; go on after those in it"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="every single trial")
    output.add_argument("--write", type=Path, metavar="PAGE", help="renew the tables in a page")
    return parser.parse_args()


def _contenders(systems: list[str]) -> tuple[list[Contender], list[str]]:
    """Those that are there, and how to get the others."""
    chosen = [each for each in CONTENDERS if not systems or each.system in systems]
    missing = dict.fromkeys(filter(None, (each.missing() for each in chosen)))
    return [each for each in chosen if each.missing() is None], list(missing)


def _measure(
    options: argparse.Namespace, parts: list[str], contenders: list[Contender], result: Result
) -> None:
    for fault in [part for part in parts if part in FAULTS]:
        reason = impossible(fault)
        if reason is None:
            for contender in contenders:
                if fault in contender.faults:
                    _strike(options, contender, fault, result)
        elif (why := f"{fault}: {reason}") not in result.left_out:
            result.left_out.append(why)
    if "calm" in parts:
        for contender in [each for each in contenders if each.title not in result.calm]:
            _progress(f"calm, {contender.title}")
            result.calm[contender.title] = calm(contender, options.nodes, options.seconds)
            _keep(options, result)
    if any(contender.system == "electorate" for contender in contenders):
        _idle(options, parts, result)


def _strike(options: argparse.Namespace, contender: Contender, fault: str, result: Result) -> None:
    row = result.failover.setdefault(contender.title, {})
    if len(row.get(fault, [])) >= options.trials:
        return
    done = row[fault] = []
    for trial in trials(contender, fault, options.nodes, options.trials):
        done.append(trial)
        words = trial.trouble if trial.ms is None else f"{trial.ms:.0f} ms"
        _progress(f"{fault}, {contender.title}: {len(done)} of {options.trials}: {words}")
    _keep(options, result)


def _idle(options: argparse.Namespace, parts: list[str], result: Result) -> None:
    plan = [(each, nodes) for each, nodes in IDLE if "idle" in parts]
    if "many" in parts:
        plan += [(replace(each, elections=MANY_ELECTIONS), options.nodes) for each in MANY]
    done = {(title, found.nodes, found.elections) for title, found in result.costs}
    for each, nodes in plan:
        if (each.title, nodes, each.elections) in done:
            continue
        _progress(f"idle, {each.title}: {nodes} nodes, {each.elections} elections")
        result.costs.append((each.title, cost(each, nodes, each.elections, options.seconds)))
        _keep(options, result)


def _keep(options: argparse.Namespace, result: Result) -> None:
    if options.keep:
        result.keep(options.keep)


def _progress(words: str) -> None:
    """One line that changes, on a terminal; a line each in a file."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words[:100]}", end="", file=sys.stderr, flush=True)
    else:
        print(words, file=sys.stderr, flush=True)


def _tell(options: argparse.Namespace, result: Result, whole: bool) -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if options.json:
        print(json.dumps(as_object(result)))
    elif options.write and whole:
        page = options.write.read_text(encoding="utf-8")
        renewed = rewritten(page, as_markdown(result), BEGIN, END)
        options.write.write_text(renewed, encoding="utf-8")
    else:
        print(as_markdown(result))


if __name__ == "__main__":
    raise SystemExit(main())
