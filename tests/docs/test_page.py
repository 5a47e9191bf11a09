"""Reading pages, and writing what is shown anew."""

from pathlib import Path

import pytest

from tests.docs.page import Command, blocks, commands, fences, with_shown

PAGE = """\
# A page

```python ten.py
print(10)
```

1. A list:

   ```console slow
   $ python ten.py   # a comment
   10

   10
   $ electorate check bully \\
         --crashes 1
   ```

```console not run: it has a screen
$ make up
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A file with that page."""
    file = tmp_path / "page.md"
    file.write_text(PAGE, encoding="utf-8")
    return file


def test_a_block_has_commands_and_below_each_what_it_prints(page: Path) -> None:
    first, _ = blocks(page)
    assert [command.words for command in first.commands] == [
        ["python", "ten.py"],
        ["electorate", "check", "bully", "--crashes", "1"],
    ]
    assert [command.shown for command in first.commands] == [("10", "", "10"), ()]


def test_a_block_says_who_runs_it(page: Path) -> None:
    slow, unrun = blocks(page)
    assert (slow.is_run, slow.is_slow) == (True, True)
    assert (unrun.is_run, unrun.mark) == (False, "not run: it has a screen")


def test_a_fence_with_the_name_of_a_file_is_that_file() -> None:
    assert [fence.file for fence in fences(PAGE)] == ["ten.py", None, None]


def test_output_without_a_command_is_refused() -> None:
    with pytest.raises(ValueError, match="no command prints this: 10"):
        list(commands(["10"]))


def test_a_fence_that_is_never_closed_is_refused() -> None:
    with pytest.raises(ValueError, match="line 2"):
        list(fences("\n```console\n$ make up\n"))


def test_what_is_shown_is_replaced_where_it_stands_and_nothing_else(page: Path) -> None:
    first, _ = blocks(page)
    made = with_shown(PAGE, first.number, [["11", "", "12"], ["bully: …"]])
    assert made == PAGE.replace("   10\n", "   11\n", 1).replace("   10\n", "   12\n").replace(
        "--crashes 1\n", "--crashes 1\n   bully: …\n"
    )


def test_writing_what_is_there_changes_nothing(page: Path) -> None:
    first, second = blocks(page)
    for block in (first, second):
        assert with_shown(PAGE, block.number, [each.shown for each in block.commands]) == PAGE


def test_a_comment_is_not_a_word() -> None:
    assert Command(("$ make up  # five nodes",), ()).words == ["make", "up"]
