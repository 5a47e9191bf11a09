"""Two versions of electorate taking turns: is one worse than the other, beyond the noise?

    python -m benchmarks.turns ../before .
    python -m benchmarks.turns ../before . --only hand-over,cold,idle --turns 5 --trials 4
    python -m benchmarks.turns ../before . --only members,idle --elections 0,1,1000
    python -m benchmarks.turns ../before . --only faults --faults 200 --json
    python -m benchmarks.turns . . --only idle --recorded         # what it costs to record

Each side is a folder with the sources, the benchmarks and the `.venv` of a version. Every
measurement is made by one side and then by the other, again and again, so that a noisy moment hits
both alike; which of them begins takes turns as well. What differs between the turns of one side is
noise: a difference between the sides says nothing unless it is larger.
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

from benchmarks.engine import ROOT
from electorate.cli.error import EXIT_DONE, EXIT_UNKNOWN
from electorate.cli.supervisor import any_end_is_ctrl_c

TIMEOUT_S = 1_800.0
LEADERSHIP = ("kill", "stop", "hand-over", "cold")

Side = Literal["old", "new"]
Samples = dict[str, list[float]]
"""What was measured in one turn of one side, by the name of what it is."""


class Measure(NamedTuple):
    """A command that both sides run, and how to read what it prints."""

    words: list[str]
    samples: Callable[[dict[str, Any]], Samples]
    is_shared: bool = False
    """Whether it is this version's file, run on the package of either side."""
    new_words: tuple[str, ...] = ()
    """What the new side is told besides."""


class Row(NamedTuple):
    """One thing that was measured on both sides."""

    what: str
    old: float
    old_p90: float
    new: float
    new_p90: float
    ratio: float
    """Of the medians, new to old."""
    ratios: tuple[float, float]
    """The smallest and the largest, if every turn is taken by itself."""
    noise: float
    """How far the medians of the turns of one side are apart, as a part of their median."""
    samples: tuple[int, int]
    turns: int

    @property
    def verdict(self) -> str:
        """Whether the sides differ, always in the same way, by more than the turns of one side."""
        if self.ratio == 1 or self.turns < 2:
            return "the same" if self.ratio == 1 else "one turn"
        is_more = self.ratio > 1
        if abs(self.ratio - 1) <= self.noise or (self.ratios[0] < 1 < self.ratios[1]):
            return "within noise"
        return "better" if is_more == self.what.startswith("tx/s") else "worse"


def measures(options: argparse.Namespace) -> dict[str, Measure]:
    """Everything that can be measured."""
    seconds = str(options.seconds)
    leadership = f"-m benchmarks.leadership --system electorate --trials {options.trials} --json"
    found = {
        fault: Measure([*leadership.split(), "--only", fault], _of_leadership)
        for fault in LEADERSHIP
    }
    faults = ["-m", "benchmarks.faults", "--json", "--faults", str(options.faults)]
    found["faults"] = Measure([*faults, "--seed", str(options.seed)], _of_faults)
    transactions = "-m benchmarks.transactions --kind sqlite --clients 1,8 --repeats 1 --json"
    found["transactions"] = Measure([*transactions.split(), "--seconds", seconds], _of_transactions)
    idle = ["-P", str(ROOT / "benchmarks/idle.py"), "--json", "--seconds", seconds]
    idle += ["--elections", options.elections]
    records = ("--record",) if options.recorded else ()
    found["idle"] = Measure(idle, _of_idle, is_shared=True, new_words=records)
    members = ["-P", str(ROOT / "benchmarks/members.py"), "--json", "--trials"]
    found["members"] = Measure([*members, str(options.trials)], _of_members, is_shared=True)
    path = ["-P", str(ROOT / "benchmarks/path.py"), "--json"]
    found["path"] = Measure(path, _of_path, is_shared=True)
    return found


def _of_leadership(found: dict[str, Any]) -> Samples:
    if troubles := [each for row in found["failover"] for each in row["troubles"]]:
        print(f"turns: {'; '.join(troubles)}", file=sys.stderr)
    return {
        f"ms {row['fault']}, {row['contender'].partition(', ')[2].partition(' (')[0]}": row["ms"]
        for row in found["failover"]
    }


