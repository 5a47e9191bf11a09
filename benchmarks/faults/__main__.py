"""Hurt processes, hundreds of times and in every way, and prove from what they wrote down that
terms exclude each other, that tokens fence off what is stale, and that a record of it can be run
again.

    python -m benchmarks.faults --faults 500
    python -m benchmarks.faults --nodes 5 --faults 200 --kinds kill,stop,cut,members --record DIR
    python -m benchmarks.faults --nodes 5 --faults 300 --kinds all --outside 15 --seed 7
    python -m benchmarks.faults --kinds all --faults 20 --plan    # what would be done
    python -m benchmarks.faults --faults 20 --mutant stretched    # must be found: exit code 1
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.failover import spread
from benchmarks.faults.change import ChangeNotMade
from benchmarks.faults.evidence import JOB, Evidence
from benchmarks.faults.fleet import NODES, Blow, Fleet, Hung
from benchmarks.faults.ground import grounds, lacking
from benchmarks.faults.judge import LATE, PROMISED_NS, FaultRow, Judgement, judged
from benchmarks.faults.ledger import told
from benchmarks.faults.outside import suffered
from benchmarks.faults.plan import KINDS, OUTSIDE, Fault, OutsideFault, planned, planned_outside
from benchmarks.faults.table import text_of
from benchmarks.faults.worker import MUTANTS
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, EXIT_USAGE
from electorate.cli.supervisor import any_end_is_ctrl_c

LINE_S = 10.0
"""How often a line tells how far it is, where nobody watches."""
REPLAY_S = 600.0
ALL = "all"
MANY = 100
"""So many elections has the part of a whole run that is about many."""


class Part(NamedTuple):
    """One cluster that is hurt, and what it is made for."""

    name: str
    faults: list[Fault]
    is_wide: bool = False
    """Whether there is a spare election, and one in groups."""
    more: int = 0
    """So many more elections."""
    transfers: bool = False


class Hurt(NamedTuple):
    """What came of one part."""

    part: Part
    folder: Path
    judgement: Judgement
    blows: list[Blow]
    changes_s: list[float]
    is_whole: bool


def main(words: Sequence[str] | None = None) -> int:
    """Hurt, judge, print, and say with the exit code whether all is well."""
    options = _options(words)
    kinds = _possible(options)
    if kinds is None:
        return EXIT_USAGE
    parts, outside = _plan(options, kinds)
    if options.plan:
        for part in parts:
            print(json.dumps({"part": part.name, "more": part.more, "transfers": part.transfers}))
            print("\n".join(fault.text() for fault in part.faults))
        for fault in outside:
            print(fault.text())
        return EXIT_DONE
    began = time.monotonic()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="electorate-faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    is_kept = options.keep is not None
    try:
        with any_end_is_ctrl_c():
            result, is_whole = _done(options, parts, outside, folder.absolute())
        result |= {"seconds": round(time.monotonic() - began)}
        print(json.dumps(result) if options.json else text_of(result, is_markdown=options.markdown))
        if result["violations"]:
            is_kept = True
            print(f"faults: what was written is kept in {folder}", file=sys.stderr)
            print(f"faults: to repeat it: {_again(options)}", file=sys.stderr)
            return EXIT_BROKEN
        return EXIT_DONE if is_whole and not result["doubts"] else EXIT_UNKNOWN
    except KeyboardInterrupt:  # While it was judged or replayed.
        print("\nfaults: interrupted", file=sys.stderr)
        return EXIT_UNKNOWN
    except OSError as error:
        print(f"faults: {error}", file=sys.stderr)
        return EXIT_UNKNOWN
    finally:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults", description="Terms and fences under faults."
    )
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=NODES, help=f"default {NODES}")
    parser.add_argument(
        "--kinds",
        type=_kinds,
        default=("kill", "stop"),
        help=f"of faults, of {','.join((*KINDS, *OUTSIDE))}; default kill,stop. `all` is all that "
        "can be had here, to clusters that do everything, always recorded. Those of the network "
        "and a full disk take root and iproute2, those of clocks and other disks a C compiler",
    )
    parser.add_argument(
        "--outside", type=int, default=0, metavar="N", help="and so many outside the assumptions"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plan", action="store_true", help="print what would be done, and end")
    parser.add_argument("--elections", type=int, default=0, metavar="N", help="so many more")
    parser.add_argument(
        "--transactions", action="store_true", help="with accounts, and transfers between them"
    )
    parser.add_argument(
        "--beside",
        metavar="COMMAND",
        help="run this beside the members, as one that is none; it reads FAULTS_MEMBERS",
    )
    parser.add_argument(
        "--promised",
        type=float,
        default=PROMISED_NS / 1e9,
        metavar="SECONDS",
        help="how long an office may be vacant while a majority is well; default %(default)g",
    )
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
    parser.add_argument("--markdown", action="store_true", help="tables as in a page")
    options = parser.parse_args(words)
    for folder in filter(None, (options.record, options.keep)):
        if folder.exists() and any(folder.iterdir()):
            parser.error(f"{folder} is not empty: what is there would be judged or replayed, too")
    if options.nodes < 3:
        parser.error("--nodes takes 3 or more: of two, none may be hurt")
    if options.transactions and "members" in options.kinds:
        parser.error("--transactions and the kind members: an account would go with its member")
    return options


def _kinds(text: str) -> tuple[str, ...]:
    if text == ALL:
        return (ALL,)
    if wrong := set(text.split(",")) - {*KINDS, *OUTSIDE}:
        known = ", ".join((ALL, *KINDS, *OUTSIDE))
        raise argparse.ArgumentTypeError(f"no {', '.join(sorted(wrong))}: {known}")
    return tuple(kind for kind in (*KINDS, *OUTSIDE) if kind in text.split(","))


def _possible(options: argparse.Namespace) -> tuple[str, ...] | None:
    """The kinds there will be; None if some were wanted by name and cannot be had."""
    is_all = options.kinds == (ALL,)
    kinds = (*KINDS, *OUTSIDE) if is_all or options.outside else options.kinds
    if not is_all and options.outside and set(options.kinds) & {*OUTSIDE}:
        kinds = options.kinds
    elif not is_all:
        kinds = (*options.kinds, *(OUTSIDE if options.outside else ()))
    without = lacking(kinds)
    for reason in sorted(set(without.values())):
        names = ", ".join(kind for kind in kinds if without.get(kind) == reason)
        how = "is left out" if is_all else "cannot be had here"
        print(f"faults: {names} {how}: {reason}", file=sys.stderr)
    if without and not is_all:
        return None
    return tuple(kind for kind in kinds if kind not in without)


def _plan(
    options: argparse.Namespace, kinds: Sequence[str]
) -> tuple[list[Part], list[OutsideFault]]:
    """What is to be done, by the seed."""
    outside = list(
        planned_outside(options.seed, options.outside, [kind for kind in OUTSIDE if kind in kinds])
    )
    inside = [kind for kind in kinds if kind in KINDS]
    if not inside or options.faults == 0:
        return [], outside
    seed, number = options.seed, options.faults
    if options.kinds != (ALL,):
        faults = list(planned(seed, number, inside))
        wide = options.record is not None
        return [Part("", faults, wide, options.elections, options.transactions)], outside
    still = [kind for kind in inside if kind != "members"]
    numbers = [number - 2 * (number // 4), number // 4, number // 4]
    members = list(planned(3 * seed, numbers[0], inside))
    accounts = list(planned(3 * seed + 1, numbers[1], still))
    many = list(planned(3 * seed + 2, numbers[2], still))
    parts = [
        Part("members", members, is_wide=True, more=options.elections),
        Part("accounts", accounts, transfers=True, more=options.elections),
        Part("many", many, more=options.elections or MANY),
    ]
    return [part for part in parts if part.faults], outside


def _done(
    options: argparse.Namespace, parts: list[Part], outside: list[OutsideFault], folder: Path
) -> tuple[dict[str, Any], bool]:
    """Do all of it; what was found, and whether nobody has put an end to it before."""
    found: list[Hurt] = []
    rows: list[dict[str, Any]] = []
    is_whole = True
    given = options.record.absolute() if options.record else None
    records = [given] if given else []
    try:
        for part in parts:
            home = folder / part.name
            record = given
            if options.kinds == (ALL,):
                record = (given or folder / "record") / part.name
                records += [record]
            found.append(_hurt(options, part, home, record))
            is_whole &= found[-1].is_whole
            if not found[-1].is_whole:
                break
        for number, fault in enumerate(outside if is_whole else (), start=1):
            _say(f"{number} of {len(outside)} outside the assumptions: {fault.called}")
            home = folder / f"outside-{number:02}"
            rows.append(suffered(fault, home, home / "record")._asdict())
    except KeyboardInterrupt:
        is_whole = False
        print("\nfaults: interrupted", file=sys.stderr)
    finally:
        if sys.stderr.isatty():
            print(file=sys.stderr)
    result = result_of(options, found, rows)
    there = [record for record in records if any(record.glob("*.jsonl*"))]
    replayed = [_replayed(record) for record in there] if is_whole else []  # Ctrl-C waits for none.
    for each in replayed:
        result["violations"] += each["differences"]
        result["doubts"] += [each["doubt"]] if "doubt" in each else []
    result["replayed"] = [each for each in replayed if "events" in each]
    return result, is_whole


def _hurt(options: argparse.Namespace, part: Part, folder: Path, record: Path | None) -> Hurt:
    """Inflict all faults of a part on a cluster of its own, and judge."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {fault.kind for fault in part.faults}
    is_whole = False
    with grounds(folder, kinds, options.nodes + 2, options.seed) as ground:
        fleet = Fleet(
            folder,
            options.mutant,
            nodes=options.nodes,
            record=record,
            network=ground.network,
            disks=ground.disks,
            library=ground.library,
            is_wide=part.is_wide,
            more=part.more,
            transfers=part.transfers,
        )
        try:
            with fleet:
                if options.beside:
                    fleet.run_beside("beside", shlex.split(options.beside))
                _strike_all(fleet, part)
                fleet.settle()
                is_whole = True
        except KeyboardInterrupt:
            print("\nfaults: interrupted", file=sys.stderr)
        except (Hung, ChangeNotMade) as hung:
            fleet.complain(str(hung), is_late=True)
            is_whole = True
    found = judged(folder, promised_ns=round(options.promised * 1e9))
    return Hurt(part, folder, found, fleet.blows, fleet.changes.took_s, is_whole)


