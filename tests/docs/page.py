"""A page of the docs as a list of fences, and what its `console` fences say.

What follows the word `console` says who runs the commands of a block:

    ```console               make test
    ```console slow          make docs-check, for it takes more than two seconds
    ```console not run: why  nobody, and why not

A fence of another kind that has a file's name, as in ```python ten_lines.py, is that file to the
commands of its page.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")
PROMPT = "$ "
NOT_RUN = "not run"


class Fence(NamedTuple):
    """What is between two lines of three backquotes."""

    line: int
    """The number of its first line, the one with the backquotes."""
    indent: str
    info: str
    lines: tuple[str, ...]
    """What is inside, without the indent."""

    @property
    def file(self) -> str | None:
        """The name of the file that it is to the commands of its page."""
        kind, _, name = self.info.partition(" ")
        return name if kind != "console" and re.fullmatch(r"[\w./-]+\.\w+", name) else None


class Command(NamedTuple):
    """What is typed after a prompt, and what the page says that it prints."""

    typed: tuple[str, ...]
    """More than one line where each but the last ends in a backslash."""
    shown: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """As a shell splits them, without the comment."""
        line = " ".join(line.removesuffix("\\") for line in self.typed)
        return shlex.split(line.removeprefix(PROMPT), comments=True)

    def __str__(self) -> str:
        return " ".join(self.words)


class Block(NamedTuple):
    """A `console` fence."""

    page: Path
    number: int
    """Which of the page's fences it is; lines move when blocks before it are written anew."""
    line: int
    mark: str
    """`slow`, `not run: why`, or nothing."""
    commands: tuple[Command, ...]

    @property
    def is_run(self) -> bool:
        return not self.mark.startswith(NOT_RUN)

    @property
    def is_slow(self) -> bool:
        return self.mark == "slow"

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def pages() -> list[Path]:
    """All that is written for people to read, but for the history."""
    named = (ROOT / name for name in ("README.md", "CONTRIBUTING.md"))
    folders = ("benchmarks", "docs", "examples")
    return [*named, *(page for name in folders for page in sorted((ROOT / name).rglob("*.md")))]


def fences(text: str) -> Iterator[Fence]:
    """Every fence of a page."""
    opened: tuple[int, str, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = FENCE.match(line)
        if found and opened is None:
            opened, lines = (number, found["indent"], found["info"].strip()), []
        elif found and opened is not None:
            yield Fence(*opened, tuple(lines))
            opened = None
        elif opened is not None:
            lines.append(line.removeprefix(opened[1]))
    if opened is not None:
        raise ValueError(f"line {opened[0]}: this fence is never closed")


def blocks(page: Path) -> Iterator[Block]:
    """Every `console` fence of a page."""
    for number, fence in enumerate(fences(page.read_text(encoding="utf-8"))):
        kind, _, mark = fence.info.partition(" ")
        if kind == "console":
            yield Block(page, number, fence.line, mark.strip(), tuple(commands(fence.lines)))


def commands(lines: Sequence[str]) -> Iterator[Command]:
    """What is typed in a block, each with what is shown below it."""
    typed: list[str] = []
    shown: list[str] = []
    for line in lines:
        if typed and typed[-1].endswith("\\") and not shown:
            typed.append(line)
        elif line.startswith(PROMPT):
            if typed:
                yield Command(tuple(typed), tuple(shown))
            typed, shown = [line], []
        elif typed:
            shown.append(line)
        else:
            raise ValueError(f"no command prints this: {line}")
    if not typed:
        raise ValueError("a console without a command")
    yield Command(tuple(typed), tuple(shown))


def with_shown(text: str, number: int, shown: Sequence[Sequence[str]]) -> str:
    """A page whose fence of that number shows this below its commands, one after the other."""
    fence = list(fences(text))[number]
    inside = [
        fence.indent + line if line else ""
        for command, printed in zip(commands(fence.lines), shown, strict=True)
        for line in (*command.typed, *printed)
    ]
    lines = text.splitlines()
    lines[fence.line : fence.line + len(fence.lines)] = inside
    return "\n".join(lines) + "\n"