def _of_faults(found: dict[str, Any]) -> Samples:
    if found["violations"]:
        print(f"turns: VIOLATED: {found['violations'][:3]}", file=sys.stderr)
    samples = {"faults: violations": [float(len(found["violations"]))]}
    for kind, times in found["next_leader_ms"].items():
        if times:
            samples |= {f"ms faults, {kind}, {part}": [times[part]] for part in ("median", "p95")}
    return samples


def _of_transactions(found: dict[str, Any]) -> Samples:
    rows = found["kinds"]["sqlite"]["rows"]
    samples = {f"tx/s of {row['clients']} clients": [row["rate"]] for row in rows}
    floors = {f"tx/s by those of the floor, {row['clients']}": [row["ratio"]] for row in rows}
    return samples | floors


def _of_idle(found: dict[str, Any]) -> Samples:
    samples = {}
    for row in found["rows"]:
        where = f"{row['elections']} elections"
        samples[f"ms of CPU until led, {where}"] = [row["cpu_ms_until_led"]]
        samples[f"CPU % idle, {where}"] = [row["cpu_percent"]]
        samples[f"wake-ups/s idle, {where}"] = [row["wakeups_per_s"]]
    return samples


def _of_members(found: dict[str, Any]) -> Samples:
    return {f"ms to {what} a member": times for what, times in found["ms"].items()}


def _of_path(found: dict[str, Any]) -> Samples:
    return {what: [number] for what, number in found.items() if what != "renewals"}


# --- running them ---


def run(folder: Path, measure: Measure, side: Side = "old") -> Samples | None:
    """One turn of one side; None if it came to nothing."""
    python = folder / ".venv/bin/python"
    words = [str(python if python.exists() else sys.executable), *measure.words]
    words += measure.new_words if side == "new" else ()
    paths = [folder / "src"] if measure.is_shared else [folder / "src", folder]
    process = subprocess.Popen(
        words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for this one, which passes it on, once.
    )
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        raise
    try:
        return measure.samples(json.loads(out))
    except (ValueError, KeyError):
        last = (err.strip().splitlines() or ["nothing"])[-1]
        print(f"turns: {folder}: {' '.join(measure.words)}: {last}", file=sys.stderr)
        return None


Turns = dict[str, dict[Side, list[list[float]]]]
"""By what was measured and by side: a list of samples for every turn."""


