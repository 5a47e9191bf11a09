"""`electorate replay`: run a script or a recorded run again, and compare."""

import argparse
import sys
from difflib import get_close_matches
from pathlib import Path

import msgspec

from electorate.claims import Kind
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, UsageError
from electorate.cli.picture import add_svg_argument, draw, write
from electorate.cli.protocol import find
from electorate.cli.records import is_record, read_records
from electorate.cli.retell import kind_and_form
from electorate.runs import run_file, run_names
from electorate.simulate.replay import Breach, Replay, replay
from electorate.simulate.script import ScriptError
from electorate.trace import script_of

NAME = "replay"
SUMMARY = "Run a script or a recorded run again and compare."
EXAMPLES = """examples:
  electorate replay bully/weakest_starts
  electorate replay run.jsonl
  electorate replay mine.txt --rewrite
  electorate replay runs/ --svg run.svg      what `electorate up --record runs/` left behind

exit code: 0 it came out the same, 1 it came out otherwise, 2 bad usage or input"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is replayed."""
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="a script, a run as JSON lines, what the nodes of a run recorded (files or folder), "
        "or a run that comes with electorate by its name",
    )
    parser.add_argument(
        "--rewrite", action="store_true", help="write what happens now into the file"
    )
    parser.add_argument("--script", type=Path, metavar="FILE", help="write the run as a script")
    add_svg_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Replay a script, or what the nodes of one run recorded."""
    path = found(options.files[0])
    recorded = is_record(path)
    if len(options.files) > 1 and not recorded:
        raise UsageError("one script at a time; only records can be merged")
    if recorded and options.rewrite:
        raise UsageError("a record is what happened; it is not rewritten")
    try:
        if recorded:
            records = read_records(options.files)
            written = script_of(records.trace)
            told = f"{records.events} events in {records.lives} lives, each to the recorded state"
            print(f"re-ran {told}", file=sys.stderr)
        else:
            written = path.read_text(encoding="utf-8")
        replayed = replay(written, kind_and_form, path.name)
        if options.rewrite and replayed.difference:
            path.write_text(replayed.text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}{hint(str(path))}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text") from None
    except ScriptError as error:
        raise UsageError(str(error)) from None
    # A record knows its times; in a script only the order counts.
    trace = records.trace if recorded else replayed.trace
    if options.script:
        write(options.script, replayed.text)
    if options.svg:
        machine = find(trace.setting.protocol).machine(trace.setting)
        marks = [(b.step - 1, f"{n} is violated: {b.witness.text}") for n, b in breaches(replayed)]
        draw(options.svg, trace, machine, path.stem.replace("_", " "), marks)
    if options.json:
        print(msgspec.json.encode(_object(options.files[0], replayed, options.rewrite)).decode())
    else:
        _show(options.files[0], replayed, options.rewrite)
    return EXIT_BROKEN if replayed.difference and not options.rewrite else EXIT_DONE


def found(path: Path) -> Path:
    """The file that is meant: a file of the user's, or a run that comes with electorate."""
    return path if path.exists() else run_file(path.as_posix()) or path


def hint(name: str) -> str:
    """What may have been meant by the name of a run that does not exist."""
    close = get_close_matches(name, run_names(), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def breaches(replayed: Replay) -> list[tuple[str, Breach]]:
    """The claims that broke on the way, in order of their steps; none at the very start."""
    found = [
        (name, breach)
        for name, breach in replayed.breaches.items()
        if breach.step > 0 and breach.kind is Kind.ALWAYS
    ]
    return sorted(found, key=lambda item: item[1].step)


def _object(path: Path, replayed: Replay, rewrite: bool) -> dict[str, object]:
    difference = replayed.difference
    return {
        "file": str(path),
        "protocol": replayed.trace.setting.protocol,
        "nodes": len(replayed.trace.setting.ids),
        "steps": len(replayed.trace.steps),
        "same": difference is None,
        "rewritten": bool(rewrite and difference),
        "difference": difference and difference._asdict(),
        "claims": {
            name: {"step": breach.step, "witness": breach.witness.text}
            for name, breach in replayed.breaches.items()
        },
    }


def _show(path: Path, replayed: Replay, rewrite: bool) -> None:
    steps, difference = len(replayed.trace.steps), replayed.difference
    if difference is None:
        print(f"{path}: {steps} steps, the same as written")
    elif rewrite:
        print(f"{path}: {steps} steps, rewritten from line {difference.line} on")
    else:
        print(f"{path}:{difference.line}: this came out otherwise", file=sys.stderr)
        for sign, text in (("-", difference.expected), ("+", difference.actual)):
            print(f"  {sign} {'(nothing)' if text is None else text}", file=sys.stderr)
    for name, breach in replayed.breaches.items():
        if breach.kind is Kind.GOAL:
            print(f"  {name} is not reached at the end: {breach.witness.text}")
        else:
            print(f"  {name} is violated after step {breach.step}: {breach.witness.text}")
