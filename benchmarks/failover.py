"""How long a cluster is without its leader, measured with real processes on this machine.

Every round kills (or pauses) the leader of an agreeing cluster and brings it back:

    python -m benchmarks.failover --rounds 100
    python -m benchmarks.failover --rounds 100 --stop --json
    python -m benchmarks.failover --rounds 20 --protocol all --keep runs/
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.strike import Goal, Round, Trial
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, EXIT_USAGE, UsageError
from electorate.cli.protocol import node_count
from electorate.cli.supervisor import any_end_is_ctrl_c
from electorate.cli.up import add_pace_arguments, keep_pace
from electorate.protocols.registry import REGISTRY

ASKED = {"mandate": "mandate-over-bully"}
"""Protocols in which nobody leads unless it is asked to, and over which they do."""
SOUND = [
    ASKED.get(name, name)
    for name, entry in REGISTRY.items()
    if entry.form == "sound" and not entry.machine.begins_by
]
"""The protocols that promise to survive this."""

Measured = dict[str, list[Round]]

PARTS = ("median", "p95", "max")
HEADS = (
    "protocol",
    "rounds",
    *("blow to agreement: median ms", "p95", "max"),
    *("return to agreement: median ms", "p95", "max"),
    "without agreement",
)


def main() -> int:
    """Measure, print, and say with the exit code whether every round ended in agreement."""
    options = _options()
    protocols = [each for p in options.protocol for each in (SOUND if p == "all" else [p])]
    measured: Measured = {name: [] for name in protocols or ["bully"]}
    try:
        timing = keep_pace(options)
        for name in measured:
            Goal.of(name, options.nodes)
    except UsageError as error:
        print(f"failover: {error}", file=sys.stderr)
        return EXIT_USAGE
    whole = _measure(options, timing, measured)
    result = _result(options, measured)
    print(json.dumps(result) if options.json else text_of(result))
    if any(not each.agreed for rounds in measured.values() for each in rounds):
        return EXIT_BROKEN
    return EXIT_DONE if whole else EXIT_UNKNOWN


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--protocol",
        action="append",
        default=[],
        metavar="P",
        help="default bully; may be repeated; `all` means every sound one",
    )
    parser.add_argument("--nodes", type=node_count, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--stop", action="store_true", help="SIGSTOP instead of SIGKILL")
    add_pace_arguments(parser)
    parser.add_argument(
        "--patience", type=float, default=20.0, metavar="S", help="until a round has failed; 20"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="records of rounds that failed")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _measure(options: argparse.Namespace, timing: list[str], measured: Measured) -> bool:
    """Fill in the rounds of each protocol; whether nobody has put an end to it before."""
    # Agreement counts if it lasts for one timeout: what is noticed late would undo it by then.
    lasting_s = options.timeout / 1000
    keep = options.keep is not None
    try:
        with any_end_is_ctrl_c(), tempfile.TemporaryDirectory(prefix="electorate-") as spare:
            folder = options.keep or Path(spare)
            for name, done in measured.items():
                trial = Trial(
                    name, options.nodes, timing, options.stop, options.patience, lasting_s
                )
                with closing(trial.rounds(options.rounds, folder, keep=keep)) as rounds:
                    for each in rounds:
                        done.append(each)
                        _progress(name, len(done), each)
    except KeyboardInterrupt:
        print("failover: interrupted", file=sys.stderr)
        return False
    return True


def _progress(name: str, number: int, done: Round) -> None:
    if done.agreed and not sys.stderr.isatty():
        return
    words = f"{done.lost_ms:.0f} ms, {done.returned_ms:.0f} ms" if done.agreed else done.missing
    print(f"{name}, round {number}: {words}", file=sys.stderr)


def _result(options: argparse.Namespace, measured: Measured) -> dict[str, Any]:
    return {
        "nodes": options.nodes,
        "blow": "SIGSTOP" if options.stop else "SIGKILL",
        "T_ms": options.T,
        "beat_ms": options.beat,
        "timeout_ms": options.timeout,
        "detector": options.detector,
        "load": round(os.getloadavg()[0], 1),
        "protocols": {
            name: {
                "rounds": len(rounds),
                "lost_ms": spread([each.lost_ms for each in rounds]),
                "returned_ms": spread([each.returned_ms for each in rounds]),
                "without_agreement": sum(not each.agreed for each in rounds),
            }
            for name, rounds in measured.items()
        },
    }


def spread(times: list[float | None]) -> dict[str, int]:
    """Of the times that there are: the middle, what all but one in twenty keep, and the worst."""
    found = sorted(each for each in times if each is not None)
    if not found:
        return {}
    p95 = found[math.ceil(0.95 * len(found)) - 1]
    return dict(zip(PARTS, map(round, (statistics.median(found), p95, found[-1])), strict=True))


def text_of(result: dict[str, Any]) -> str:
    """A table that is fit for a terminal and for a page."""
    head = "{nodes} nodes, {blow}; T {T_ms} ms, beat {beat_ms} ms, timeout {timeout_ms} ms "
    head += "({detector}); load {load} at the end"
    cells = [HEADS, *(_cells(name, found) for name, found in result["protocols"].items())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [head.format(**result), ""]
    for name, *numbers in (cells[0], rule, *cells[1:]):
        texts = [each.rjust(width) for each, width in zip(numbers, widths[1:], strict=True)]
        lines.append(f"| {' | '.join([name.ljust(widths[0]), *texts])} |")
    return "\n".join(lines)


def _cells(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    times = [found[which].get(part, "-") for which in ("lost_ms", "returned_ms") for part in PARTS]
    return (name, *map(str, (found["rounds"], *times, found["without_agreement"])))


if __name__ == "__main__":
    raise SystemExit(main())
