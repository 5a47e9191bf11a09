"""Reading the documents, and changing a command."""

import pytest

from electorate.lectures import LectureError, RuleChange, documents, item_of, run_of
from electorate.runs import run_names


@pytest.mark.parametrize(
    ("command", "by", "changed"),
    [
        (
            "check bully --crashes 1",
            "--rule settle=T-1",
            "check bully --crashes 1 --rule settle=T-1",
        ),
        ("check bully --crashes 1", "--crashes 2", "check bully --crashes 2"),
        (
            "check bully --rule a=1 --rule b=2 --json",
            "--rule a=3",
            "check bully --rule b=2 --json --rule a=3",
        ),
        ("check bully --lies 1 --crashes 1", "without --lies", "check bully --crashes 1"),
        ("check bully --json --crashes 1", "without --json", "check bully --crashes 1"),
        ("check bully --claim A1 --claim A2 --json", "--claim S2", "check bully --json --claim S2"),
        ("check bully --crashes 1", "bully-as-printed", "check bully-as-printed --crashes 1"),
    ],
)
def test_a_change_of_a_command(command: str, by: str, changed: str) -> None:
    assert RuleChange(by, ("x",)).applied(command) == changed


@pytest.mark.parametrize("name", ["souto/", "souto/0", "souto/1000", "nobody/1", "souto/nothing"])
def test_what_is_no_item_is_said(name: str) -> None:
    with pytest.raises(LectureError, match=r"no document|no item"):
        item_of(name)


def test_names_are_used_once_and_never_for_a_run() -> None:
    names = [f"{d.key}/{item.name}" for d in documents().values() for item in d.item if item.name]
    assert len(set(names)) == len(names)
    assert not set(names) & set(run_names())


def test_items_have_numbers_and_some_have_names() -> None:
    document, item = item_of("souto/stoller")
    assert item_of(f"souto/{item.id}") == (document, item)
    assert run_of("souto/stoller") == "invitation/not_transitive"
    assert run_of("bully/weakest_starts") is None


def test_every_item_is_there() -> None:
    """So many things we found in the documents when we read them, slide by slide."""
    assert {key: len(document.item) for key, document in documents().items()} == {
        "souto": 80,
        "albano": 27,
        "park": 24,
        "cmu": 52,
        "gupta": 23,
    }
