"""Commands that are run to see whether they still print what is written about them."""

import contextlib
import importlib
import io
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from electorate.cli.error import EXIT_USAGE

DRAWS = ("check", "simulate", "replay", "costs")
"""The commands that take `--svg FILE`."""
COLUMNS = "100"
"""How wide tables are, whatever terminal this is: as wide as our pages."""


class Expected(Protocol):
    """What a command should print, and how it should end."""

    @property
    def shows(self) -> Sequence[str]:
        """Parts of what is printed, in order; line breaks do not matter."""

    @property
    def code(self) -> int:
        """The exit code."""


class Rehearsed(NamedTuple):
    """A command that was run, and compared."""

    item: str
    command: str
    code: int
    text: str
    seconds: float
    problem: str
    """What was not as expected; empty if nothing."""
    missing: str = ""
    """The file of the repository that was missing, so that it was not run at all."""

    @property
    def is_good(self) -> bool:
        """Whether everything was as expected."""
        return not self.problem

    def told(self) -> str:
        """The result, in a line."""
        if self.missing:
            return (
                f"(not run: {self.missing} is in the repository of electorate, not in the package)"
            )
        return f"({self.problem or 'as written down'}, {self.seconds:.1f} s)"

    def as_object(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "item": self.item,
            "command": self.command,
            "code": self.code,
            "output": self.text,
            "seconds": round(self.seconds, 2),
            "good": self.is_good,
            "problem": self.problem or None,
            "missing": self.missing or None,
        }


def rehearsed(
    item: str,
    command: str,
    expected: Expected,
    *,
    unlike: Expected | None = None,
    picture: Path | None = None,
) -> Rehearsed:
    """Run a command and compare; `unlike` is what it must differ from."""
    words = shlex.split(command)
    shown = command if words[0] == "python" else f"electorate {command}"
    if missing := _missing(words):
        return Rehearsed(item, shown, 0, "", 0.0, "", missing)
    if picture and words[0] in DRAWS:
        words += ["--svg", str(picture)]
    began = time.perf_counter()
    code, text = _run(words)
    seconds = time.perf_counter() - began
    problem = _problem(code, text, expected)
    if unlike and not problem and not _problem(code, text, unlike):
        problem = "the change of the rule does not change the answer"
    return Rehearsed(item, shown, code, text, seconds, problem)


def _missing(words: list[str]) -> str:
    """The file of the repository that a command needs and that is missing; usually none."""
    if words[0] == "python":
        place = words[2].replace(".", "/") if words[1] == "-m" else words[1]
    else:
        place = next((word for word in words if word.startswith("examples/")), "").partition(":")[0]
    return place if place and not Path(place).exists() else ""


def _run(words: list[str]) -> tuple[int, str]:
    """Run one of our own commands here, or a Python file of the repository in its own process."""
    if words[0] == "python":
        ran = subprocess.run(
            [sys.executable, *words[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout
    return run_here(words)


def run_here(words: Sequence[str]) -> tuple[int, str]:
    """Run one of our own commands in this process: its exit code, and all that it prints."""
    main = importlib.import_module("electorate.cli.main")  # It knows this command, too.
    printed = io.StringIO()
    caught = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
    with _columns(), caught[0], caught[1]:
        try:
            code = main.main(words)
        except SystemExit as stop:  # The words could not be understood.
            code = stop.code if isinstance(stop.code, int) else EXIT_USAGE
    if printed.getvalue().endswith(f"{main.INTERRUPTED}\n"):
        raise KeyboardInterrupt  # It was meant for all of us.
    return code, printed.getvalue()


@contextlib.contextmanager
def _columns() -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


def _problem(code: int, text: str, expected: Expected) -> str:
    """What is not as expected, if anything."""
    if code != expected.code:
        return f"exit code {code}, not {expected.code}"
    flat, at = " ".join(text.split()), 0
    for shown in expected.shows:
        part = " ".join(shown.split())
        at = flat.find(part, at)
        if at < 0:
            return f"it does not print {part!r}" + (" there" if part in flat else "")
        at += len(part)
    return ""
