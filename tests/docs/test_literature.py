"""docs/literature.md: the table says what the runs below it are, and shows each as a picture."""

import re

from tests.script import ROOT

PAGE = (ROOT / "docs" / "literature.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\| \[(\d+)\]\(#\S+\) \|.*\| (\d+) \|$", PAGE, re.MULTILINE)
SECTIONS = re.split(r"^## (\d+)\. ", PAGE, flags=re.MULTILINE)[1:]


def test_the_table_has_the_length_of_every_run() -> None:
    """The blocks are run by test_console.py, so what they print is what happens."""
    printed = [
        (number, moves)
        for number, text in zip(SECTIONS[::2], SECTIONS[1::2], strict=True)
        for moves in re.findall(r"by a run of (\d+) moves?\b", text)
    ]
    assert printed == LISTED
    assert len(LISTED) >= 14


def test_every_bug_has_a_source_a_picture_and_a_repair() -> None:
    for number, text in zip(SECTIONS[::2], SECTIONS[1::2], strict=True):
        for part in ("**Says.**", "**Is.**", "](pictures/", "**Repair.**"):
            assert part in text, f"{number} has no {part}"
