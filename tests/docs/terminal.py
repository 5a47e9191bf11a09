"""Typing the commands of a page, as its reader does, in a folder that looks like the repository."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

from electorate.cli.rehearsal import COLUMNS, run_here
from tests.docs.page import ROOT, fences

SECONDS_MAX = 280

SAID_BY = {
    1: r"violated|broken|stuck|preventable|differently|[Ff]ailed|ANOMALY|[1-9]\d* differ",
    2: r"^electorate\b.*: |^usage: ",
    3: r"unknown|undecided|within bounds|up to ",
}
"""How a block says that a command ends with a code other than 0."""


class Printed(NamedTuple):
    """What came of a command; errors are between the lines where they came."""

    code: int
    lines: tuple[str, ...]


class NotRunnable(Exception):
    """A command that only a person can run."""


def furnish(folder: Path, page: Path) -> None:
    """Put into an empty folder what the commands of a page find in the repository."""
    for name in ("benchmarks", "docs", "examples", "tests"):
        (folder / name).symlink_to(ROOT / name)
    for fence in fences(page.read_text(encoding="utf-8")):
        if fence.file is not None:
            (folder / fence.file).write_text("\n".join((*fence.lines, "")), encoding="utf-8")


def run(words: Sequence[str], folder: Path) -> Printed:
    """Run one command in a folder."""
    match words:
        case ["electorate", *rest]:
            code, text = _electorate(rest, folder)
        case ["python", *rest]:
            code, text = _python(rest, folder)
        case ["pytest", *rest]:
            code, text = _python(["-m", "pytest", "-p", "no:cacheprovider", *rest], folder)
        case _:
            raise NotRunnable(f"no test can run `{' '.join(words)}`: mark its block as not run")
    return Printed(code, tuple(text.rstrip().splitlines()))


def is_said(code: int, shown: Sequence[str]) -> bool:
    """Whether a block says how a command ends."""
    return code == 0 or any(re.search(SAID_BY.get(code, r"(?!)"), line) for line in shown)


def _electorate(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """In this process, which has loaded and compiled already what all commands need."""
    with chdir(folder):
        return run_here(words)


def _python(words: Sequence[str], folder: Path) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | {"COLUMNS": COLUMNS, "PYTHONPATH": f"{ROOT / 'src'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    return ended.returncode, ended.stdout
