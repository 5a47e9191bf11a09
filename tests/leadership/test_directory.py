"""Who is who, when another node has been put in the place of one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from electorate.core import NodeId
from electorate.leadership.members.acquaintance import Acquaintance
from electorate.leadership.members.directory import Directory
from electorate.leadership.members.place import Place, number
from electorate.net.frame import Hello
from electorate.net.link import Address
from electorate.net.store import Store, StoreError

A, B = Place.of("a@localhost:1"), Place.of("b@localhost:2")
ELSEWHERE = Place.of("b@localhost:3")
FOUNDERS = {A.id: A, B.id: B}


class Met:
    """A network that only remembers whom it was told to connect to."""

    introduction: Callable[[NodeId], tuple[NodeId, NodeId]]

    def __init__(self) -> None:
        self.met: list[tuple[NodeId, Address]] = []
        self.found = 0
        """Who is found where a newcomer should be."""

    def join(self, cluster: str) -> None: ...

    def meet(self, node: NodeId, address: Address, name: str) -> None:
        self.met.append((node, address))

    def part(self, node: NodeId) -> None: ...

    def answers(self, node: NodeId, member: NodeId) -> bool:
        return member == self.found


class Scene:
    """The directory of a, and what b may say to it."""

    def __init__(self, folder: Path, listed: Place = B) -> None:
        self.net = Met()
        self.directory = Directory(A, {A.id: A, B.id: listed}, "agreed", joins=False)
        self.store = Store(folder, A.id)
        self.directory.begin(self.store, self.net)

    def says(self, store: str, member: int = B.id, meant: int = 0) -> str:
        """Let b in if nothing speaks against it; why not otherwise."""
        hello = Hello("", B.id, A.id, store, 1, store, 0, member, meant)
        objection = self.directory.objection(hello)
        if not objection:
            self.directory.recognise(hello)
        return objection


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_only_the_memory_that_was_met_first_is_let_in(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    assert not scene.says("first")
    assert "b is known here by another data folder" in scene.says("second")
    assert "b has lost its memory" in caplog.text
    assert not scene.says("first")


def test_a_name_may_be_given_to_another_memory(scene: Scene) -> None:
    scene.says("first")
    new = number("b second")
    assert "another data folder" in scene.says("second", new), "nobody has told of it yet"
    scene.directory.learn({new: Acquaintance(str(ELSEWHERE), "second", since=7)})
    assert scene.net.met == [(B.id, ELSEWHERE.address)]
    assert not scene.says("second", new)
    assert "another data folder" in scene.says("first"), "what it has promised is not promised"
    assert (scene.directory.lines.of(B.id), scene.directory.lines.of(new)) == (None, B.id)


def test_what_is_told_late_does_not_bring_back_the_one_before(scene: Scene) -> None:
    new = number("b second")
    scene.directory.learn({new: Acquaintance(str(ELSEWHERE), "second", since=7)})
    scene.directory.learn({B.id: Acquaintance(str(B), "first", since=0)})
    scene.directory.learn({number("b third"): Acquaintance(str(B), "third", since=6)})
    assert scene.directory.lines.speaker(B.id) == new
    assert scene.net.met == [(B.id, ELSEWHERE.address)]


def test_who_takes_this_node_for_another_is_not_let_in(scene: Scene) -> None:
    assert (
        scene.says("first", meant=number("a before"))
        == "b takes a for one with another data folder"
    )
    assert not scene.says("first", meant=A.id)
    assert scene.net.introduction(B.id) == (A.id, B.id)


def test_a_newcomer_is_who_answers_where_it_should_be(scene: Scene) -> None:
    """The one before it may still be there, and knock."""
    scene.says("first")
    new = scene.net.found = number("b second")
    scene.directory.await_newcomer(ELSEWHERE)
    assert scene.net.introduction(B.id) == (A.id, 0)
    assert "another data folder" in scene.says("first")
    assert not scene.says("second", new)
    assert scene.directory.newcomer(ELSEWHERE) == new
    assert new not in scene.directory.told(), "it is not proposed yet"
    assert new in scene.directory.propose(new, 5)
    scene.directory.await_no_more(ELSEWHERE)
    assert not scene.says("second", new)


def test_of_a_newcomer_that_was_not_proposed_nothing_is_left(scene: Scene) -> None:
    new = scene.net.found = number("b second")
    scene.directory.await_newcomer(ELSEWHERE)
    scene.says("second", new)
    scene.directory.await_no_more(ELSEWHERE)
    assert scene.directory.ids == (A.id,)


def test_who_joins_takes_others_for_who_they_say_they_are(tmp_path: Path) -> None:
    """It knows no more than their names: they may have joined, too."""
    c = Place.of("c@localhost:4")
    directory = Directory(c, FOUNDERS, "agreed", joins=True)
    store = Store(tmp_path, c.id)
    directory.begin(store, Met())
    assert directory.number == number(f"c {store.identity}") != c.id
    joined = number("b second")
    hello = Hello("cluster/agreed", B.id, c.id, "second", 1, "", 0, joined)
    assert not directory.objection(hello)
    directory.recognise(hello)
    assert set(directory.ids) == {A.id, joined, directory.number}


def test_what_cannot_be_read_is_said_clearly(tmp_path: Path) -> None:
    before = Scene(tmp_path)
    before.store.save({"directory": b"\x80"})
    before.store.close()
    with pytest.raises(StoreError, match="what is known of the members cannot be read: .*cluster"):
        Scene(tmp_path)


@pytest.mark.parametrize("moved", [False, True])
def test_who_moves_is_where_the_next_start_says(tmp_path: Path, moved: bool) -> None:
    """But a list that has not been changed says nothing about who has joined since."""
    before = Scene(tmp_path)
    new = number("b second")
    before.directory.learn({new: Acquaintance(str(ELSEWHERE), "second", since=7)})
    before.store.close()
    listed = Place.of("b@localhost:5") if moved else B
    after = Scene(tmp_path, listed)
    assert after.net.met == [(B.id, listed.address if moved else ELSEWHERE.address)]
    assert after.directory.lines.speaker(B.id) == new
