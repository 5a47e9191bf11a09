"""Commands and options that pages name without running them: none is misspelled."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.page import ROOT, blocks, pages
from tests.docs.prose import complaint, options_known, options_named, said

OTHERS = {
    "--anomalies": "examples.bank",
    "--electorate-lines": "the plug-in of pytest",
    "--electorate-seed": "the plug-in of pytest",
    "--electorate-seeds": "the plug-in of pytest",
    "--beside": "benchmarks.faults",
    "--kinds": "benchmarks.faults",
    "--mutant": "benchmarks.faults",
    "--no-transaction": "examples.bank",
    "--postgres": "examples.bank",
    "--promised": "benchmarks.faults",
    "--real": "examples.shared_work",
    "--rewrite": "the tests",
    "--tlc": "benchmarks.checker",
}
"""Options that pages name and no command has, and whose they are."""

PAGE = """\
`check bully --crashes 1` holds, `electorate simulate bully
--crash 1` does not exist, and `electorate check …` is a heading. `--crashes 1 --losses-max 2`

| `electorate check …` | A1 |
|---|---|
| `bully --claim A9` | `holds` |
| `bully --rule guard=never` | |

| other | `electorate check …` |
|---|---|
| | `buly --claim NAME` |

```console not run: it has a screen
$ electorate up --node 5
```

```console
$ electorate check bully --what
```
"""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A page with misspelled commands."""
    file = tmp_path / "page.md"
    file.write_text(PAGE, encoding="utf-8")
    return file


def test_commands_are_found_in_the_text_in_tables_and_in_blocks_that_are_not_run(
    page: Path,
) -> None:
    assert [(command.line, " ".join(command.words)) for command in said(page)] == [
        (1, "check bully --crashes 1"),
        (1, "simulate bully --crash 1"),
        (6, "check bully --claim A9"),
        (7, "check bully --rule guard=never"),
        (11, "check buly --claim NAME"),
        (13, "up --node 5"),
    ]


def test_what_is_misspelled_is_noticed_but_for_placeholders(page: Path) -> None:
    wrong = [complaint(command) for command in said(page)]
    assert wrong[0] is None
    assert wrong[1] == "exit code 2"
    assert "A9" in str(wrong[2])
    assert "guard" in str(wrong[3])
    assert wrong[4] is None
    assert wrong[5] == "exit code 2"


def test_options_are_found_where_they_stand_alone(page: Path) -> None:
    assert list(options_named(page)) == [(2, "--crashes"), (2, "--losses-max")]
    assert "--crashes" in options_known()
    assert "--losses-max" not in options_known()


def test_every_command_in_the_text_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    named = [command for page in pages() for command in said(page)]
    assert len(named) > 200
    wrong = {str(command): complaint(command) for command in named}
    assert not {command: why for command, why in wrong.items() if why is not None}


def test_every_option_in_the_text_exists() -> None:
    known = {*options_known(), *OTHERS}
    unknown = [
        f"{page.name}:{line}: {option}"
        for page in pages()
        for line, option in options_named(page)
        if option not in known
    ]
    assert unknown == []


def typed() -> Iterator[list[str]]:
    """The words of every command of every block."""
    for page in pages():
        for block in blocks(page):
            yield from (command.words for command in block.commands)


def test_every_program_in_a_block_exists_and_has_the_options_that_it_is_given() -> None:
    for words in typed():
        if words[:2] == ["python", "-m"]:
            folder = ROOT.joinpath(*words[2].split("."))
            files = [folder.with_suffix(".py"), *folder.glob("*.py")]
            source = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
            assert "__main__" in source or (folder / "__main__.py").is_file(), words
            for word in words[3:]:
                assert not word.startswith("--") or f'"{word}"' in source, words


def test_every_target_that_is_made_exists() -> None:
    made = {words[1] for words in typed() if words[0] == "make"}
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert made <= {*targets}