def _strike_all(fleet: Fleet, part: Part) -> None:
    fleet.await_leader()
    told_at = time.monotonic()
    for number, fault in enumerate(part.faults, start=1):
        fleet.strike(fault)
        if sys.stderr.isatty() or time.monotonic() - told_at > LINE_S:
            told_at = time.monotonic()
            words = f"{part.name}: " if part.name else ""
            words += f"{number} of {len(part.faults)} faults, token {fleet.blows[-1].token}"
            _say(f"{words}, {len(fleet.complaints)} complaints, now {fault.called}")


def _say(words: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{words:<78}", end="", file=sys.stderr, flush=True)
    else:
        print(words, file=sys.stderr, flush=True)


def _replayed(record: Path) -> dict[str, Any]:
    """What `electorate replay` makes of the records."""
    words = [sys.executable, "-m", "electorate.cli.main", "replay", str(record), "--json"]
    _say(f"replaying {record}")
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=REPLAY_S, check=False)
    except subprocess.TimeoutExpired:
        text = f"{record} was not replayed within {REPLAY_S:.0f} s: electorate replay {record}"
        return {"differences": [], "doubt": text}
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


def result_of(
    options: argparse.Namespace, found: list[Hurt], outside: list[dict[str, Any]]
) -> dict[str, Any]:
    """What was found, in numbers and words."""
    judgements = [each.judgement for each in found]
    blows = [blow for each in found for blow in each.blows]
    violations = [
        f"{each.part.name}: {violation}" if each.part.name else str(violation)
        for each in found
        for violation in each.judgement.violations
    ]
    for row in outside:
        if row["stale_taken"]:
            violations.append(f"{row['called']}: the fence took {row['stale_taken']} old tokens")
    became = Counter(what for each in found for what in told(each.folder).values())
    return {
        "faults": len(blows),
        "nodes": options.nodes,
        "seed": options.seed,
        "load": round(os.getloadavg()[0], 1),
        "inflicted": dict(sorted(Counter(blow.called for blow in blows).items())),
        "elections": sum(each.elections for each in judgements),
        "terms": sum(each.terms for each in judgements),
        "points": sum(each.points for each in judgements),
        "fence_took": sum(each.taken for each in judgements),
        "fence_refused": sum(each.refused for each in judgements),
        "stale_without_fence": sum(each.stale for each in judgements),
        "next_leader_ms": _taking_over(found),
        "change_ms": spread([1000 * seconds for each in found for seconds in each.changes_s]),
        "transfers": dict(sorted(became.items())),
        "rows": {name: row._asdict() for name, row in _summed(judgements).items()},
        "outside": outside,
        "busy_s": round(sum(each.busy_s for each in judgements)),
        "violations": violations,
        "doubts": _doubts(judgements),
    }


