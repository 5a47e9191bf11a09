"""The claims about elections, on rows made by hand."""

import pytest

from electorate.claims import CLAIMS, Following, Kind, Row, Witness
from electorate.core import Members, Standing, Status, Strongest

ELECTION = Standing(Status.ELECTION)
DOWN = None
GOALS = [
    "A2",
    "S3",
    "L0",
    "L1",
    "L2",
    "A4",
    "A4p",
    "G2",
    "P2",
    "T4",
    "C4",
    "C5",
    "K3",
    "K4",
    "M5",
    "M6",
    "M7",
    "M8",
    "M9",
    "D4",
    "D6",
]


def follows(leader: int | None) -> Standing:
    return Standing(Status.NORMAL, leader)


def row(*standings: Standing | None, strongest: Strongest = "lowest") -> Row:
    ids = range(1, len(standings) + 1)
    return Row(Members.of(ids, strongest), standings)


def judge(name: str, judged: Row) -> Witness | None:
    """What a run breaks in which nothing changes any more."""
    following = Following(CLAIMS[name])
    following.judge(judged)
    return following.judge(judged)


def after(name: str, *run: tuple[int | None, ...]) -> Witness | None:
    """What the last row of a run breaks: whom each node follows, 0 if it is in an election."""
    following = Following(CLAIMS[name])
    shown = {None: DOWN, 0: ELECTION}
    rows = (row(*(shown.get(leader, follows(leader)) for leader in leaders)) for leaders in run)
    return [following.judge(each) for each in rows][-1]


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("strongest", ["lowest", "highest"])
def test_every_claim_holds_where_nobody_is_up(name: str, strongest: Strongest) -> None:
    assert judge(name, row(DOWN, DOWN, DOWN, strongest=strongest)) is None


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("strongest", ["lowest", "highest"])
def test_every_claim_holds_where_all_live_nodes_follow_the_strongest(
    name: str, strongest: Strongest
) -> None:
    leader = 2 if strongest == "lowest" else 4
    judged = row(DOWN, *[follows(leader)] * 3, DOWN, strongest=strongest)
    assert judge(name, judged) is None


def test_claims_are_listed_under_their_own_names() -> None:
    assert {name: claim.name for name, claim in CLAIMS.items()} == {n: n for n in CLAIMS}
    assert [name for name, claim in CLAIMS.items() if claim.kind is Kind.GOAL] == GOALS


def test_a1_fails_where_two_normal_nodes_follow_different_leaders() -> None:
    assert judge("A1", row(follows(1), ELECTION, follows(3))) == Witness(
        (1, 3), "1 is normal and follows 1, but 3 is normal and follows 3"
    )


def test_a1_fails_where_one_normal_node_follows_nobody() -> None:
    assert judge("A1", row(follows(1), follows(None))) == Witness(
        (1, 2), "1 is normal and follows 1, but 2 is normal and follows nobody"
    )


def test_a1_does_not_ask_about_nodes_in_an_election_or_down() -> None:
    assert judge("A1", row(follows(1), ELECTION, DOWN)) is None


def test_a1_does_not_ask_whether_the_leader_is_up() -> None:
    assert judge("A1", row(DOWN, follows(1), follows(1))) is None


def test_a2_fails_where_a_live_node_is_in_an_election() -> None:
    assert judge("A2", row(follows(1), ELECTION)) == Witness((2,), "2 is in election")


def test_a2_fails_where_a_node_hands_over_work() -> None:
    busy = Standing(Status.REORGANIZATION, 1)
    assert judge("A2", row(follows(1), busy)) == Witness((2,), "2 is in reorganization")


def test_a2_fails_where_the_leader_is_not_up() -> None:
    assert judge("A2", row(DOWN, follows(1), follows(1))) == Witness(
        (2,), "2 is normal and follows 1, which is not up"
    )


def test_a2_fails_where_a_normal_node_follows_nobody() -> None:
    assert judge("A2", row(follows(None), DOWN)) == Witness((1,), "1 is normal and follows nobody")


def test_a2_fails_where_live_nodes_follow_two_live_leaders() -> None:
    assert judge("A2", row(follows(1), follows(2))) == Witness(
        (1, 2), "1 is normal and follows 1, but 2 is normal and follows 2"
    )


def test_a2_does_not_ask_for_the_strongest() -> None:
    assert judge("A2", row(follows(3), follows(3), follows(3))) is None


def test_a3_fails_where_two_normal_nodes_of_one_group_follow_different_leaders() -> None:
    first, second = (Standing(Status.NORMAL, leader, (1, 7)) for leader in (1, 2))
    text = "1 is normal and follows 1, but 3 is normal and follows 2, both in group (1, 7)"
    assert judge("A3", row(first, ELECTION, second)) == Witness((1, 3), text)


def test_a3_lets_nodes_of_different_groups_disagree() -> None:
    first, second = (Standing(Status.NORMAL, 1, (1, 7)), Standing(Status.NORMAL, 2, (1, 8)))
    assert judge("A3", row(first, second, Standing(Status.NORMAL, 2, (2, 7)))) is None


def test_a3_does_not_ask_about_nodes_in_an_election() -> None:
    resting = Standing(Status.ELECTION, 2, (1, 7))
    assert judge("A3", row(Standing(Status.NORMAL, 1, (1, 7)), resting)) is None


