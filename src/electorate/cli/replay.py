"""`electorate replay`: run scripts or a recorded run again, compare, and tell what happens."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import msgspec

from electorate.claims import Kind
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, UsageError
from electorate.cli.narration import Narration, narrated
from electorate.cli.picture import add_svg_argument, draw, write
from electorate.cli.protocol import find
from electorate.cli.records import is_record, read_records
from electorate.cli.retell import kind_and_form
from electorate.lectures import LectureError, item_of, run_of
from electorate.runs import run_file, run_names
from electorate.simulate.law import IllegalStep
from electorate.simulate.replay import Breach, Replay, replay
from electorate.simulate.script import ScriptError, with_rules
from electorate.trace import Trace, script_of
from electorate.trace.word import listed

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

docs/scripts.md has the commands of a script.

exit code: 0 it came out the same, 1 it came out otherwise, 2 bad usage or input"""
WIDTH = 96


class Played(NamedTuple):
    """One run, replayed."""

    name: str
    file: Path
    replayed: Replay
    trace: Trace
    """With the times of a record, which a script does not know."""
    told: Narration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is replayed, and how it is shown."""
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
        every = [_of_records(options.runs[0], files)]
    else:
        named = zip(options.runs, files, strict=True)
        try:
            every = [_of_script(name, file, options.rule) for name, file in named]
        except ScriptError as error:
            if not (options.rule and isinstance(error.__cause__, IllegalStep)):
                raise UsageError(str(error)) from None
            told = f"this came out otherwise, and the script cannot go on: {error.problem}"
            print(f"{error.name}:{error.line}: {told}", file=sys.stderr)
            return EXIT_BROKEN
    if options.script:
        write(options.script, every[0].replayed.text)
    if options.svg:
        _draw(options.svg, every[0])
    tells = options.tell if options.tell is not None else len(every) == 1 and not recorded
    rewrite: bool = options.rewrite
    for played in every:
        if rewrite and played.replayed.difference:
            write(played.file, played.replayed.text)
        if not options.json:
            _show(played, rewrite, tells)
    if options.json:
        objects = [_object(played, rewrite) for played in every]
        every_object = objects[0] if len(objects) == 1 else {"runs": objects}
        print(msgspec.json.encode(every_object).decode())
    differs = any(played.replayed.difference for played in every)
    return EXIT_BROKEN if differs and not rewrite else EXIT_DONE


def _list(options: argparse.Namespace) -> int:
    """The runs of electorate, or those whose names begin so."""
    begins = tuple(options.runs) or ("",)
    names = [name for name in run_names() if name.startswith(begins)]
    if not names:
        raise UsageError(f"no run begins with {' or '.join(begins)}; see electorate replay --list")
    print(msgspec.json.encode({"runs": names}).decode() if options.json else "\n".join(names))
    return EXIT_DONE


def _refuse(options: argparse.Namespace, recorded: bool) -> None:
    """Say what does not go together."""
    if recorded and options.rewrite:
        raise UsageError("a record is what happened; it is not rewritten")
    if recorded and options.rule:
        raise UsageError("a record is what happened; --script makes a script of it for --rule")
    if options.rule and options.rewrite:
        raise UsageError("--rewrite would keep the script's own rules with another outcome")
    if len(options.runs) > 1 and not recorded and (options.script or options.svg):
        raise UsageError("--script and --svg take one run")


def found(name: str) -> Path:
    """The file that is meant: one of the user's, or a run that comes with electorate."""
    path = Path(name)
    return path if path.exists() else run_file(name) or run_file(run_of(name) or "") or path


def _of_records(name: str, files: Sequence[Path]) -> Played:
    records = read_records(files)
    told = f"{records.events} events in {records.lives} lives, each to the recorded state"
    print(f"re-ran {told}", file=sys.stderr)
    written = script_of(records.trace)
    played = _played(name, files[0], written)
    return played._replace(trace=records.trace)


def _of_script(name: str, file: Path, rules: Sequence[str]) -> Played:
    try:
        written = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}{_hint(name)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not a text") from None
    if rules and written.startswith("{"):
        raise UsageError(f"{name} is a trace; --script makes a script of it for --rule")
    return _played(name, file, with_rules(written, rules) if rules else written)


def _hint(name: str) -> str:
    """What may have been meant by a name that leads nowhere."""
    with suppress(LectureError):
        item_of(name)
        return f"; no single run answers it, see electorate lecture {name}"
    close = get_close_matches(name, run_names(), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _played(name: str, file: Path, written: str) -> Played:
    """Run what is written, and compare with its outcomes."""
    replayed = replay(written, kind_and_form, file.name)
    machine = find(replayed.trace.setting.protocol).machine(replayed.trace.setting)
    return Played(name, file, replayed, replayed.trace, narrated(replayed.trace, machine))


def _draw(file: Path, played: Played) -> None:
    machine = find(played.trace.setting.protocol).machine(played.trace.setting)
    marks = [
        (b.step - 1, f"{n} is violated: {b.witness.text}") for n, b in breaches(played.replayed)
    ]
    draw(file, played.trace, machine, played.file.stem.replace("_", " "), marks)


def breaches(replayed: Replay) -> list[tuple[str, Breach]]:
    """The claims that broke on the way, in order of their steps; none at the very start."""
    found = [
        (name, breach)
        for name, breach in replayed.breaches.items()
        if breach.step > 0 and breach.kind is Kind.ALWAYS
    ]
    return sorted(found, key=lambda item: item[1].step)


def _object(played: Played, rewrite: bool) -> dict[str, object]:
    replayed = played.replayed
    difference = replayed.difference
    return {
        "file": played.name,
        "protocol": replayed.trace.setting.protocol,
        "nodes": len(replayed.trace.setting.ids),
        "steps": len(replayed.trace.steps),
        "same": difference is None,
        "rewritten": bool(rewrite and difference),
        "difference": difference and difference._asdict(),
        "messages": dict(played.told.messages.most_common()),
        "story": [text for text, _ in played.told.sentences],
        "claims": {
            name: {"step": breach.step, "witness": breach.witness.text}
            for name, breach in replayed.breaches.items()
        },
        "kept": list(replayed.kept),
    }


def _show(played: Played, rewrite: bool, tells: bool) -> None:
    replayed, name = played.replayed, played.name
    steps, difference = len(replayed.trace.steps), replayed.difference
    if tells:
        print("\n".join(played.told.lines(WIDTH)))
    counted = f"{steps} step{'' if steps == 1 else 's'}, {played.told.counted()}"
    if difference is None:
        print(f"{name}: {counted}; the same as written")
    elif rewrite:
        print(f"{name}: {counted}; rewritten from line {difference.line} on")
    else:
        print(f"{name}: {counted}")
        print(f"{name}:{difference.line}: this came out otherwise", file=sys.stderr)
        for sign, text in (("-", difference.expected), ("+", difference.actual)):
            print(f"  {sign} {'(nothing)' if text is None else text}", file=sys.stderr)
    always = [claim for claim, kind in replayed.kept.items() if kind is not Kind.GOAL]
    goals = [claim for claim, kind in replayed.kept.items() if kind is Kind.GOAL]
    if always:
        print(f"  {listed(always)} hold{'s' if len(always) == 1 else ''} after every step")
    if goals:
        print(f"  {listed(goals)} {'is' if len(goals) == 1 else 'are'} reached at the end")
    for claim, breach in replayed.breaches.items():
        if breach.kind is Kind.GOAL:
            print(f"  {claim} is not reached at the end: {breach.witness.text}")
        else:
            print(f"  {claim} is violated after step {breach.step}: {breach.witness.text}")
