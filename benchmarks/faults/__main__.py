"""Hurt processes, hundreds of times, and prove from what they wrote down that terms exclude each
other, that tokens fence off what is stale, and that a record of it all can be run again.

    python -m benchmarks.faults --faults 500
    python -m benchmarks.faults --nodes 5 --faults 200 --kinds kill,stop,cut,members --record DIR
    python -m benchmarks.faults --faults 100 --seed 7 --json
    python -m benchmarks.faults --faults 20 --mutant stretched    # must be found: exit code 1
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.failover import spread
from benchmarks.faults.evidence import JOB, SHOWN_MAX, SPARE, Evidence
from benchmarks.faults.fleet import KINDS, NODES, Blow, Fleet, Hung, Kind, planned
from benchmarks.faults.worker import MUTANTS
from benchmarks.leadership.island import islands, unavailable
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, EXIT_USAGE
from electorate.cli.supervisor import any_end_is_ctrl_c

LINE_S = 10.0
"""How often a line tells how far it is, where nobody watches."""
REPLAY_S = 600.0


def main() -> int:
    """Hurt, judge, print, and say with the exit code whether all is well."""
    options = _options()
    why_no_cuts = unavailable("ip") if "cut" in options.kinds else None
    if why_no_cuts is not None:
        print(f"faults: nothing can be cut here: {why_no_cuts}", file=sys.stderr)
        return EXIT_USAGE
    began = time.monotonic()
    with ExitStack() as stack:
        spare = stack.enter_context(tempfile.TemporaryDirectory(prefix="electorate-faults-"))
        folder = options.keep or Path(spare)
        folder.mkdir(parents=True, exist_ok=True)
        fleet, whole = _hurt(options, folder)
        elections = (JOB, SPARE) if options.record else (JOB,)
        evidence = {election: Evidence.of(folder / election) for election in elections}
    result = {
        "faults": len(fleet.blows),
        "nodes": options.nodes,
        "seed": options.seed,
        "seconds": round(time.monotonic() - began),
        "load": round(os.getloadavg()[0], 1),
        **result_of(evidence, fleet),
    }
    if options.record:
        result["replayed"] = _replayed(options.record)
        result["violations"] += result["replayed"]["differences"]
    print(json.dumps(result) if options.json else text_of(result))
    if result["violations"]:
        return EXIT_BROKEN
    return EXIT_DONE if whole and not result["doubts"] else EXIT_UNKNOWN


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults", description="Terms and fences under faults."
    )
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=NODES, help=f"default {NODES}")
    parser.add_argument(
        "--kinds",
        type=_kinds,
        default=("kill", "stop"),
        help=f"of faults, of {','.join(KINDS)}; default kill,stop; to cut takes root and iproute2",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutant", choices=MUTANTS, help="workers that are wrong on purpose")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FOLDER",
        help="record every node there, with another election and one in groups, and replay it all",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where to keep what was written"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.record and options.record.exists() and any(options.record.iterdir()):
        parser.error(f"{options.record} is not empty: what is there would be replayed as well")
    return options


def _kinds(text: str) -> tuple[Kind, ...]:
    if wrong := set(text.split(",")) - {*KINDS}:
        raise argparse.ArgumentTypeError(f"no {', '.join(sorted(wrong))}: {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in text.split(","))


def _hurt(options: argparse.Namespace, folder: Path) -> tuple[Fleet, bool]:
    """Inflict all faults; and whether nobody has put an end to it before."""
    record = options.record and options.record.absolute()
    with ExitStack() as stack:
        made = None
        if "cut" in options.kinds:
            made = stack.enter_context(islands(options.nodes + 1))
        fleet = Fleet(
            folder.absolute(),
            options.mutant,
            nodes=options.nodes,
            record=record,
            islands=made,
            is_wide=record is not None,
        )
        told_at = time.monotonic()
        try:
            with any_end_is_ctrl_c(), fleet:
                fleet.await_leader()
                faults = planned(options.seed, options.faults, options.kinds)
                for number, fault in enumerate(faults, start=1):
                    fleet.strike(fault)
                    if sys.stderr.isatty() or time.monotonic() - told_at > LINE_S:
                        told_at = time.monotonic()
                        _progress(number, options.faults, Evidence.of(folder / JOB))
                fleet.settle()
        except KeyboardInterrupt:
            print("\nfaults: interrupted", file=sys.stderr)
            return fleet, False
        except Hung as hung:
            fleet.complaints.append(str(hung))
        finally:
            if sys.stderr.isatty():
                print(file=sys.stderr)
        return fleet, True


def _progress(number: int, faults: int, so_far: Evidence) -> None:
    words = f"{number} of {faults} faults, {so_far.terms} terms, "
    words += f"{len(so_far.refused)} stale writes refused, {so_far.stale} taken without a fence, "
    words += f"{len(so_far.violations())} violations"
    print(words, end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


def _replayed(record: Path) -> dict[str, Any]:
    """What `electorate replay` makes of the records."""
    words = [sys.executable, "-m", "electorate.cli.main", "replay", str(record), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=REPLAY_S, check=False)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return {"differences": [f"the record cannot be replayed: {done.stderr.strip()}"]}
    return {
        "nodes": len(found["nodes"]),
        "instances": {each["name"]: each["events"] for each in found["instances"]},
        "events": found["events"],
        "lives": found["lives"],
        "bytes": sum(file.stat().st_size for file in record.iterdir()),
        "notes": found["notes"],
        "differences": found["differences"],
    }


def result_of(evidence: dict[str, Evidence], fleet: Fleet) -> dict[str, Any]:
    """What was found, in numbers and words."""
    blows = fleet.blows
    job = evidence[JOB]
    kinds = [kind for kind in KINDS if kind != "members"]
    violations = [
        f"{election}: {each}" for election, of in evidence.items() for each in of.violations()
    ]
    return {
        "inflicted": dict(sorted(Counter(blow.called for blow in blows).items())),
        "terms": sum(each.terms for each in evidence.values()),
        "points": sum(len(each.points) for each in evidence.values()),
        "fence_took": sum(len(each.taken) for each in evidence.values()),
        "fence_refused": sum(len(each.refused) for each in evidence.values()),
        "stale_without_fence": sum(each.stale for each in evidence.values()),
        "next_leader_ms": {
            kind: times for kind in kinds if (times := spread(_taking_over_ms(job, blows, kind)))
        },
        "change_ms": spread([1000 * seconds for seconds in fleet.changes]),
        "violations": [*violations, *fleet.complaints],
        "doubts": job.doubts(),
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
        f"{result['faults']} faults to {result['nodes']} nodes in {result['seconds']} s (seed "
        f"{result['seed']}, load {result['load']}): {inflicted}",
        f"{result['terms']} terms, seen in office at {result['points']:,} points",
        f"the fence took {result['fence_took']:,} writes and refused {result['fence_refused']} "
        f"stale ones; without a fence {result['stale_without_fence']} stale ones were taken",
    ]
    told = "median {median} ms, p95 {p95} ms, max {max} ms"
    for kind, times in result["next_leader_ms"].items():
        lines.append(f"from {kind} to the first work of the next leader: {told.format(**times)}")
    if result["change_ms"]:
        lines.append(f"a change of the members: {told.format(**result['change_ms'])}")
    wrong = result["violations"]
    lines += [f"VIOLATED: {each}" for each in wrong[:SHOWN_MAX]]
    lines += [f"… and {len(wrong) - SHOWN_MAX} more"] if len(wrong) > SHOWN_MAX else []
    lines += [f"in doubt: {each}" for each in result["doubts"]]
    replayed = result.get("replayed", {})
    if "events" in replayed:
        instances = ", ".join(f"{name} {n:,}" for name, n in replayed["instances"].items())
        lines += [
            f"replayed: {replayed['nodes']} nodes, {len(replayed['instances'])} instances, "
            f"{replayed['events']:,} events in {replayed['lives']} lives ({instances}; "
            f"{replayed['bytes'] / 1e6:.1f} MB), "
            f"{len(replayed['differences'])} came out differently"
        ]
    if not wrong:
        lines.append("no two terms overlap, and the fence let nothing stale through")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
