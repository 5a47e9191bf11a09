"""The claims about nodes in each other's view, on rows made by hand."""

from electorate.claims import CLAIMS, Row, Witness
from electorate.core import Members, Standing, Status

DOWN = None


def follows(leader: int | None, *view: int) -> Standing:
    return Standing(Status.NORMAL, leader, view)


def elects(*view: int) -> Standing:
    return Standing(Status.ELECTION, None, view)


def judge(name: str, *standings: Standing | None) -> Witness | None:
    return CLAIMS[name].judge(Row(Members.of(range(1, len(standings) + 1)), standings))


def test_p1_fails_where_two_nodes_that_see_each_other_follow_different_leaders() -> None:
    assert judge("P1", follows(1, 1, 2), follows(2, 1, 2)) == Witness(
        (1, 2), "1 is normal and follows 1, but 2 is normal and follows 2, and they see each other"
    )


def test_p1_lets_a_node_differ_from_one_that_it_does_not_see() -> None:
    assert judge("P1", follows(1, 1, 2), follows(2, 2)) is None
    assert judge("P1", follows(1, 1), follows(2, 1, 2)) is None


def test_p1_looks_at_every_pair() -> None:
    split = follows(1, 1, 2, 3), follows(1, 1, 2), follows(3, 1, 3)
    assert judge("P1", *split) == Witness(
        (1, 3), "1 is normal and follows 1, but 3 is normal and follows 3, and they see each other"
    )


def test_p1_does_not_ask_about_nodes_in_an_election_or_down() -> None:
    assert judge("P1", follows(1, 1, 2, 3), elects(1, 2, 3), DOWN) is None


def test_p1_takes_a_node_without_a_group_to_see_everybody() -> None:
    blind = Standing(Status.NORMAL, 2)
    assert judge("P1", follows(1, 1, 2), blind) is not None
    assert judge("P1", follows(1, 1), blind) is None


def test_p2_fails_where_a_live_node_is_in_an_election() -> None:
    assert judge("P2", elects(1), DOWN) == Witness((1,), "1 is in election")


def test_p2_fails_where_a_normal_node_follows_nobody() -> None:
    assert judge("P2", follows(None, 1)) == Witness((1,), "1 is normal and follows nobody")


def test_p2_fails_where_the_leader_is_not_up() -> None:
    assert judge("P2", DOWN, follows(1, 1, 2)) == Witness(
        (2,), "2 is normal and follows 1, which is not up"
    )


def test_p2_fails_where_a_node_does_not_see_its_leader() -> None:
    assert judge("P2", follows(1, 1, 2), follows(1, 2)) == Witness(
        (2,), "2 is normal and follows 1, which it does not see"
    )


def test_p2_fails_where_a_node_sees_one_that_follows_somebody_else() -> None:
    assert judge("P2", follows(1, 1, 2), follows(2, 2)) == Witness(
        (1, 2), "1 is normal and follows 1, but sees that 2 is normal and follows 2"
    )


def test_p2_is_content_with_groups_that_do_not_see_each_other() -> None:
    parted = follows(1, 1), follows(2, 2, 3), follows(2, 2, 3)
    assert judge("P2", *parted) is None
    assert judge("A2", *parted) is not None


def test_p2_does_not_ask_for_the_strongest() -> None:
    assert judge("P2", follows(2, 1, 2), follows(2, 1, 2)) is None
