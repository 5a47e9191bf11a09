"""The claims about groups, on rows and runs made by hand."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import pytest

from electorate.claims import CLAIMS, Following, Row, Witness
from electorate.core import GroupStanding, Members, Standing, Status

ELECTION = Standing(Status.ELECTION)
DOWN = None
Links = Iterable[tuple[int, int]]
Standings = Sequence[Standing | None]

PATH = [(1, 2), (2, 3)]
RING = [(1, 2), (2, 3), (3, 4), (1, 4)]


def member(leader: int, counter: int = 1) -> Standing:
    """In a group whose number has the leader in it, as groups of Invitation do."""
    return Standing(Status.NORMAL, leader, (leader, counter))


def leads(
    leader: int, *others: int, counter: int = 1, owed: Mapping[int, int] | None = None
) -> GroupStanding:
    """At the head of a group, with these newcomers in it, each from the group of another."""
    group, members = (leader, counter), tuple(sorted((leader, *others)))
    came = tuple(sorted((owed or {}).items()))
    return GroupStanding(Status.NORMAL, leader, group, priority=1, members=members, owed=came)


def stands(leader: int | None, group: tuple[int, int], priority: int = 1) -> Standing:
    status = Status.ELECTION if leader is None else Status.NORMAL
    return Standing(status, leader, group, priority=priority)


def row(standings: Standings, links: Links | None = None) -> Row:
    ids = range(1, len(standings) + 1)
    pairs = {(a, b) for a in ids for b in ids if a < b}
    absent = frozenset[tuple[int, int]]() if links is None else frozenset(pairs - set(links))
    return Row(Members.of(ids), tuple(standings), absent)


def judge(name: str, standings: Standings, links: Links | None = None) -> Witness | None:
    return Following(CLAIMS[name]).judge(row(standings, links))


def judged(name: str, *rows: Standings) -> Witness | None:
    """What the last row of a run breaks."""
    following = Following(CLAIMS[name])
    found = [following.judge(row(standings)) for standings in rows]
    return found[-1]


# --- A4 ---


def test_a4_fails_where_two_linked_nodes_are_in_different_groups() -> None:
    """Slide "Problematic Scenario": {2, 3} is such a set, and node 2 is in the group of node 1."""
    text = "2 and 3 are linked, but 2 follows 1 in group (1, 1) and 3 follows 3 in group (3, 1)"
    found = judge("A4", [member(1), member(1), member(3)], PATH)
    assert found == Witness((2, 3), text)


def test_a4_is_content_where_who_is_in_the_middle_leads() -> None:
    assert judge("A4", [member(2)] * 3, PATH) is None


def test_a4_fails_where_the_leader_is_not_linked_to_all_who_follow_it() -> None:
    assert judge("A4", [member(1)] * 3, PATH) == Witness(
        (2,), "2 is normal and follows 1, which does not belong to 2 and 3, who are linked"
    )
    lone = judge("A4", [member(1), member(1)], [])
    assert lone == Witness((2,), "2 is normal and follows 1, which is not linked to it")


def test_a4_fails_where_the_leader_has_formed_another_group() -> None:
    text = "1 and 2 are linked, but 1 follows 1 in group (1, 2) and 2 follows 1 in group (1, 1)"
    assert judge("A4", [member(1, 2), member(1)]) == Witness((1, 2), text)


def test_a4_lets_nodes_without_a_link_be_apart() -> None:
    assert judge("A4", [member(1), member(1), member(3)], [(1, 2)]) is None
    assert judge("A4", [member(1), DOWN, member(3)], PATH) is None


@pytest.mark.parametrize("name", ["A4", "A4p"])
def test_both_fail_where_a_live_node_is_in_an_election_or_its_leader_is_down(name: str) -> None:
    assert judge(name, [member(1), ELECTION]) == Witness((2,), "2 is in election")
    assert judge(name, [DOWN, member(1)]) == Witness(
        (2,), "2 is normal and follows 1, which is not up"
    )
    nobody = Standing(Status.NORMAL)
    assert judge(name, [nobody]) == Witness((1,), "1 is normal and follows nobody")


@pytest.mark.parametrize("name", ["A4", "A4p"])
@pytest.mark.parametrize(
    "leaders", [(1, 1, 1), (3, 3, 3), (1, 2, 3), (1, 1, 3), (2, 2, 2), (2, 1, 1), (0, 2, 2)]
)
def test_both_are_a2_where_all_are_linked_and_there_are_no_groups(
    name: str, leaders: tuple[int, ...]
) -> None:
    """Slide "Specification without Assumptions 8 and 9": assertion 2 is a special case."""
    standings = [Standing(Status.NORMAL, leader) if leader else DOWN for leader in leaders]
    assert (judge(name, standings) is None) is (judge("A2", standings) is None)


# --- A4' ---


@pytest.mark.parametrize(
    ("leaders", "links"),
    [
        ((1, 1, 3), PATH),
        ((2, 2, 2), PATH),
        ((1, 1, 3, 1), RING),
        ((1, 1, 3, 3), [(1, 2), (2, 3), (3, 4)]),
        ((1, 1, 1, 1), [(1, 2), (2, 3), (3, 4)]),
        ((1, 2), []),
    ],
)
def test_a4_weakened_is_content_with_as_many_groups_as_cliques_are_needed(
    leaders: tuple[int, ...], links: Links
) -> None:
    assert judge("A4p", list(map(member, leaders)), links) is None


def test_a4_weakened_fails_where_there_are_more_groups_than_are_needed() -> None:
    assert judge("A4p", list(map(member, (1, 2, 3))), PATH) == Witness(
        (1, 2, 3), "there are 3 groups where 2 would do: 1; 2; 3"
    )
    assert judge("A4p", list(map(member, (1, 2, 1)))) == Witness(
        (1, 2), "there are 2 groups where 1 would do: 1 and 3; 2"
    )


def test_a4_weakened_fails_where_a_node_is_not_in_the_group_of_its_leader() -> None:
    assert judge("A4p", [member(1, 2), member(1)]) == Witness(
        (2, 1), "2 follows 1 in group (1, 1), but 1 follows 1 in group (1, 2)"
    )
    swapped = [Standing(Status.NORMAL, leader) for leader in (2, 1)]
    assert judge("A4p", swapped) == Witness((1, 2), "1 follows 2, but 2 follows 1")


def test_a4_weakened_fails_where_a_node_cannot_reach_its_leader() -> None:
    assert judge("A4p", [member(1), member(2), member(1)], [(1, 2)]) == Witness(
        (3, 1), "3 is normal and follows 1, which it cannot reach"
    )


def test_a_path_to_the_leader_goes_over_live_nodes() -> None:
    assert judge("A4p", [member(1), member(1), member(1)], PATH) is None
    assert judge("A4p", [member(1), DOWN, member(1)], PATH) is not None


def test_a4_weakened_counts_those_who_follow_different_leaders_as_different_groups() -> None:
    apart = [Standing(Status.NORMAL, leader) for leader in (1, 2)]
    assert judge("A4p", apart) == Witness((1, 2), "there are 2 groups where 1 would do: 1; 2")


# --- S4 ---

ALONE = [member(1), member(2)]


def test_s4_fails_where_a_leader_forms_a_group_under_a_number_that_it_has_given_up() -> None:
    again = Witness((1,), "1 forms a group (1, 1), which there was before")
    assert judged("S4", ALONE, [ELECTION, member(2)], ALONE) == again
    assert judged("S4", ALONE, [DOWN, member(2)], ALONE) == again
    assert judged("S4", ALONE, [member(1, 2), member(2)], ALONE) == again
    assert judged("S4", ALONE, [ELECTION, member(2)], ALONE, [member(1, 2), DOWN]) == again


def test_s4_fails_where_two_leaders_use_one_number() -> None:
    same = [Standing(Status.NORMAL, leader, (7,)) for leader in (1, 2)]
    assert judged("S4", same) == Witness((2,), "2 forms a group (7), which there was before")


def test_s4_lets_a_group_go_on_and_followers_come_go_and_stay_behind() -> None:
    run: list[Standings] = [
        ALONE,
        [member(1, 2), ELECTION],
        [member(1, 2), member(1, 2)],
        [DOWN, member(1, 2)],
        [member(1, 3), member(1, 2)],
        [member(1, 3), member(2, 2)],
    ]
    for end in range(1, len(run) + 1):
        assert judged("S4", *run[:end]) is None


def test_s4_fails_where_only_some_nodes_at_work_are_in_a_group() -> None:
    assert judged("S4", [member(1), Standing(Status.NORMAL, 1)]) == Witness(
        (2,), "2 is normal and follows 1, but in no group"
    )
    assert judged("S4", [member(1), ELECTION]) is None


def test_s4_says_nothing_where_there_are_no_groups() -> None:
    plain = [Standing(Status.NORMAL, 1)] * 2
    assert judged("S4", plain, [ELECTION] * 2, plain) is None


# --- all that remember something ---


@pytest.mark.parametrize("name", [name for name, claim in CLAIMS.items() if claim.fold])
def test_a_row_that_is_seen_twice_changes_nothing(name: str) -> None:
    fold = CLAIMS[name].fold
    assert fold is not None
    rows = [
        row(s) for s in (ALONE, [DOWN, member(2)], ALONE, [ELECTION, member(2)], [member(2)] * 2)
    ]
    memory = fold.first
    for before, after in pairwise([*rows, rows[0]]):
        memory = fold.then(memory, before)
        assert fold.then(memory, before) == memory
        memory = fold.then(memory, after)


# --- G1 ---


EACH_ALONE = [leads(1), leads(2), leads(3)]


def test_g1_asks_that_a_newcomer_is_told_with_the_leader_that_it_had() -> None:
    told = leads(1, 2, counter=2, owed={2: 2})
    assert judged("G1", EACH_ALONE, [told, member(1, 2), leads(3)]) is None
    untold = leads(1, 2, counter=2)
    text = "1 leads group (1, 2) and is told nothing of 2, which comes from group (2, 1)"
    found = judged("G1", EACH_ALONE, [untold, member(1, 2), leads(3)])
    assert found == Witness((1, 2), text)
    wrong = leads(1, 2, counter=2, owed={2: 1})
    text = "1 leads group (1, 2) and is told {(2, 1)} of 2, which comes from group (2, 1)"
    assert judged("G1", EACH_ALONE, [wrong, member(1, 2), leads(3)]) == Witness((1, 2), text)


def test_g1_waits_until_the_newcomer_is_in_the_group_as_well() -> None:
    untold = leads(1, 2, counter=2)
    assert judged("G1", EACH_ALONE, [untold, ELECTION, leads(3)]) is None
    assert judged("G1", EACH_ALONE, [untold, leads(2), leads(3)]) is None
    assert judged("G1", EACH_ALONE, [untold, DOWN, leads(3)]) is None


def test_g1_asks_that_whom_nobody_has_dealt_with_is_told_again() -> None:
    first = [leads(1, 2, counter=2, owed={2: 2}), member(1, 2), leads(3)]
    between = [ELECTION, ELECTION, ELECTION]
    came = leads(1, 2, 3, counter=3, owed={2: 2, 3: 3})
    assert judged("G1", EACH_ALONE, first, between, [came, member(1, 3), member(1, 3)]) is None
    forgot = leads(1, 2, 3, counter=3, owed={3: 3})
    text = "1 leads group (1, 3) and is told nothing of 2, which comes from the same group"
    found = judged("G1", EACH_ALONE, first, between, [forgot, member(1, 3), member(1, 3)])
    assert found == Witness((1, 2), f"{text} as its leader")


def test_g1_asks_that_nobody_is_told_again_that_was_dealt_with() -> None:
    first = [leads(1, 2, counter=2, owed={2: 2}), member(1, 2), leads(3)]
    dealt = [leads(1, 2, counter=2), member(1, 2), leads(3)]
    silent = [leads(1, 2, counter=3), member(1, 3), leads(3)]
    assert judged("G1", EACH_ALONE, first, dealt, silent) is None
    again = [leads(1, 2, counter=3, owed={2: 2}), member(1, 3), leads(3)]
    text = "1 leads group (1, 3) and is told {(2, 2)} of 2, which comes from the same group"
    assert judged("G1", EACH_ALONE, first, dealt, again) == Witness((1, 2), f"{text} as its leader")


def test_g1_says_nothing_of_where_nodes_were_before_the_run_began() -> None:
    assert judged("G1", [leads(1, 2), member(1), leads(3)]) is None


# --- G2 ---


def test_g2_asks_that_the_highest_priority_leads_and_of_equals_the_stronger() -> None:
    assert judge("G2", [stands(2, (2, 1), 1), stands(2, (2, 1), 5)]) is None
    assert judge("G2", [stands(1, (1, 1), 5), stands(1, (1, 1), 5)]) is None
    found = judge("G2", [stands(1, (1, 1), 1), stands(1, (1, 1), 5)])
    text = "2 is the strongest of 1 and 2, but 1 is normal and follows 1"
    assert found == Witness((1, 2), text)


def test_g2_asks_for_one_group_of_all_that_are_linked() -> None:
    apart = [stands(1, (1, 1)), stands(2, (2, 1))]
    text = "1 is the strongest of 1 and 2, but 2 is normal and follows 2"
    assert judge("G2", apart) == Witness((2, 1), text)
    assert judge("G2", apart, []) is None
    old = [stands(1, (1, 2)), stands(1, (1, 1))]
    assert judge("G2", old) == Witness((2, 1), text.replace("follows 2", "follows 1"))


def test_g2_asks_that_the_leader_knows_who_is_in_its_group() -> None:
    assert judge("G2", [leads(1, 2), stands(1, (1, 1)), DOWN]) is None
    found = judge("G2", [leads(1, 2, 3), stands(1, (1, 1)), DOWN])
    assert found == Witness((1,), "1 leads 1 and 2, and takes 1, 2 and 3 for its group")


def test_g2_says_nothing_where_not_all_are_linked() -> None:
    assert judge("G2", [stands(1, (1, 1)), stands(1, (1, 1)), stands(3, (3, 1))], PATH) is None


def test_g2_asks_that_nobody_leads_where_nobody_stands() -> None:
    assert judge("G2", [stands(None, (1, 1), 0), stands(None, (2, 1), 0)]) is None
    found = judge("G2", [stands(1, (1, 1), 0), stands(1, (1, 1), 0)])
    assert found == Witness((1,), "nobody stands, but 1 is normal and follows 1")
