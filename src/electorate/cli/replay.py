"""`electorate replay`: run scripts or a recorded run again, compare, and tell what happens."""

import argparse
import math
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from electorate.claims import Kind
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, UsageError
from electorate.cli.narration import Narration, narrated, narrated_part
from electorate.cli.picture import add_svg_argument, draw, write
from electorate.cli.protocol import find
from electorate.cli.records import Merged, Records, is_record
from electorate.cli.retell import kind_and_form
from electorate.core import Machine, NodeId, Standing, Timing
from electorate.lectures import LectureError, item_of, run_of
from electorate.runs import run_file, run_names
from electorate.simulate.law import IllegalStep
from electorate.simulate.recorded import RecordVerdict, by_the_clock, judged
from electorate.simulate.replay import Difference, Replay, ReplayViolation, replay
from electorate.simulate.script import ScriptError, with_rules
from electorate.trace import Trace, script_of
from electorate.trace.merge import window
from electorate.trace.word import counted, listed, with_names

NAME = "replay"
SUMMARY = "Run scripts or a recorded run again, compare, and tell what happens."
EXAMPLES = """examples:
  electorate replay bully/weakest_starts     a run that comes with electorate
  electorate replay souto/stoller            a run of `electorate lecture`
  electorate replay --list                   the runs that come with electorate
  electorate replay mine.txt --rewrite       write what happens now into the script
  electorate replay bully/probe_meets_halt --rule while_halting=silent
                                             the same commands under another rule
  electorate replay one.txt two.txt          a line for each; --tell tells them, too
  electorate replay runs/ --svg run.svg      what `electorate up --record runs/` left behind
  electorate replay runs/ --instance "group cache" --between 2s..5s --tell
                                             one of the elections in a record, for three seconds

docs/scripts.md has the commands of a script.

exit code: 0 it came out the same, 1 it came out differently, 2 bad usage or input"""
WIDTH = 96
CHANGED = "members, priorities or rules were not the same everywhere and all the time"
STEPS_MAX = 20_000
"""A longer record is told and drawn as it is, and not played by the simulator."""


class ReplayedRun(NamedTuple):
    """One run, replayed."""

    name: str
    file: Path
    replayed: Replay | None
    """None for a record that the simulator cannot play: it is told and drawn as it is."""
    trace: Trace
    """With the times of a record, which a script does not have."""
    told: Narration
    machine: Machine[Any]
    start: dict[NodeId, Standing] | None = None
    """The standings of the nodes where a part of a run begins."""
    names: Mapping[NodeId, str] = {}
    """What people call the nodes."""
    instance: str = ""
    """The instance of a record; empty for a script."""
    judged: RecordVerdict | None = None
    """For a record, what its times say of its terms; all, if the simulator cannot play it."""

    @property
    def verdict(self) -> Replay | RecordVerdict | None:
        """What claims say of it; None if nothing."""
        return self.judged or self.replayed

    @property
    def difference(self) -> Difference | None:
        """How it differs from what is written."""
        return None if self.replayed is None else self.replayed.difference


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `replay`."""
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="a script, a run as JSON lines, what the nodes of a run recorded (files or folder), "
        "or a run that comes with electorate, by its name",
    )
    parser.add_argument("--list", action="store_true", help="list the runs of electorate")
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="run the commands of a script under another rule",
    )
    parser.add_argument(
        "--tell",
        action=argparse.BooleanOptionalAction,
        help="tell what happens in sentences (usual for a single script)",
    )
    parser.add_argument(
        "--rewrite", action="store_true", help="write what happens now into the file"
    )
    parser.add_argument("--script", type=Path, metavar="FILE", help="write the run as a script")
    parser.add_argument(
        "--instance", metavar="NAME", help="of a record: which of its instances to tell and draw"
    )
    parser.add_argument(
        "--between",
        metavar="A..B",
        help="of a record: tell and draw only this part, as in 2s..5s, 800ms.. or ..20T",
    )
    add_svg_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Replay scripts, or what the nodes of one run recorded."""
    if options.list:
        return _list(options)
    if not options.runs:
        raise UsageError("replay what? Name a script, or see electorate replay --list")
    files = [found(name) for name in options.runs]
    recorded = is_record(files[0])
    _refuse(options, recorded)
    if recorded:
        return _run_records(options, files)
    named = zip(options.runs, files, strict=True)
    try:
        every = [_of_script(name, file, options.rule) for name, file in named]
    except ScriptError as error:
        if not (options.rule and isinstance(error.__cause__, IllegalStep)):
            raise UsageError(str(error)) from None
        told = f"this came out differently, and the script cannot go on: {error.problem}"
        print(f"{error.name}:{error.line}: {told}", file=sys.stderr)
        return EXIT_BROKEN
    _write(options, every[0])
    tells = options.tell if options.tell is not None else len(every) == 1
    rewrite: bool = options.rewrite
    for played in every:
        if rewrite and played.replayed and played.difference:
            write(played.file, played.replayed.text)
        if not options.json:
            _show(played, rewrite, tells)
    if options.json:
        objects = [_object(played, rewrite) for played in every]
        every_object = objects[0] if len(objects) == 1 else {"runs": objects}
        print(msgspec.json.encode(every_object).decode())
    differs = any(played.difference for played in every)
    return EXIT_BROKEN if differs and not rewrite else EXIT_DONE