def take_turns(
    folders: dict[Side, Path], chosen: dict[str, Measure], count: int, turns: Turns
) -> None:
    """Measure everything in turn; what there is so far is in `turns` at any time."""
    for turn in range(count):
        for name, measure in chosen.items():
            sides: list[Side] = ["old", "new"] if turn % 2 == 0 else ["new", "old"]
            for side in sides:
                begun = time.monotonic()
                for what, samples in (run(folders[side], measure, side) or {}).items():
                    turns.setdefault(what, {"old": [], "new": []})[side].append(samples)
                took = time.monotonic() - begun
                told = f"turn {turn + 1} of {count}, {name}, {side}: {took:.0f} s"
                print(f"{told}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)


# --- what it means ---


def rows_of(turns: Turns) -> list[Row]:
    """What both sides have measured, side by side."""
    found = []
    for what, sides in turns.items():
        old = [turn for turn in sides["old"] if turn]
        new = [turn for turn in sides["new"] if turn]
        if old and new:
            found.append(_row(what, old, new))
    return found


def _row(what: str, old: list[list[float]], new: list[list[float]]) -> Row:
    pooled = [sorted(chain.from_iterable(turns)) for turns in (old, new)]
    middles = [[median(turn) for turn in turns] for turns in (old, new)]
    pairs = [_ratio(b, a) for a, b in zip(*middles, strict=False)]
    spreads = [_ratio(max(e) - min(e), median(e)) for e in middles if max(e) > min(e)]
    medians = [median(each) for each in pooled]
    return Row(
        what,
        medians[0],
        _p90(pooled[0]),
        medians[1],
        _p90(pooled[1]),
        _ratio(medians[1], medians[0]),
        (min(pairs), max(pairs)),
        max(spreads, default=0.0),
        (len(pooled[0]), len(pooled[1])),
        len(pairs),
    )


def _ratio(one: float, other: float) -> float:
    if other:
        return one / other
    return 1.0 if not one else math.inf


def _p90(found: list[float]) -> float:
    return found[math.ceil(0.9 * len(found)) - 1]


def as_markdown(rows: list[Row]) -> str:
    """A table that is fit for a page and for a terminal."""
    heads = ("", "old", "p90", "new", "p90", "new/old", "by turn", "noise", "samples", "")
    table: list[tuple[str, ...]] = [heads]
    for row in rows:
        numbers = (row.old, row.old_p90, row.new, row.new_p90)
        table.append(
            (
                row.what,
                *(f"{number:,.4g}" for number in numbers),
                f"{row.ratio:.2f}",
                f"{row.ratios[0]:.2f}–{row.ratios[1]:.2f}",
                f"± {100 * row.noise:.0f} %",
                "/".join(map(str, dict.fromkeys(row.samples))),
                row.verdict,
            )
        )
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rule = tuple(
        "-" * width if n == 0 else "-" * (width - 1) + ":" for n, width in enumerate(widths)
    )
    return "\n".join(
        "| " + " | ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) + " |"
        for line in (table[0], rule, *table[1:])
    )


def main() -> int:
    """Measure and print."""
    options, chosen = _options()
    turns: Turns = {}
    code = EXIT_DONE
    load = os.getloadavg()[0]
    try:
        with any_end_is_ctrl_c():
            take_turns({"old": options.old, "new": options.new}, chosen, options.turns, turns)
    except KeyboardInterrupt:
        print("turns: interrupted", file=sys.stderr)
        code = EXIT_UNKNOWN
    except subprocess.TimeoutExpired as error:
        print(f"turns: {error}", file=sys.stderr)
        code = EXIT_UNKNOWN
    rows = rows_of(turns)
    if options.json:
        told = [{**row._asdict(), "verdict": row.verdict} for row in rows]
        print(json.dumps({"load": load, "turns": options.turns, "rows": told, "samples": turns}))
    else:
        print(f"{options.turns} turns each; load {load:.1f} at the beginning\n")
        print(as_markdown(rows))
    return code


def _options() -> tuple[argparse.Namespace, dict[str, Measure]]:
    head, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.turns",
        description=head,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", type=_folder, help="a folder with a version and its .venv")
    parser.add_argument("new", type=_folder, help="another one")
    parser.add_argument("--turns", type=int, default=5, help="of each side; default 5")
    parser.add_argument("--trials", type=int, default=4, help="per turn and fault; default 4")
    parser.add_argument("--seconds", type=float, default=5.0, help="per run and idling; default 5")
    elections = "how many idle nodes have; default 0,1,100"
    parser.add_argument("--elections", default="0,1,100", metavar="E,E", help=elections)
    parser.add_argument("--faults", type=int, default=40, help="per turn; default 40")
    parser.add_argument("--seed", type=int, default=1, help="of the faults")
    parser.add_argument(
        "--recorded", action="store_true", help="the idle nodes of the new side record everything"
    )
    parser.add_argument("--only", default="", metavar="NAME,NAME", help="default all of it")
    parser.add_argument("--json", action="store_true", help="with every single sample")
    options = parser.parse_args()
    every = measures(options)
    names = options.only.split(",") if options.only else list(every)
    if wrong := [name for name in names if name not in every]:
        parser.error(f"no {', '.join(wrong)}: there are {', '.join(every)}")
    return options, {name: every[name] for name in names}


def _folder(text: str) -> Path:
    folder = Path(text).resolve()
    if not (folder / "src/electorate").is_dir():
        raise argparse.ArgumentTypeError(f"{text} has no src/electorate")
    return folder


if __name__ == "__main__":
    raise SystemExit(main())