def _doubts(judgements: list[Judgement]) -> list[str]:
    """What every part leaves in doubt: one that shows it is enough."""
    if not judgements:
        return []
    said = [each for judgement in judgements for each in judgement.doubts]
    late = [each for each in said if each.startswith(LATE)]
    every = [each for each in dict.fromkeys(said) if said.count(each) == len(judgements)]
    return list(dict.fromkeys(every + late))


def _summed(judgements: list[Judgement]) -> dict[str, FaultRow]:
    """The rows of all parts, and one of everything."""
    summed: dict[str, FaultRow] = {}

    def add(name: str, row: FaultRow) -> None:
        one = summed.get(name, FaultRow(0, 0, {}, 0.0))
        wrong = dict(Counter(one.wrong) + Counter(row.wrong))
        vacant_ms = max(one.vacant_ms, row.vacant_ms)
        summed[name] = FaultRow(one.faults + row.faults, one.terms + row.terms, wrong, vacant_ms)

    rows = [(name, row) for each in judgements for name, row in each.rows.items()]
    for name, row in sorted(rows, key=lambda each: (each[1].faults > 0, each[0])):
        add(name, row)
    for _, row in rows:
        add("all", row)
    return summed


def _taking_over(found: list[Hurt]) -> dict[str, Any]:
    times: dict[str, list[float | None]] = {}
    for each in found:
        job = Evidence.of(each.folder / JOB)
        for kind in ("kill", "stop", "cut"):
            times.setdefault(kind, []).extend(_taking_over_ms(job, each.blows, kind))
    return {kind: shown for kind, of in times.items() if (shown := spread(of))}


