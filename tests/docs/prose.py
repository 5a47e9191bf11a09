"""Commands that stand in the text of a page, or in a column of a table, and are not run.

They are `electorate …`, or what follows that word if it is the name of a command; in a column that
is headed `electorate check …` only what follows these two.
"""

import re
import shlex
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from electorate.claims import CLAIMS
from electorate.cli.error import UsageError
from electorate.cli.main import COMMANDS, parser
from electorate.cli.model import model_of
from electorate.cli.protocol import find
from tests.docs.likeness import ELISION
from tests.docs.page import ROOT, blocks, fences

SPAN = re.compile(r"(?<!`)`(?!`)((?:(?!\n\n).)+?)(?<!`)`(?!`)", re.DOTALL)
"""Code within a paragraph, which may hold fences."""
HEAD = "`electorate check …`"
PLACEHOLDER = re.compile(r"[A-Z]+|path/to/.*")
"""As in `electorate check P --claim NAME`."""
BARE = ("check", "simulate", "costs")
"""Commands that pages name without `electorate` before them."""


class Said(NamedTuple):
    """A command that a page names."""

    page: Path
    line: int
    words: tuple[str, ...]
    """What follows `electorate`."""

    def __str__(self) -> str:
        place = f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"
        return f"{place}: electorate {' '.join(self.words)}"


def said(page: Path) -> Iterator[Said]:
    """Every command that a page names, and those of its blocks that are not run."""
    text = without_fences(page.read_text(encoding="utf-8"))
    for found in SPAN.finditer(text):
        first, *words = found[1].split()
        if first in BARE:
            words = [first, *words]
        elif first != "electorate":
            continue
        if len(words) > 1 and words[0] in COMMANDS and is_whole(words):
            yield Said(page, text.count("\n", 0, found.start()) + 1, spoken(words))
    for line, cell in cells_below(text, HEAD):
        yield Said(page, line, ("check", *spoken(cell.strip("`").split())))
    for block in blocks(page):
        for command in block.commands:
            if not block.is_run and command.words[0] == "electorate":
                yield Said(page, block.line, tuple(command.words[1:]))


def is_whole(words: list[str]) -> bool:
    """Whether these are all words of a command."""
    return ELISION not in words and "OPTIONS" not in words


def spoken(words: list[str]) -> tuple[str, ...]:
    """As a shell splits them."""
    return tuple(shlex.split(" ".join(words)))


def without_fences(text: str) -> str:
    """A page in which all fences are empty lines, so that line numbers stay."""
    lines = text.splitlines()
    for fence in fences(text):
        size = len(fence.lines) + 2
        lines[fence.line - 1 : fence.line - 1 + size] = [""] * size
    return "\n".join(lines)


def cells_below(text: str, head: str) -> Iterator[tuple[int, str]]:
    """The cells of every column with this head, each with its line."""
    column: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("|"):
            column = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if head in cells:
            column = cells.index(head)
        elif column is not None and set(cells[column]) > {"`"}:
            yield number, cells[column]


def complaint(command: Said) -> str | None:
    """What the command line would say against a command; with placeholders, less is looked at."""
    try:
        options = parser().parse_args(command.words)
    except SystemExit as ended:
        return f"exit code {ended.code}" if ended.code else None
    if any(PLACEHOLDER.fullmatch(word) for word in command.words):
        return None
    try:
        if command.words[0] == "check":
            protocol = find(options.protocol, options.form)
            protocol.machine(model_of(options, protocol).setting)
        unknown = {*(getattr(options, "claim", None) or ())} - {*CLAIMS}
    except UsageError as error:
        return str(error)
    return f"no claim {unknown}" if unknown else None


def options_known() -> set[str]:
    """Every option of any command."""
    (commands,) = [
        action.choices.values()
        for action in parser()._actions
        if isinstance(action, _SubParsersAction)
    ]
    return {option for command in commands for option in _options(command)}


def _options(command: ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        yield from action.option_strings
        if isinstance(action, _SubParsersAction):
            for deeper in action.choices.values():
                yield from _options(deeper)


def options_named(page: Path) -> Iterator[tuple[int, str]]:
    """Every option that a page names by itself, each with its line."""
    text = without_fences(page.read_text(encoding="utf-8"))
    for found in SPAN.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found[1].startswith("--"):
            for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", found[1]):
                yield line, option
