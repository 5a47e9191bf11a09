"""Every `console` block of the docs, run: what it shows is what is printed.

`make test` leaves out the slow blocks, `make docs-check` runs all, and `make docs-check
DOCS=--rewrite` writes what is printed now into the pages.
"""

from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.docs.likeness import rewritten
from tests.docs.page import NOT_RUN, Block, Command, blocks, fences, pages, with_shown
from tests.docs.terminal import furnish, is_said, run

BLOCKS = [block for page in pages() for block in blocks(page)]
LINES_TOLD = 20
RUN = [
    pytest.param(block, id=str(block), marks=[pytest.mark.slow] if block.is_slow else [])
    for block in BLOCKS
    if block.is_run
]


@pytest.mark.parametrize("block", RUN)
def test_a_block_shows_what_is_printed(block: Block, rewrite: bool, tmp_path: Path) -> None:
    furnish(tmp_path, block.page)
    made: list[list[str]] = []
    wrong: list[str] = []
    for command in block.commands:
        printed = run(command.words, tmp_path)
        shown = rewritten(command.shown, printed.lines)
        if not is_said(printed.code, shown):
            fail(block, command, f"does not say that it ends with {printed.code}", printed.lines)
        made.append(shown)
        wrong += unified_diff(command.shown, shown, f"{command}", "printed", lineterm="")
    if wrong and rewrite:
        text = block.page.read_text(encoding="utf-8")
        block.page.write_text(with_shown(text, block.number, made), encoding="utf-8")
    elif wrong:
        advice = "If that is right: make docs-check DOCS=--rewrite, and read the diff"
        pytest.fail("\n".join([f"{block} is not what is printed. {advice}", *wrong]), pytrace=False)


def fail(block: Block, command: Command, why: str, printed: Sequence[str]) -> None:
    head = f"{block} {why}: {command}"
    pytest.fail("\n".join([head, *printed[:LINES_TOLD]]), pytrace=False)


def test_a_mark_is_one_of_those_that_mean_something() -> None:
    for block in BLOCKS:
        why = block.mark.removeprefix(f"{NOT_RUN}: ")
        assert block.mark in ("", "slow") or (not block.is_run and why != block.mark), block


def test_commands_are_in_console_blocks_where_they_are_run_or_say_why_not() -> None:
    """In another fence nobody would notice that they have changed."""
    hidden = [
        f"{page.name}:{fence.line + place}: {line}"
        for page in pages()
        for fence in fences(page.read_text(encoding="utf-8"))
        for place, line in enumerate(fence.lines, start=1)
        if fence.info.split(" ")[0] != "console"
        and line.strip().startswith(("$ ", "electorate ", "make ", "python -m "))
    ]
    assert not hidden
