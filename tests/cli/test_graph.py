"""`electorate graph`."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.run import Run


def test_covers_are_listed_and_drawn_one_beside_the_other(electorate: Run, tmp_path: Path) -> None:
    file = tmp_path / "covers.svg"
    ran = electorate("graph", "path:3", "--all", "--svg", str(file), "--json")
    assert ran.code == 0
    assert ran.object["covers"] == [[[1, 2], [3]], [[1], [2, 3]], [[1], [2], [3]]]
    assert ran.object["minimum"] == 2
    svg = ElementTree.parse(file).getroot()
    tag = "{http://www.w3.org/2000/svg}"
    titles = [group.findtext(f"{tag}title") for group in svg.iter(f"{tag}g")]
    assert titles == ["{1, 2}  {3}", "{1}  {2, 3}", "{1}  {2}  {3}"]
    assert len(list(svg.iter(f"{tag}line"))) == 3 * 2


def test_a4_is_counted_over_all_networks(electorate: Run) -> None:
    ran = electorate("graph", "--count", "3", "4", "--json")
    assert [count["A4"] for count in ran.object["counts"]] == [8, 49]


def test_where_a4_cannot_be_kept_it_says_why(electorate: Run) -> None:
    ran = electorate("graph", "cycle:4")
    assert "A4 cannot be kept: no node of {1, 2, 3, 4} is linked to all others of it" in ran.out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--count"),
        (["path:3", "--count", "3"], "not both"),
        (["--count", "9"], "from 1 to 6"),
        (["--count", "3", "--all"], "--all"),
        (["blob:3"], "blob"),
        (["1-9", "--nodes", "3"], "9 is not one of the 3 nodes"),
        (["path:13"], "at most 12"),
        (["1-1"], "1-1 is no link"),
        (["0-1"], "0-1 is no link"),
        (["path:3", "--nodes", "4"], "--nodes"),
    ],
)
def test_bad_input_is_one_clear_line(electorate: Run, words: list[str], named: str) -> None:
    ran = electorate("graph", *words)
    assert ran.code == 2
    assert named in ran.err
    assert ran.err.count("\n") == 1
