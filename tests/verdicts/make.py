"""Ask everything again, write the table and the pages, and show what has changed.

python -m tests.verdicts.make                  everything: some minutes
python -m tests.verdicts.make --only bully     the rows with this word in them
python -m tests.verdicts.make --missing        the rows that the table does not have yet
python -m tests.verdicts.make --pages          ask nothing, only write the pages

Ctrl-C keeps what was found, and the next call goes on from there unless the code has changed.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from difflib import unified_diff
from hashlib import sha256
from itertools import starmap
from multiprocessing import Pool
from pathlib import Path

from electorate.cli.dossier import RowAnswer, answer
from tests.verdicts import page, table
from tests.verdicts.plan import ROOT, rows

Question = tuple[str, tuple[str, ...]]


def main() -> int:
    """Ask, write, and show the difference."""
    options = _options()
    os.chdir(ROOT)
    before, asked = table.read(), rows()
    found = {row: before[row] for row in asked if row in before}
    if not options.pages:
        wanted = {row: claims for row, claims in asked.items() if options.only in row}
        if options.missing:
            wanted = {row: claims for row, claims in wanted.items() if row not in before}
        try:
            found |= _answers(wanted, options.jobs)
        except KeyboardInterrupt:
            print("\nStopped. The same command goes on from here.", file=sys.stderr)
            return 130
        table.FILE.write_text(table.text(found), encoding="utf-8")
        _show(before, found)
    missing = [row for row in asked if row not in found]
    if missing:
        print(f"{len(missing)} rows have no answer yet: --missing asks about them")
        return 1
    for file, text in page.pages(found).items():
        if file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            print(f"{file.relative_to(ROOT)} is written anew")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.verdicts.make",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="K")
    return parser.parse_args()


def _answers(wanted: dict[str, tuple[str, ...]], jobs: int) -> table.Table:
    """The answers to all of these, some of them perhaps from a call that was stopped."""
    kept = _kept()
    known = table.parse(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    found = {row: known[row] for row in wanted if row in known}
    if found:
        print(f"{len(found)} of {len(wanted)} were found before a stop", file=sys.stderr)
    left = [(row, claims) for row, claims in wanted.items() if row not in found]
    with kept.open("a", encoding="utf-8") as file:
        for row, answered in _asked(left, jobs):
            found[row] = answered
            file.write(table.line(row, answered))
            file.flush()
    kept.unlink()
    return found


def _kept() -> Path:
    """The file that keeps what was found until all is; of this code and no other."""
    code = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests/check").glob("*.py")]
    digest = sha256(b"".join(file.read_bytes() for file in sorted(code))).hexdigest()[:16]
    folder = ROOT / ".verdicts_cache"
    folder.mkdir(exist_ok=True)
    return folder / f"{digest}.txt"


def _asked(questions: list[Question], jobs: int) -> Iterator[tuple[str, RowAnswer]]:
    """Every row with its answer, as they come; one processor for each."""
    began = time.monotonic()
    is_watched = sys.stderr.isatty()
    with Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        for number, (row, answered) in enumerate(pool.imap_unordered(_ask, questions), start=1):
            seconds = time.monotonic() - began
            line = f"{number}/{len(questions)}, {seconds:.0f} s: {row}"
            print(
                f"\r\033[K{line}" if is_watched else line,
                end="" if is_watched else "\n",
                file=sys.stderr,
                flush=True,
            )
            yield row, answered
    if is_watched:
        print(file=sys.stderr)


def _ask(question: Question) -> tuple[str, RowAnswer]:
    row, claims = question
    return row, answer(row, claims, table.STATES_MAX)


def _show(before: table.Table, found: table.Table) -> None:
    old, new = ([*starmap(table.line, sorted(each.items()))] for each in (before, found))
    changes = list(unified_diff(old, new, "reviewed", "now", n=0))
    print("".join(changes) if changes else "the table is as it was")


if __name__ == "__main__":
    raise SystemExit(main())
