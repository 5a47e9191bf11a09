"""How members are written down, and what somebody is told who writes them down wrongly."""

from pathlib import Path
from typing import Any

import pytest

from electorate import Node, Sqlite, StoreError, sync
from electorate.leadership.directory import MemberAddress, addresses, number
from tests.leadership.cluster import PACE, Cluster, run
from tests.runtime.cluster import free_addresses


@pytest.mark.parametrize(
    "text", ["a@10.0.0.1:7400", "db-1.eu_west@example.org:1", "a@[::1]:65535", "7@h:7"]
)
def test_a_member_is_read_and_written_alike(text: str) -> None:
    assert str(MemberAddress.of(text)) == text


@pytest.mark.parametrize(
    "text", ["", "a", "a@", "a@h", "a@:7400", "a@h:", "a@h:x", "a@h:0", "a@h:65536", "@h", "h:7400"]
)
def test_who_is_nowhere_is_no_member(text: str) -> None:
    with pytest.raises(ValueError, match="a member is name@host:port, not"):
        MemberAddress.of(text)


@pytest.mark.parametrize("name", ["", "a b", "-a", ".a", "a@b", "a/b", "a\n", "a" * 64])
def test_a_name_is_of_few_kinds_of_characters(name: str) -> None:
    with pytest.raises(ValueError, match="is no name: use letters, digits"):
        MemberAddress.of(f"{name}@h:7400")


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
    assert len(addresses(["a@h:1", "a@h:1", "b@h:2"])) == 2


@pytest.mark.parametrize(
    ("given", "kind", "why"),
    [
        ({"me": 1}, TypeError, "a node is a name, or name@host:port, not 1"),
        ({"members": [3]}, TypeError, "a member is name@host:port, not 3"),
        ({"members": []}, ValueError, "the list of members is empty"),
        ({"pace": {}}, TypeError, r"a pace is an electorate\.Pace\(\.\.\.\), not {}"),
        ({"database": "x"}, TypeError, r"a database is a Sqlite.* not 'x': it has no open\(\)"),
        ({"database": Sqlite}, TypeError, "it is a class"),
    ],
)
def test_what_is_no_node_is_refused_before_it_is_entered(
    tmp_path: Path, given: dict[str, Any], kind: type[Exception], why: str
) -> None:
    right: dict[str, Any] = {"me": "a", "members": ["a@127.0.0.1:7400"], "data_dir": tmp_path}
    for node in (Node, sync.Node):
        with pytest.raises(kind, match=why):
            node(**right | given)


def test_a_folder_of_another_node_is_called_by_its_name(tmp_path: Path) -> None:
    pairs = zip("ab", free_addresses(2), strict=True)
    members = [f"{name}@{host}:{port}" for name, (host, port) in pairs]
    with sync.Node("a", members, tmp_path, pace=PACE):
        pass
    with (
        pytest.raises(StoreError, match="belongs to a: give b a folder of its own"),
        sync.Node("b", members, tmp_path, pace=PACE),
    ):
        raise AssertionError("it is the folder of a")
    with (
        pytest.raises(StoreError, match="belongs to a node of another name: give c a folder"),
        sync.Node("c@127.0.0.1:1", members[1:], tmp_path, pace=PACE),
    ):
        raise AssertionError("it is the folder of a")


def test_an_election_without_a_name_is_none(tmp_path: Path) -> None:
    ((host, port),) = free_addresses(1)
    with sync.Node(f"a@{host}:{port}", [], tmp_path, pace=PACE) as node:
        for name in ("", None):
            with pytest.raises(ValueError, match="an election has a name, not"):
                node.election(name)  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="an election has a name, not"):
                node.observe(name)  # type: ignore[arg-type]
        node.pause(timeout=5)
        node.resume(timeout=5)


def test_the_name_of_an_election_is_one_line(tmp_path: Path) -> None:
    ((host, port),) = free_addresses(1)
    with sync.Node(f"a@{host}:{port}", [], tmp_path, pace=PACE) as node:
        for name in ("two\nlines", "a\ttable", "bell\a", "line\u2028line", "\ud800"):
            with pytest.raises(
                ValueError, match="the name of an election is one line of text, not"
            ):
                node.election(name)
            with pytest.raises(
                ValueError, match="the name of an election is one line of text, not"
            ):
                node.observe(name)
        assert node.election("größte Wäscherei №1 🧺").name == "größte Wäscherei №1 🧺"


@pytest.mark.parametrize("priority", [-1, 1 << 31, 1 << 40, True, 1.0, "1", None])
def test_a_priority_that_is_none_is_told_what_it_may_be(tmp_path: Path, priority: Any) -> None:
    ((host, port),) = free_addresses(1)
    with sync.Node(f"a@{host}:{port}", [], tmp_path, pace=PACE) as node:
        election = node.election("x", (1 << 31) - 1)
        with pytest.raises(ValueError, match=r"a priority is a number from 0 to 2147483647, not"):
            election.set_priority(priority)


def test_an_election_keeps_its_name(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Node(Cluster(tmp_path, "a").places["a"], [], tmp_path / "a", pace=PACE) as node:
            election = node.election("x")
            for part in ("name", "safety", "node"):
                with pytest.raises(AttributeError):
                    setattr(election, part, "y")
            assert (election.name, election.safety, election.node) == ("x", "quorum", "a")

    run(scene())