def _run_records(options: argparse.Namespace, files: Sequence[Path]) -> int:
    """Re-run every instance, and tell and draw one of them."""
    records = Records(files, options.instance)
    merged = records.merged()
    shows = options.tell or options.script or options.svg or options.between
    if merged is None and shows and not records.differences:
        raise UsageError(f"name one with --instance: there are {records.few()}")
    played = None if merged is None else _of_record(options, records, merged, files[0])
    for note in records.notes:
        print(f"electorate: mind that {note}", file=sys.stderr)
    for difference in records.differences:
        print(f"electorate: this came out differently: {difference}", file=sys.stderr)
    if played is not None:
        _write(options, played)
    if options.json:
        told = None if played is None else _object(played, rewrite=False)
        print(msgspec.json.encode({**records.as_data(), "told": told}).decode())
    else:
        print(records.summary())
        if len(records.courses) > 1 and options.instance is None:
            print("\n".join(records.table()))
        if played is not None:
            _show(played, rewrite=False, tells=bool(options.tell))
    differs = records.differences or (played is not None and played.difference)
    return EXIT_BROKEN if differs else EXIT_DONE


def _of_record(
    options: argparse.Namespace, records: Records, merged: Merged, file: Path
) -> ReplayedRun:
    """One instance of a record, played by the simulator if it can."""
    doubts = list(merged.doubts)
    if options.between:
        doubts.append("--between leaves out how it began")
    if merged.is_one and len(merged.trace.steps) > STEPS_MAX and not options.script:
        doubts.append(f"{len(merged.trace.steps):,} steps are many (--script plays them all)")
    unplayed = "" if merged.is_one else f"{CHANGED} (a script has one machine)"
    if merged.is_one and not doubts:
        try:
            played = _played(options.runs[0], file, script_of(merged.trace))
        except ScriptError as error:
            unplayed = records.named(f"the simulator cannot play this: {error.problem}")
        else:
            assert played.replayed is not None
            timed = by_the_clock(played.replayed, merged.trace, merged.machine)
            played = played._replace(trace=merged.trace, names=records.names, judged=timed)
            return played._replace(instance=merged.instance)
    if options.script:
        reasons = [unplayed, *doubts] if unplayed else doubts
        raise UsageError(f"no script can be made of this: {listed(reasons)}")
    verdict = None
    if doubts:
        records.notes.append(f"no claim is judged: {listed(doubts)}")
    else:
        verdict = judged(merged.trace, merged.machine)
        records.notes.append(f"only claims about terms and groups are judged: {unplayed}")
    timing = merged.trace.setting.timing
    part = window(merged.trace, *_between(options.between or "..", timing))
    if not part.trace.steps:
        raise UsageError(f"nothing happened to {merged.instance} between {options.between}")
    start = {node: merged.machine.view(state) for node, state in part.states.items()}
    told = narrated_part(part.trace, merged.machine, start)
    shown = (part.trace, told, merged.machine, start, records.names, merged.instance)
    return ReplayedRun(options.runs[0], file, None, *shown, verdict)


def _between(text: str, timing: Timing) -> tuple[float, float]:
    """A part of a run in milliseconds since its beginning."""
    found = re.fullmatch(r"(?:(\d+(?:\.\d+)?)(ms|s|T))?\.\.(?:(\d+(?:\.\d+)?)(ms|s|T))?", text)
    if found is None:
        raise UsageError(f"--between is A..B with ms, s or T, as in 2s..5s, not {text}")
    units = {"ms": 1.0, "s": 1000.0, "T": float(timing.T)}
    begin = float(found[1]) * units[found[2]] if found[1] else 0.0
    end = float(found[3]) * units[found[4]] if found[3] else math.inf
    if end <= begin:
        raise UsageError(f"--between {text} ends before it begins")
    return begin, end


def _write(options: argparse.Namespace, played: ReplayedRun) -> None:
    if options.script and played.replayed is not None:
        write(options.script, played.replayed.text)
    if options.svg:
        _draw(options.svg, played)


def _list(options: argparse.Namespace) -> int:
    """The runs of electorate, or those whose names begin like this."""
    begins = tuple(options.runs) or ("",)
    names = [name for name in run_names() if name.startswith(begins)]
    if not names:
        raise UsageError(f"no run begins with {' or '.join(begins)}; see electorate replay --list")
    print(msgspec.json.encode({"runs": names}).decode() if options.json else "\n".join(names))
    return EXIT_DONE


