"""Ask everything again, write the table and the pages, and show what has changed.

python -m tests.verdicts.make                  everything: some twenty minutes on two processors
python -m tests.verdicts.make --only bully     what has this word in its command
python -m tests.verdicts.make --missing        what the table does not have yet
python -m tests.verdicts.make --pages          ask nothing, only write the pages
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from difflib import unified_diff

from tests.verdicts import page, table
from tests.verdicts.ask import Answer, answer
from tests.verdicts.plan import commands


def main() -> int:
    """Ask, write, and show the difference."""
    options = _options()
    os.chdir(page.ROOT)
    before = table.read()
    asked = commands()
    found = {line: before[line] for line in asked if line in before}
    if not options.pages:
        wanted = [line for line in asked if options.only in line]
        if options.missing:
            wanted = [line for line in wanted if line not in before]
        for line, answered in _answers(wanted, options.jobs):
            found[line] = answered
            table.FILE.write_text(table.text(found), encoding="utf-8")
    _show(before, found)
    missing = [line for line in asked if line not in found]
    if missing:
        print(f"{len(missing)} commands have no answer yet: --missing")
        return 1
    for file, text in page.pages(found).items():
        if file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            print(f"{file.relative_to(page.ROOT)} is written anew")
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


def _answers(wanted: list[str], jobs: int) -> Iterator[tuple[str, Answer]]:
    """Every command with its answer, as they come; one processor for each."""
    began = time.perf_counter()
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(_timed, line): line for line in wanted}
        for number, future in enumerate(as_completed(futures), start=1):
            found, seconds = future.result()
            line = futures[future]
            print(f"{number}/{len(wanted)} {seconds:6.1f} s  {line} => {found}", file=sys.stderr)
            yield line, found
    print(f"{time.perf_counter() - began:.0f} s in all", file=sys.stderr)


def _timed(line: str) -> tuple[Answer, float]:
    began = time.perf_counter()
    return answer(line, threads=1), time.perf_counter() - began


def _show(before: table.Table, found: table.Table) -> None:
    old, new = (table.text(each).splitlines() for each in (before, found))
    changes = list(unified_diff(old, new, "reviewed", "now", lineterm="", n=0))
    print("\n".join(changes) if changes else "the table is as it was")


if __name__ == "__main__":
    raise SystemExit(main())
