"""Who is who, when another node has been put in the place of one."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from electorate.core import Asked, Message, NodeId, TimedOut, Turns
from electorate.errors import StoreError
from electorate.leadership.directory import (
    Directory,
    MemberAddress,
    OlderRecord,
    RecordedMember,
    identity,
    number,
    proof,
)
from electorate.pace import Pace
from electorate.protocols.mandate.admission import (
    PART,
    Acquaintance,
    Establish,
    GoBy,
    Known,
    Refused,
)
from electorate.protocols.mandate.founding import Foundation
from electorate.protocols.mandate.state import Roster
from electorate.runtime.environment import Address
from electorate.runtime.frame import Hello
from electorate.runtime.instance import Instance
from electorate.runtime.store import Store
from electorate.trace.record import Letterhead

A, B = MemberAddress.of("a@localhost:1"), MemberAddress.of("b@localhost:2")
ELSEWHERE = MemberAddress.of("b@localhost:3")
FOUNDERS = {A.id: A, B.id: B}


class Met:
    """A network that only remembers whom it was told to connect to."""

    introduction: Callable[[NodeId], tuple[NodeId, NodeId]]
    process = "process"

    def __init__(self) -> None:
        self.met: list[tuple[NodeId, Address]] = []
        self.found = 0
        """Who is found where a newcomer should be."""

    def join(self, cluster: str) -> None: ...

    def rename(self, cluster: str) -> None: ...

    def meet(self, node: NodeId, address: Address, name: str) -> None:
        self.met.append((node, address))

    def part(self, node: NodeId) -> None: ...

    def answers(self, node: NodeId, member: NodeId) -> bool:
        return member == self.found


class OneInstance:
    """A host that keeps what the directory has it keep, and brings nothing on its way."""

    def __init__(self, store: Store, net: Met) -> None:
        self.store = store
        self.network = net
        self.sent: list[tuple[NodeId, Message]] = []

    def now_ms(self) -> float:
        return 0.0

    def jitter(self, up_to: int) -> float:
        return 0.0

    def keep(self, name: str, record: bytes) -> None:
        self.store.save({name: record})

    def send(self, instance: Instance, to: NodeId, message: Message) -> None:
        self.sent.append((to, message))

    def schedule(self, instance: Instance) -> None: ...

    def add(self, instance: Instance) -> Instance:
        return instance


def begun(directory: Directory, store: Store, net: Met) -> Directory:
    """The directory at work."""
    directory.begin(OneInstance(store, net), Turns(directory.machine))
    return directory


def told(directory: Directory) -> Known:
    """What it tells others."""
    return directory.machine.told(directory.state)


class Scene:
    """The directory of a, and what b may say to it."""

    def __init__(self, folder: Path, listed: MemberAddress = B) -> None:
        self.net = Met()
        self.store = Store(folder, A.id)
        self.store.save({"founding": b""})
        directory = Directory(A, {A.id: A, B.id: listed}, Pace())
        self.directory = begun(directory, self.store, self.net)
        self.directory.instance.take(Asked(Establish(Foundation("id"))))

    def says(self, store: str, member: int = B.id, meant: int = 0) -> str:
        """Let b in if nothing speaks against it; why not otherwise."""
        hello = Hello("", B.id, A.id, store, 1, store, 0, member, meant)
        objection = self.directory.objection(hello)
        if not objection:
            self.directory.recognise(hello)
        return objection

    def hears(self, known: Known) -> None:
        """The node that is spoken to by the name of b tells whom it knows."""
        self.directory.hear(self.directory.member_at[B.id], known, Letterhead(1, 1))

    def learns(self, member: int, place: MemberAddress, store: str, since: int) -> None:
        """Have another node tell of a member."""
        own = told(self.directory)
        self.hears(
            Known(own.cluster, ((member, Acquaintance(str(place), store, since)),), own.roll)
        )

    def goes_by(self, *members: int) -> None:
        """Have the register change the list."""
        number = told(self.directory).roll.version[0] + 1
        roster = Roster((number, 1), members, members)
        self.directory.instance.take(Asked(GoBy(roster)))

    def refused(self, known: Known, by: str = "first") -> None:
        """Another node lets this one not in, and tells whom it knows."""
        self.directory.instance.take(Asked(Refused(known, by)))

    def parts(self) -> None:
        """Let so much time pass that whoever has left is forgotten."""
        self.directory.instance.take(TimedOut(PART))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_only_the_memory_that_was_met_first_is_let_in(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    assert not scene.says("first")
    assert "b is known here by another data folder" in scene.says("second")
    assert "a node that says it is b does not have its memory" in caplog.text
    assert not scene.says("first")


def test_a_name_may_be_given_to_another_memory(scene: Scene) -> None:
    scene.says("first")
    new = number("b second")
    assert "another data folder" in scene.says("second", new), "nobody has told of it yet"
    scene.learns(new, ELSEWHERE, "second", since=7)
    assert "another data folder" in scene.says("second", new), "it is on no list yet"
    scene.goes_by(A.id, new)
    assert scene.net.met == [(B.id, ELSEWHERE.address)]
    assert not scene.says("second", new)
    assert "another data folder" in scene.says("first"), "what it has promised is not promised"
    assert (scene.directory.routes.get(B.id), scene.directory.routes.get(new)) == (None, B.id)


def test_what_is_told_late_does_not_bring_back_the_one_before(scene: Scene) -> None:
    new = number("b second")
    scene.learns(new, ELSEWHERE, "second", since=7)
    scene.goes_by(A.id, new)
    scene.learns(B.id, B, "first", since=0)
    scene.learns(number("b third"), B, "third", since=6)
    scene.learns(number("b fourth"), B, "fourth", since=8)
    assert scene.directory.member_at.get(B.id) == new, "the others are on no list"
    assert scene.net.met == [(B.id, ELSEWHERE.address)]


def test_a_founder_that_was_forgotten_comes_back_by_its_own_memory_only(tmp_path: Path) -> None:
    """Its number does not show which memory it has, as that of one who joined does."""
    before = Scene(tmp_path)
    before.says("first")
    before.goes_by(A.id)
    before.parts()
    before.store.close()
    scene = Scene(tmp_path)
    scene.net.found = B.id
    scene.directory.await_newcomer(ELSEWHERE)
    assert "another data folder" in scene.says("second")
    assert not scene.says("first")


def test_who_never_met_a_founder_hears_by_which_memory_it_was_known(
    tmp_path: Path, scene: Scene
) -> None:
    scene.says("first")
    scene.goes_by(A.id)
    scene.parts()
    known = told(scene.directory)
    other = Scene(tmp_path / "other")
    other.hears(known)
    assert "another data folder" in other.says("second")
    assert not known.without_memories().former


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
    assert new not in dict(told(scene.directory).nodes), "it is not proposed yet"
    scene.directory.propose(new, 5)
    assert new in dict(told(scene.directory).nodes)
    scene.goes_by(A.id, new)
    scene.directory.await_no_more(ELSEWHERE)
    assert not scene.says("second", new)


def test_of_a_newcomer_that_did_not_become_a_member_nothing_is_left(scene: Scene) -> None:
    scene.says("first")
    new = scene.net.found = number("b second")
    scene.directory.await_newcomer(ELSEWHERE)
    scene.says("second", new)
    scene.directory.propose(new, 5)
    scene.directory.await_no_more(ELSEWHERE)
    assert set(scene.directory.ids) == {A.id, B.id}
    assert not scene.says("first")


def test_who_joins_takes_others_for_who_they_say_they_are(tmp_path: Path) -> None:
    """It knows no more than their names: they may have joined, too."""
    c = MemberAddress.of("c@localhost:4")
    store = Store(tmp_path, c.id)
    directory = begun(Directory(c, FOUNDERS, Pace(), joins=True), store, Met())
    assert directory.number == number(f"c {store.identity}") != c.id
    joined = number("b second")
    hello = Hello(f"cluster/{Pace().agreed}", B.id, c.id, "second", 1, "", 0, joined)
    assert not directory.objection(hello)
    directory.recognise(hello)
    assert set(directory.ids) == {A.id, joined, directory.number}


def test_what_an_older_version_has_kept_is_read_and_kept_as_it_is_now(tmp_path: Path) -> None:
    joined, founders = number("c memory"), sorted(FOUNDERS)
    known = {
        A.id: RecordedMember(str(A)),
        B.id: RecordedMember(str(B), "first"),
        joined: RecordedMember("c@localhost:4", "memory", 5),
    }
    roll, listed = Roster((5, 1), tuple(known), tuple(known)), {B.id: str(B)}
    before = OlderRecord(identity(FOUNDERS), founders, known, roll, listed, {7: "former"})
    store = Store(tmp_path, A.id)
    store.save({"directory": msgspec.msgpack.encode(before)})
    store.close()
    for _ in range(2):
        after = Scene(tmp_path)
        assert "another data folder" in after.says("second")
        assert after.directory.known[joined] == Acquaintance("c@localhost:4", "memory", 5)
        assert (told(after.directory).roll, told(after.directory).former) == (
            roll,
            ((7, "former"),),
        )
        after.goes_by(A.id, B.id)
        roll = told(after.directory).roll
        after.store.close()


def test_what_is_said_by_one_that_does_not_let_in_this_node_needs_a_proof_and_is_bounded(
    scene: Scene,
) -> None:
    scene.says("first")
    own = told(scene.directory)
    roll = Roster((7, 1), (A.id, 9), (A.id, 9))
    nodes = tuple((9 + n, Acquaintance(f"c{n}@localhost:4", "", 7)) for n in range(5_000))

    def is_believed(count: int, memory: str, process: str = Met.process) -> bool:
        known = msgspec.msgpack.encode(Known(own.cluster, nodes[:count], roll))
        scene.directory.refused(B.id, 2 * proof(memory, process, known) + known)
        return told(scene.directory) != own

    assert not is_believed(5_000, "first")
    assert not is_believed(1, "second"), "it is another memory"
    assert not is_believed(1, ""), "nobody has none"
    assert not is_believed(1, "first", "another process"), "it was said to another node"
    scene.directory.refused(B.id, b"")
    scene.directory.refused(B.id, 2 * proof("first", Met.process, b"x") + b"x")
    assert told(scene.directory) == own
    assert is_believed(1, "first")
    assert told(scene.directory).roll == roll


def test_a_refusal_proves_by_whom_and_to_whom_it_is(tmp_path: Path, scene: Scene) -> None:
    b = begun(Directory(B, FOUNDERS, Pace()), Store(tmp_path / "b", B.id), Met())
    b.instance.take(Asked(Establish(Foundation("id"))))
    scene.says(b._memory)
    own = told(scene.directory)
    new = number("b second")
    b.instance.take(Asked(GoBy(Roster((7, 1), (B.id, new), (B.id, new)))))
    hello = Hello("", A.id, B.id, "", 1, Met.process, 0, A.id)
    scene.directory.refused(B.id, b.news(msgspec.structs.replace(hello, process="another")))
    assert told(scene.directory) == own
    scene.directory.refused(B.id, b.news(hello))
    assert told(scene.directory).roll == told(b).roll


def test_what_cannot_be_read_is_said_clearly(tmp_path: Path) -> None:
    before = Scene(tmp_path)
    before.store.save({"directory": b"\x80"})
    before.store.close()
    with pytest.raises(StoreError, match=r"what is known of the members cannot be read: .*cluster"):
        Scene(tmp_path)


@pytest.mark.parametrize("moved", [False, True])
def test_who_moves_is_where_the_next_start_says(tmp_path: Path, moved: bool) -> None:
    """But a list that has not been changed says nothing about who has joined since."""
    before = Scene(tmp_path)
    new = number("b second")
    before.learns(new, ELSEWHERE, "second", since=7)
    before.goes_by(A.id, new)
    before.store.close()
    listed = MemberAddress.of("b@localhost:5") if moved else B
    after = Scene(tmp_path, listed)
    assert after.net.met == [(B.id, listed.address if moved else ELSEWHERE.address)]
    assert after.directory.member_at.get(B.id) == new


def test_who_was_listed_for_the_first_time_is_where_the_list_says(tmp_path: Path) -> None:
    before = Scene(tmp_path)
    joined, c, moved = (
        number("c memory"),
        MemberAddress.of("c@localhost:4"),
        MemberAddress.of("c@localhost:5"),
    )
    before.learns(joined, c, "memory", since=7)
    before.goes_by(A.id, B.id, joined)
    before.store.close()
    net = Met()
    directory = Directory(A, {A.id: A, B.id: B, c.id: moved}, Pace())
    begun(directory, Store(tmp_path, A.id), net)
    assert net.met == [(c.id, moved.address)]
    assert directory.known[joined].place == str(moved)


def test_a_node_that_has_missed_who_was_replaced_learns_it_from_those_it_refuses(
    tmp_path: Path, scene: Scene
) -> None:
    """Both take each other for somebody else."""
    scene.says("first")
    new = number("b second")
    own = told(scene.directory)
    roll = Roster((7, 1), (A.id, new), (A.id, new))
    nodes = ((A.id, scene.directory.known[A.id]), (new, Acquaintance(str(ELSEWHERE), "", 7)))
    scene.refused(Known("another cluster", nodes, roll))
    assert "another data folder" in scene.says("second", new)
    scene.refused(Known(own.cluster, nodes, roll))
    assert not scene.says("second", new)
    assert scene.net.introduction(B.id) == (A.id, new)


def test_while_one_newcomer_is_dealt_with_another_has_to_wait(scene: Scene) -> None:
    """Also if this node is no member any more, and otherwise sure of nobody."""
    new = scene.net.found = number("b second")
    scene.directory.await_newcomer(ELSEWHERE)
    scene.goes_by(B.id)
    assert not scene.says("second", new)
    assert "another data folder" in scene.says("third", number("b third"))
    assert scene.directory.newcomer(ELSEWHERE) == new


def test_what_a_refused_node_is_told_gives_no_memory_away(scene: Scene) -> None:
    """Who knows the memory of a member that is down could speak for it."""
    scene.says("first")
    known = told(scene.directory)
    assert {each.store for _, each in known.nodes} == {scene.store.identity, "first"}
    assert {each.store for _, each in known.without_memories().nodes} == {""}


def test_the_number_of_who_has_joined_shows_its_memory(scene: Scene) -> None:
    new = number("b second")
    scene.learns(new, ELSEWHERE, "", since=7)
    scene.goes_by(A.id, new)
    assert "another data folder" in scene.says("third", new)
    assert not scene.says("second", new)


@pytest.mark.parametrize(
    ("member", "place", "since"),
    [(7, "x", 9), (-5, str(B), 9), (7, "b@host:0", 9), (7, str(B), -1)],
)
def test_nonsense_is_not_learnt(scene: Scene, member: int, place: str, since: int) -> None:
    before = told(scene.directory)
    roll = Roster((9, 1), (A.id, member), (A.id, member))
    scene.hears(Known(before.cluster, ((member, Acquaintance(place, "", since)),), roll))
    assert told(scene.directory) == before


def test_a_list_of_others_hides_no_member(scene: Scene) -> None:
    """As that of another cluster whose founders have the same names."""
    own = told(scene.directory)
    scene.hears(Known(own.cluster, (), Roster((99, 1), (A.id,), (A.id,))))
    joined = number("c memory")
    roster = Roster((5, 1), (A.id, B.id, joined), (A.id, B.id, joined))
    scene.directory.instance.take(Asked(GoBy(roster)))
    nodes = ((joined, Acquaintance("c@localhost:4", "memory", 5)),)
    scene.hears(Known(own.cluster, nodes, own.roll))
    assert joined in scene.directory.ids


@pytest.mark.parametrize("relied_on", [False, True])
def test_a_node_may_join_another_cluster_as_long_as_nobody_relies_on_it(
    tmp_path: Path, relied_on: bool
) -> None:
    c = MemberAddress.of("c@localhost:4")
    store = Store(tmp_path, c.id)
    directory = begun(Directory(c, FOUNDERS, Pace(), joins=True), store, Met())
    agreed = f"one/{Pace().agreed}"
    directory.recognise(Hello(agreed, B.id, c.id, "first", 1, "", 0, B.id))
    roll = Roster((4, 1), (A.id, B.id), (A.id, B.id))
    directory.hear(B.id, Known("one", (), roll), Letterhead(1, 1))
    if relied_on:
        directory.settle()
    again = begun(Directory(c, FOUNDERS, Pace(), joins=True), store, Met())
    known = told(again)
    assert (known.cluster, known.roll.version) == (("one", (4, 1)) if relied_on else ("", (0, 0)))
    assert again.state.memory(B.id) == ("first" if relied_on else "")