def _refuse(options: argparse.Namespace, recorded: bool) -> None:
    """Refuse options that do not go together."""
    if recorded and options.rewrite:
        raise UsageError("a record is what happened; it is not rewritten")
    if recorded and options.rule:
        raise UsageError("a record is what happened; --script makes a script of it for --rule")
    if not recorded and (options.instance or options.between):
        raise UsageError("--instance and --between are for records of a real run")
    if options.rule and options.rewrite:
        raise UsageError("--rewrite would keep the script's own rules with another outcome")
    if len(options.runs) > 1 and not recorded and (options.script or options.svg):
        raise UsageError("--script and --svg take one run")


def found(name: str) -> Path:
    """The file that is meant: one of the user's, or a run that comes with electorate."""
    path = Path(name)
    return path if path.exists() else run_file(name) or run_file(run_of(name) or "") or path


def read(name: str, file: Path) -> str:
    """The text of a file; a UsageError says why it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}{_hint(name)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not a text") from None


def _of_script(name: str, file: Path, rules: Sequence[str]) -> ReplayedRun:
    written = read(name, file)
    if rules and written.startswith("{"):
        raise UsageError(f"{name} is a trace; --script makes a script of it for --rule")
    return _played(name, file, with_rules(written, rules) if rules else written)


def _hint(name: str) -> str:
    """Suggestions for a name that leads nowhere."""
    with suppress(LectureError):
        item_of(name)
        return f"; no single run answers it, see electorate lecture {name}"
    close = get_close_matches(name, run_names(), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _played(name: str, file: Path, written: str) -> ReplayedRun:
    """Run a script, and compare with its outcomes."""
    replayed = replay(written, kind_and_form, file.name)
    machine = find(replayed.trace.setting.protocol).machine(replayed.trace.setting)
    told = narrated(replayed.trace, machine)
    return ReplayedRun(name, file, replayed, replayed.trace, told, machine)


def _draw(file: Path, played: ReplayedRun) -> None:
    found = [] if played.verdict is None else breaches(played.verdict)
    marks = [(b.step - 1, f"{n} is violated: {b.witness.text}") for n, b in found]
    title = played.instance or played.file.stem.replace("_", " ")
    shown = played.trace, played.machine, title, marks, played.start, played.names
    draw(file, *shown, recorded=bool(played.instance))


def breaches(verdict: Replay | RecordVerdict) -> list[tuple[str, ReplayViolation]]:
    """The claims that broke on the way, in order of their steps; none at the very start."""
    found = [
        (name, breach)
        for name, breach in verdict.breaches.items()
        if breach.step > 0 and breach.kind is Kind.ALWAYS
    ]
    return sorted(found, key=lambda item: item[1].step)


def _object(played: ReplayedRun, rewrite: bool) -> dict[str, object]:
    verdict, difference = played.verdict, played.difference
    found = {} if verdict is None else verdict.breaches
    return {
        "file": played.name,
        "protocol": played.trace.setting.protocol,
        "nodes": len(played.trace.setting.ids),
        "steps": len(played.trace.steps),
        "same": difference is None,
        "rewritten": bool(rewrite and difference),
        "difference": difference and difference._asdict(),
        "messages": dict(played.told.messages.most_common()),
        "story": [with_names(text, played.names) for text, _ in played.told.sentences],
        "claims": {
            name: {"step": breach.step, "witness": with_names(breach.witness.text, played.names)}
            for name, breach in found.items()
        },
        "kept": [] if verdict is None else list(verdict.kept),
    }


def _show(played: ReplayedRun, rewrite: bool, tells: bool) -> None:
    name, steps = played.name, len(played.trace.steps)
    difference = played.difference
    if tells:
        print("\n".join(played.told.called(played.names).lines(WIDTH)))
    size = f"{counted(steps, 'steps')}, {played.told.counted()}"
    if played.replayed is None:
        print(f"{name}: {size}")
    elif difference is None:
        print(f"{name}: {size}; the same as written")
    elif rewrite:
        print(f"{name}: {size}; rewritten from line {difference.line} on")
    else:
        print(f"{name}: {size}")
        print(f"{name}:{difference.line}: this came out differently", file=sys.stderr)
        for sign, text in (("-", difference.expected), ("+", difference.actual)):
            print(f"  {sign} {'(nothing)' if text is None else text}", file=sys.stderr)
    if played.verdict is not None:
        _show_claims(played.verdict, played.names)


def _show_claims(verdict: Replay | RecordVerdict, names: Mapping[NodeId, str]) -> None:
    always = [claim for claim, kind in verdict.kept.items() if kind is not Kind.GOAL]
    goals = [claim for claim, kind in verdict.kept.items() if kind is Kind.GOAL]
    if always:
        print(f"  {listed(always)} hold{'s' if len(always) == 1 else ''} after every step")
    if goals:
        print(f"  {listed(goals)} {'is' if len(goals) == 1 else 'are'} reached at the end")
    for claim, breach in verdict.breaches.items():
        why = with_names(breach.witness.text, names)
        if breach.kind is Kind.GOAL:
            print(f"  {claim} is not reached at the end: {why}")
        else:
            print(f"  {claim} is violated after step {breach.step}: {why}")
