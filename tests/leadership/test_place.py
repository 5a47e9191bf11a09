"""How members are written down, and what somebody is told who writes them down wrongly."""

from pathlib import Path

import pytest

from electorate import Node
from electorate.leadership.directory import Place, number, places


@pytest.mark.parametrize(
    "text", ["a@10.0.0.1:7400", "db-1.eu_west@example.org:1", "a@[::1]:65535", "7@h:7"]
)
def test_a_member_is_read_and_written_alike(text: str) -> None:
    assert str(Place.of(text)) == text


@pytest.mark.parametrize(
    "text", ["", "a", "a@", "a@h", "a@:7400", "a@h:", "a@h:x", "a@h:0", "a@h:65536", "@h", "h:7400"]
)
def test_who_is_nowhere_is_no_member(text: str) -> None:
    with pytest.raises(ValueError, match="a member is name@host:port, not"):
        Place.of(text)


@pytest.mark.parametrize("name", ["", "a b", "-a", ".a", "a@b", "a/b", "a\n", "a" * 64])
def test_a_name_is_of_few_kinds_of_characters(name: str) -> None:
    with pytest.raises(ValueError, match="is no name: use letters, digits"):
        Place.of(f"{name}@h:7400")


def test_a_list_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    def refused(why: str, *members: str) -> None:
        with pytest.raises(ValueError, match=why):
            Node(members[0], members, tmp_path)

    refused("'a' is listed twice, at different addresses", "a@h:1", "b@h:2", "a@h:3")
    refused("two members have the same address", "a@h:1", "b@h:1")
    assert number("n18622") == number("n41826")
    refused("'n18622' and 'n41826' clash: rename one of them", "n18622@h:1", "n41826@h:2")
    assert not list(tmp_path.iterdir()), "nothing was kept of it"


def test_the_same_member_may_be_named_twice() -> None:
    assert len(places(["a@h:1", "a@h:1", "b@h:2"])) == 2
