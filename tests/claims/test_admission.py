"""The claims about names and memories, on rows made up by hand."""

from electorate.claims import CLAIMS, Following, Row, Witness
from electorate.core import Members, NodeId, Standing, Status
from electorate.protocols.mandate.admission import Acquaintance, AdmissionStable, AdmissionState
from electorate.protocols.mandate.state import Roster

BOTH = Roster(old=(1, 2), new=(1, 2))


def knows(
    me: NodeId,
    *stores: tuple[NodeId, str],
    roll: Roster = BOTH,
    speaks_to: NodeId = 2,
    awaits: bool = False,
    since: int = 0,
) -> AdmissionState:
    """A node that knows others by these memories; all but node 1 are called 2."""
    known = tuple(
        (node, Acquaintance(f"{min(node, 2)}@{node}", store, since if node == 2 else 0))
        for node, store in stores
    )
    return AdmissionState(
        me,
        AdmissionStable("c", (1, 2), known, roll, settled=True),
        me,
        own=roll,
        awaited=(("2", "2@3"),) if awaits else (),
        speakers=(("1", 1), ("2", speaks_to)),
    )


def row(*states: AdmissionState) -> Row:
    seen = tuple(Standing(Status.NORMAL) for _ in states)
    return Row(Members.of(range(1, len(states) + 1)), seen, states=states)


def judged(name: str, *rows: Row) -> Witness | None:
    following = Following(CLAIMS[name])
    return [following.judge(each) for each in rows][-1]


MET = knows(1, (1, "1"), (2, "2"))
SECOND = knows(2, (1, "1"), (2, "2"))


def test_a_member_keeps_its_memory_also_once_it_was_forgotten() -> None:
    gone, back = knows(1, (1, "1")), knows(1, (1, "1"), (2, "3"))
    assert judged("D1", row(MET), row(gone), row(MET)) is None
    assert judged("D1", row(MET), row(gone), row(back)) == Witness(
        (1,), "1 has known 2 by the memories 2 and 3"
    )


def test_what_is_met_after_nothing_was_known_is_no_second_memory() -> None:
    assert judged("D1", row(knows(1, (1, "1"), (2, ""))), row(MET)) is None


def test_who_knows_the_member_of_a_name_speaks_to_no_other() -> None:
    later = Roster((1, 1), (1, 3), (1, 3))
    told = [(1, "1"), (2, "2"), (3, "3")]
    right = knows(1, *told, roll=later, speaks_to=3)
    wrong = knows(1, *told, roll=later, speaks_to=2)
    assert judged("D2", row(right)) is None
    assert judged("D2", row(wrong)) == Witness(
        (1,), "1 speaks to 2 by the name 2, and knows 3 to be the member of that name"
    )
    assert judged("D2", row(knows(1, *told, roll=later, awaits=True))) is None
    assert judged("D2", row(knows(1, *told[:2], roll=later))) is None, "it has not heard of it"


def test_two_nodes_must_not_know_a_member_by_different_memories() -> None:
    other = knows(3, (1, "1"), (2, "4"), (3, "3"))
    assert judged("D3", row(MET, SECOND)) is None
    assert judged("D3", row(MET, SECOND, other)) == Witness(
        (1, 3), "1 has known 2 by the memory 2, and 3 by 4"
    )


def test_all_members_know_the_latest_word() -> None:
    assert judged("D4", row(MET, SECOND)) is None
    moved = knows(2, (1, "1"), (2, "2"), since=3)
    found = judged("D4", row(MET, moved))
    assert found is not None
    assert found.text == (
        "2 knows of itself: 2@2, memory 2, proposed with 3; 1 knows: 2@2, memory 2, proposed with 0"
    )
    found = judged("D4", row(knows(1, (1, "1"), (2, "2"), speaks_to=3), SECOND))
    assert found is not None
    assert found.text == "1 does not speak to 2"


def test_who_is_no_member_need_not_be_known() -> None:
    third = knows(3, (1, "1"), (3, "3"))
    assert judged("D4", row(MET, SECOND, third)) is None
