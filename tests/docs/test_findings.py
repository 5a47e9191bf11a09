"""The findings that docs/verdicts.md tells people to show: each command shows what is said.

How many moves a run takes is checked with the table of verdicts, from which the page is made.
"""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.docs.page import ROOT
from tests.docs.terminal import furnish, run

PAGE = ROOT / "docs" / "verdicts.md"
SLOW = ("bully-rpc",)
"""Whose run takes some seconds to be found and told."""

FATE = re.compile(r"(?P<claim>[A-Z]\w+) \**(?P<fate>[a-z]+)")


def findings() -> list[tuple[str, str]]:
    """What follows `electorate check`, and what it says of each claim."""
    _, _, text = PAGE.read_text(encoding="utf-8").partition("## Worth showing")
    rows = re.findall(r"^\| .* \| `([^`…]+)` \| (.*) \|$", text, re.MULTILINE)
    return [(command, says) for command, says in rows]


def is_slow(command: str) -> bool:
    return command.split()[0] in SLOW


@pytest.mark.parametrize(
    ("command", "says"),
    [
        pytest.param(*each, id=each[0], marks=[pytest.mark.slow] if is_slow(each[0]) else [])
        for each in findings()
    ],
)
def test_a_finding_is_shown_by_its_command(command: str, says: str, tmp_path: Path) -> None:
    furnish(tmp_path, PAGE)
    words = ["electorate", "check", *shlex.split(command), "--no-needs", "--json"]
    printed = run(words, tmp_path)
    found = json.loads("\n".join(printed.lines))
    assert printed.code == 1
    said = FATE.findall(says)
    assert said
    for claim, fate in said:
        if fate == "holds":
            assert found["claims"][claim] == "holds"
        else:
            assert found["claims"][claim] == "violated"
            assert fate in ("broken", found["liveness"])


def test_there_are_findings() -> None:
    assert len(findings()) > 10