def _taking_over_ms(evidence: Evidence, blows: list[Blow], kind: str) -> list[float | None]:
    """From each blow to a leader until the first work of the next term, if that was the next thing.

    A leader that was stopped for less than its term is still in office; and where the next blow
    came first, it is not known what it was that took so long.
    """
    found: list[float | None] = []
    ends = [blow.at_ns for blow in blows[1:]]
    for blow, end in zip(blows, ends, strict=False):
        if blow.fault.kind == kind and blow.fault.whom == "leader":
            later = (p for p in evidence.points if p.at_ns > blow.at_ns and p.token > blow.token)
            point = next(later, None)
            if point is not None and point.at_ns < end:
                found.append((point.at_ns - blow.at_ns) / 1e6)
    return found


def _again(options: argparse.Namespace) -> str:
    """The command that does the same once more."""
    words = ["python", "-m", "benchmarks.faults"]
    given = dict(vars(options), kinds=",".join(options.kinds))
    for name in (
        "faults",
        "nodes",
        "kinds",
        "outside",
        "seed",
        "elections",
        "promised",
        "mutant",
        "beside",
    ):
        if given[name] not in (None, 0):
            words += [f"--{name}", f"{given[name]:g}" if name == "promised" else str(given[name])]
    return shlex.join([*words, *(["--transactions"] if options.transactions else [])])


if __name__ == "__main__":
    raise SystemExit(main())
