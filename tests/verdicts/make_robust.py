"""What the promises hang on: every protocol again with each default moved by one.

python -m tests.verdicts.make_robust                everything: most of an hour
python -m tests.verdicts.make_robust --only bully   the rows with this word in them
python -m tests.verdicts.make_robust --states M     so many states for each check
python -m tests.verdicts.make_robust --pages        ask nothing, only write the page

Ctrl-C keeps what was found, and the next call goes on from there unless the code has changed.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from multiprocessing import Pool
from pathlib import Path

from tests.verdicts import page
from tests.verdicts.plan import FOLDER, ROOT
from tests.verdicts.robust import (
    FILE,
    STATES,
    Answer,
    Answers,
    answer,
    line,
    parse,
    read,
    rows,
    states_of,
    text,
)

Question = tuple[str, tuple[str, ...]]


def main() -> int:
    """Ask, and write."""
    options = _options()
    os.chdir(ROOT)
    asked = rows()
    before = {row: found for row, found in read().items() if row in asked}
    states, found = options.states, before
    if options.only and before and states != states_of(FILE.read_text(encoding="utf-8")):
        print(f"{FILE.name} was made with other --states: ask about all rows", file=sys.stderr)
        return 2
    if options.pages:
        states = states_of(FILE.read_text(encoding="utf-8"))
    else:
        wanted = {row: claims for row, claims in asked.items() if options.only in row}
        try:
            found = before | _answers(wanted, states, options.jobs)
        except KeyboardInterrupt:
            print("\nStopped. The same command goes on from here.", file=sys.stderr)
            return 130
        FILE.write_text(text(found, states), encoding="utf-8")
    missing = [row for row in asked if row not in found]
    if missing:
        print(f"{len(missing)} rows have no answer yet")
        return 1
    page.OVERVIEW.write_text(page.robust(found, states), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    own = argparse.ArgumentParser(
        prog="python -m tests.verdicts.make_robust",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.add_argument("--only", default="", metavar="WORD")
    own.add_argument("--states", type=int, default=STATES, metavar="M")
    own.add_argument("--pages", action="store_true")
    own.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="K")
    return own.parse_args()


def _answers(wanted: dict[str, tuple[str, ...]], states: int, jobs: int) -> Answers:
    """The answers to all of these, some of them perhaps from a call that was stopped."""
    kept = _kept(states)
    known = parse(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    found = {row: known[row] for row in wanted if row in known}
    left = [(row, claims) for row, claims in wanted.items() if row not in found]
    with kept.open("a", encoding="utf-8") as file:
        for row, answered in _asked(left, states, jobs):
            found[row] = answered
            file.write(line(row, answered))
            file.flush()
    kept.unlink()
    return found


def _kept(states: int) -> Path:
    """The file that keeps what was found; of this code and no other."""
    folders = ("check", "claims", "core", "protocols", "trace")
    code = [file for name in folders for file in (ROOT / "src/electorate" / name).rglob("*.py")]
    code.append(FOLDER / "robust.py")
    digest = sha256(b"".join(file.read_bytes() for file in sorted(code))).hexdigest()[:16]
    folder = ROOT / ".verdicts_cache"
    folder.mkdir(exist_ok=True)
    return folder / f"robust-{states}-{digest}.txt"


def _asked(questions: list[Question], states: int, jobs: int) -> Iterator[tuple[str, Answer]]:
    """Every row with its answer, as they come; one processor for each."""
    began = time.monotonic()
    with Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        answers = pool.imap_unordered(partial(_ask, states=states), questions)
        for number, (row, found) in enumerate(answers, start=1):
            seconds = time.monotonic() - began
            print(f"{number}/{len(questions)}, {seconds:.0f} s: {row}", file=sys.stderr, flush=True)
            yield row, found


def _ask(question: Question, states: int) -> tuple[str, Answer]:
    return question[0], answer(question, states)


if __name__ == "__main__":
    raise SystemExit(main())