def test_a3_is_a1_where_there_are_no_groups() -> None:
    judged = row(follows(1), ELECTION, follows(3))
    assert judge("A3", judged) == judge("A1", judged)


@pytest.mark.parametrize(("strongest", "leader", "best"), [("lowest", 3, 1), ("highest", 1, 3)])
def test_s1_fails_where_the_leader_is_not_the_strongest_live_node(
    strongest: Strongest, leader: int, best: int
) -> None:
    judged = row(ELECTION, follows(leader), ELECTION, strongest=strongest)
    text = f"2 is normal and follows {leader}, but the strongest live node is {best}"
    assert judge("S1", judged) == Witness((2, best), text)


def test_s1_fails_where_the_leader_has_crashed() -> None:
    assert judge("S1", row(DOWN, follows(1))) == Witness(
        (2,), "2 is normal and follows 1, but the strongest live node is 2"
    )


def test_s1_counts_attributes() -> None:
    members = Members.of([1, 2], "highest", {1: 9})
    assert judge("S1", Row(members, (follows(1), follows(1)))) is None
    assert judge("S1", Row(members, (follows(2), ELECTION))) is not None


def test_s1_lets_a_node_believe_in_nobody() -> None:
    assert judge("S1", row(ELECTION, ELECTION)) is None


def test_s2_fails_where_two_nodes_consider_themselves_leader() -> None:
    assert judge("S2", row(follows(1), follows(2), follows(3))) == Witness(
        (1, 2, 3), "1 and 2 and 3 each consider themselves leader"
    )


def test_s2_lets_nodes_disagree_about_somebody_else() -> None:
    assert judge("S2", row(follows(1), follows(3), follows(2))) is None


def test_s2_does_not_count_nodes_that_are_not_normal() -> None:
    assert judge("S2", row(follows(1), Standing(Status.ELECTION, 2), DOWN)) is None


def test_s3_fails_where_a_live_node_is_in_an_election_or_its_leader_is_down() -> None:
    assert judge("S3", row(follows(1), ELECTION)) == Witness((2,), "2 is in election")
    assert judge("S3", row(DOWN, follows(1))) == Witness(
        (2,), "2 is normal and follows 1, which is not up"
    )


def test_s3_fails_where_all_follow_a_node_that_is_not_the_strongest() -> None:
    assert judge("S3", row(follows(2), follows(2))) == Witness(
        (1,), "1 is normal and follows 2, but the strongest live node is 1"
    )
    assert judge("S3", row(DOWN, follows(2), follows(2))) is None


def test_l0_wants_a_leader_of_everybody_that_is_up_and_no_more() -> None:
    assert judge("L0", row(follows(1), follows(2), DOWN)) is None
    assert judge("L0", row(DOWN, follows(1), Standing(Status.ELECTION, 2))) is None
    assert judge("L0", row(follows(1), ELECTION)) == Witness(
        (2,), "2 is in election and has no leader"
    )


def test_s3_counts_attributes() -> None:
    members = Members.of([1, 2], "highest", {1: 9})
    assert judge("S3", Row(members, (follows(1), follows(1)))) is None
    assert judge("S3", Row(members, (follows(2), follows(2)))) is not None


@pytest.mark.parametrize(
    "run",
    [
        [(1, 1)],
        [(1, 1), (1, 0), (0, 0), (1, 0), (1, 1)],
        [(0, 0), (1, 0), (1, 1)],
        [(1, 1), (0, 1), (0, 0), (0, 2), (2, 2)],
        [(1, 1), (1, 0), (0, 1), (1, 1)],
        [(1, 1), (1, 0), (1, 0), (1, 2)],
    ],
)
def test_l1_is_content_where_whoever_enters_an_election_follows_who_was_elected_since(
    run: list[tuple[int, int]],
) -> None:
    assert after("L1", *run) is None


def test_l1_fails_while_a_node_is_in_an_election() -> None:
    assert after("L1", (1, 1), (1, 0)) == Witness((2,), "2 is in election, and nobody answers")


def test_l1_fails_where_the_answer_is_that_of_an_election_before() -> None:
    text = "2 is normal and follows 1, which has not been elected since it asked"
    old = [(1, 1), (1, 0), (1, 1)]
    assert after("L1", *old) == Witness((2,), text)
    assert after("A2", *old) is None
    assert after("L1", *old, (0, 1), (1, 1)) is None


def test_l1_asks_nothing_of_nodes_that_are_down() -> None:
    assert after("L1", (1, 1), (1, 0), (1, None)) is None


def test_a_row_tells_live_nodes_from_normal_ones() -> None:
    judged = row(DOWN, ELECTION, follows(2))
    assert [node for node, _ in judged.live()] == [2, 3]
    assert [node for node, _ in judged.normal()] == [3]


def test_everybody_has_a_turn_who_has_waited() -> None:
    assert after("L2", (0, 0), (1, 0), (1, 1)) == Witness((2,), "2 has never had its turn")
    assert after("L2", (0, 0), (1, 0), (0, 2)) is None
    assert after("L2", (0, 0), (1, 0), (0, 2), (1, 0)) is None  # Once is enough.
    assert after("L2", (0, 0), (1, 0), (1, None)) is None  # Who is down wants nothing.
