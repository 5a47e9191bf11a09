"""Running what a page says."""

from pathlib import Path

import pytest

from tests.docs.page import ROOT
from tests.docs.terminal import NotRunnable, furnish, is_said, run


def test_a_command_finds_what_it_would_find_in_the_repository(tmp_path: Path) -> None:
    furnish(tmp_path, ROOT / "README.md")
    ran = run(["electorate", "protocols", "examples/chang_roberts.py:ChangRoberts"], tmp_path)
    assert ran.code == 0
    assert "ChangRoberts" in ran.lines[0]


def test_what_a_command_writes_does_not_land_in_the_repository(tmp_path: Path) -> None:
    furnish(tmp_path, ROOT / "README.md")
    script = "bully/strongest_is_challenged"
    run(["electorate", "replay", script, "--svg", "drawn.svg"], tmp_path)
    assert (tmp_path / "drawn.svg").is_file()


def test_errors_are_printed_too(tmp_path: Path) -> None:
    misspelled = run(["electorate", "check", "bully", "--crash", "1"], tmp_path)
    assert misspelled.code == 2
    assert "--crash" in misspelled.lines[0]
    assert run(["python", "-c", "import sys; sys.exit('no')"], tmp_path) == (1, ("no",))


def test_a_file_of_the_page_can_be_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python ten.py\nprint(10)\n```\n", encoding="utf-8")
    furnish(tmp_path, page)
    assert run(["python", "ten.py"], tmp_path) == (0, ("10",))


def test_what_only_a_person_can_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotRunnable, match="git clone"):
        run(["git", "clone", "…"], tmp_path)


def test_a_code_other_than_0_must_be_said() -> None:
    assert is_said(0, [])
    assert is_said(1, ["  A1 violated: any two normal nodes agree on the leader"])
    assert is_said(2, ["electorate: no protocol 'buly': did you mean bully?"])
    assert is_said(2, ["electorate check: unrecognized arguments: --crash; see …"])
    assert is_said(3, ["The verdict is unknown: more than 100 states (--states-max)."])
    for code in (1, 2, 3):
        assert not is_said(code, ["…"])
    assert not is_said(139, ["violated", "unknown"])
