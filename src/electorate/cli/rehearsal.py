"""Commands that are run to see whether they still print what is written down about them."""

import contextlib
import importlib
import io
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from electorate.cli.error import UsageError

DRAWS = ("check", "simulate", "replay", "costs")
"""The commands that take `--svg FILE`."""


class Expected(Protocol):
    """What a command is to print, and how it is to end."""

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
    """What came out otherwise than expected; empty if nothing did."""

    @property
    def is_good(self) -> bool:
        """Whether it came out as it should."""
        return not self.problem

    def told(self) -> str:
        """How it compares, in a line."""
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
        }


def rehearsed(
    item: str,
    command: str,
    expected: Expected,
    *,
    unlike: Expected | None = None,
    picture: Path | None = None,
) -> Rehearsed:
    """Run a command and compare; `unlike` says what it must not come to."""
    words = shlex.split(command)
    if picture and words[0] in DRAWS:
        words += ["--svg", str(picture)]
    began = time.perf_counter()
    code, text = _run(words)
    seconds = time.perf_counter() - began
    problem = _problem(code, text, expected)
    if unlike and not problem and not _problem(code, text, unlike):
        problem = "the change of the rule does not change the answer"
    shown = command if words[0] == "python" else f"electorate {command}"
    return Rehearsed(item, shown, code, text, seconds, problem)


def _run(words: list[str]) -> tuple[int, str]:
    """Run one of our own commands here, or a Python file of the repository in its own process."""
    if words[0] == "python":
        place = words[2].replace(".", "/") if words[1] == "-m" else words[1]
        if not Path(place).exists():
            raise UsageError(f"{place} is in the repository of electorate; run this there")
        ran = subprocess.run(
            [sys.executable, *words[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout
    main = importlib.import_module("electorate.cli.main").main  # It knows this command, too.
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            code = main(words)
        except SystemExit as stop:  # The words could not be understood.
            code = stop.code if isinstance(stop.code, int) else 2
    return code, printed.getvalue()


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
