"""The claims about the task, on rows and runs made by hand."""

from typing import Any

from electorate.claims import CLAIMS, Following, Row, Witness
from electorate.core import Members, Standing, Status

ELECTION = Standing(Status.ELECTION)
NOTHING, ONE, BOTH = frozenset[int](), frozenset({1}), frozenset({1, 2})


def follows(leader: int, *group: int) -> Standing:
    return Standing(Status.NORMAL, leader, group or None)


def judged(name: str, *rows: tuple[tuple[Standing | None, ...], tuple[Any, ...]]) -> Witness | None:
    """What the last row of a run breaks."""
    following = Following(CLAIMS[name])
    found = [
        following.judge(Row(Members.of(range(1, len(views) + 1)), views, tasks=tasks))
        for views, tasks in rows
    ]
    return found[-1]


UNDER_3 = (follows(3),) * 3
UNDER_2 = (follows(2), follows(2), None)


# --- T1 ---


def test_t1_is_content_with_a_leader_that_works_on() -> None:
    assert judged("T1", (UNDER_3, (1, 1, 1)), (UNDER_3, (1, 1, 2)), (UNDER_3, (1, 2, 2))) is None


def test_t1_fails_where_a_follower_keeps_what_another_leader_had() -> None:
    found = judged("T1", (UNDER_3, (0, 0, 0)), (UNDER_2, (0, 1, None)))
    assert found == Witness((1,), "1 has the task at 0, but its leader 2 at 1")


def test_t1_goes_by_the_last_time_that_a_leader_was_in_office() -> None:
    halted = (ELECTION,) * 3
    runs = (UNDER_3, (0, 0, 0)), (halted, (0, 0, 1)), (UNDER_3, (0, 1, 1))
    assert judged("T1", *runs) == Witness((1,), "1 has the task at 0, but its leader 3 at 1")
    assert judged("T1", *runs[::2]) is None


def test_t1_is_content_with_who_follows_a_leader_that_has_died() -> None:
    orphans = (follows(3), follows(3), None)
    worked = (UNDER_3, (1, 1, 1)), (UNDER_3, (1, 1, 2))
    assert judged("T1", *worked, (orphans, (1, 1, None))) is None
    assert judged("T1", *worked, (orphans, (0, 1, None))) is not None


# --- T2 ---


def test_t2_asks_nothing_of_different_groups() -> None:
    apart = (follows(1, 1, 7), follows(2, 2, 4))
    assert judged("T2", (apart, (ONE, NOTHING))) is None


def test_t2_fails_where_two_of_one_group_differ() -> None:
    found = judged("T2", ((follows(1, 1, 7),) * 2, (ONE, NOTHING)))
    text = "1 has the task at {1}, but 2 at {}, both in group (1, 7)"
    assert found == Witness((1, 2), text)
    assert judged("T2", ((follows(1), ELECTION), (1, 0))) is None


# --- T3 ---


def test_t3_fails_where_a_node_goes_back_and_not_where_it_has_restarted() -> None:
    text = "2 goes back from the task at 1 to 0"
    assert judged("T3", (UNDER_3, (1, 1, 1)), (UNDER_3, (1, 0, 1))) == Witness((2,), text)
    down = (follows(3), None, follows(3))
    assert judged("T3", (UNDER_3, (1, 1, 1)), (down, (1, None, 1)), (UNDER_3, (1, 0, 1))) is None


def test_t3_holds_sets_against_each_other_by_what_is_in_them() -> None:
    two = (ELECTION,)
    assert judged("T3", (two, (ONE,)), (two, (BOTH,))) is None
    assert judged("T3", (two, (ONE,)), (two, (frozenset({2}),))) is not None


# --- T4 ---


def test_t4_is_about_nodes_that_are_linked() -> None:
    members, apart = Members.of((1, 2)), frozenset({(1, 2)})
    views = (follows(1, 1, 7), follows(2, 2, 4))
    text = "1 has the task at {1}, but 2 at {}, and they are linked"
    judge = CLAIMS["T4"].judge
    assert judge(Row(members, views, tasks=(ONE, NOTHING))) == Witness((1, 2), text)
    assert judge(Row(members, views, apart, tasks=(ONE, NOTHING))) is None
