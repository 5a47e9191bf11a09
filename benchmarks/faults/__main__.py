"""Hurt three processes, hundreds of times, and prove from what they wrote down that terms exclude
each other and that tokens fence off what is stale.

    python -m benchmarks.faults --faults 500
    python -m benchmarks.faults --faults 100 --seed 7 --json
    python -m benchmarks.faults --faults 20 --mutant stretched    # must be found: exit code 1
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.failover import spread
from benchmarks.faults.evidence import SHOWN_MAX, Evidence
from benchmarks.faults.fleet import Blow, Fleet, planned
from benchmarks.faults.worker import MUTANTS
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN
from electorate.cli.interrupt import any_end_is_ctrl_c

LINE_S = 10.0
"""How often a line tells how far it is, where nobody watches."""


def main() -> int:
    """Hurt, judge, print, and say with the exit code whether all is well."""
    options = _options()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="electorate-faults-") as spare:
        folder = options.keep or Path(spare)
        folder.mkdir(parents=True, exist_ok=True)
        fleet = Fleet(folder, options.mutant)
        whole = _hurt(options, fleet, folder)
        evidence = Evidence.of(folder)
    result = {
        "faults": len(fleet.blows),
        "seed": options.seed,
        "seconds": round(time.monotonic() - began),
        "load": round(os.getloadavg()[0], 1),
        **result_of(evidence, fleet.blows, fleet.complaints),
    }
    print(json.dumps(result) if options.json else text_of(result))
    if result["violations"]:
        return EXIT_BROKEN
    return EXIT_DONE if whole and not result["doubts"] else EXIT_UNKNOWN


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Terms and fences under faults.")
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutant", choices=MUTANTS, help="workers that are wrong on purpose")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where to keep what was written"
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _hurt(options: argparse.Namespace, fleet: Fleet, folder: Path) -> bool:
    """Inflict all faults; whether nobody has put an end to it before."""
    told_at = time.monotonic()
    try:
        with any_end_is_ctrl_c(), fleet:
            fleet.await_leader()
            for number, fault in enumerate(planned(options.seed, options.faults), start=1):
                fleet.strike(fault)
                if sys.stderr.isatty() or time.monotonic() - told_at > LINE_S:
                    told_at = time.monotonic()
                    _progress(number, options.faults, Evidence.of(folder))
            fleet.settle()
    except KeyboardInterrupt:
        print("\nfaults: interrupted", file=sys.stderr)
        return False
    finally:
        if sys.stderr.isatty():
            print(file=sys.stderr)
    return True


def _progress(number: int, faults: int, so_far: Evidence) -> None:
    words = f"{number} of {faults} faults, {so_far.terms} terms, "
    words += f"{len(so_far.refused)} stale writes refused, {so_far.stale} taken without a fence, "
    words += f"{len(so_far.violations())} violations"
    print(words, end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


def result_of(evidence: Evidence, blows: list[Blow], complaints: list[str]) -> dict[str, Any]:
    """What was found, in numbers and words."""
    kinds = {f"{b.fault.kind} {b.fault.whom}" for b in blows}
    return {
        "inflicted": {
            kind: sum(f"{b.fault.kind} {b.fault.whom}" == kind for b in blows)
            for kind in sorted(kinds)
        },
        "terms": evidence.terms,
        "points": len(evidence.points),
        "fence_took": len(evidence.taken),
        "fence_refused": len(evidence.refused),
        "stale_without_fence": evidence.stale,
        "next_leader_ms": {
            kind: spread(list(_taking_over_ms(evidence, blows, kind))) for kind in ("kill", "stop")
        },
        "violations": [*evidence.violations(), *complaints],
        "doubts": evidence.doubts(),
    }


def _taking_over_ms(evidence: Evidence, blows: list[Blow], kind: str) -> list[float | None]:
    """From each blow to a leader until the first work of the next term, if that was the next thing.

    A leader that was stopped for less than its term is still in office; and where the next blow
    came first, it is not known what it was that took so long.
    """
    found: list[float | None] = []
    points = sorted(evidence.points)
    ends = [blow.at_ns for blow in blows[1:]]
    for blow, end in zip(blows, ends, strict=False):
        if blow.fault.kind == kind and blow.fault.whom == "leader":
            later = (p for p in points if p.at_ns > blow.at_ns and p.token > blow.token)
            point = next(later, None)
            if point is not None and point.at_ns < end:
                found.append((point.at_ns - blow.at_ns) / 1e6)
    return found


def text_of(result: dict[str, Any]) -> str:
    """The same for people."""
    inflicted = ", ".join(f"{number} × {kind}" for kind, number in result["inflicted"].items())
    lines = [
        f"{result['faults']} faults in {result['seconds']} s (seed {result['seed']}, load "
        f"{result['load']}): {inflicted}",
        f"{result['terms']} terms, seen in office at {result['points']:,} points",
        f"the fence took {result['fence_took']:,} writes and refused {result['fence_refused']} "
        f"stale ones; without a fence {result['stale_without_fence']} stale ones were taken",
    ]
    for kind, times in result["next_leader_ms"].items():
        if times:
            told = "median {median} ms, p95 {p95} ms, max {max} ms".format(**times)
            lines.append(f"from {kind} to the first work of the next leader: {told}")
    wrong = result["violations"]
    lines += [f"VIOLATED: {each}" for each in wrong[:SHOWN_MAX]]
    lines += [f"… and {len(wrong) - SHOWN_MAX} more"] if len(wrong) > SHOWN_MAX else []
    lines += [f"in doubt: {each}" for each in result["doubts"]]
    if not wrong:
        lines.append("no two terms overlap, and the fence let nothing stale through")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
