"""Members are ranked by attribute, then id; either end of the scale may be the strong one."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from electorate.core import Members, Strongest

DIRECTIONS: tuple[Strongest, ...] = get_args(Strongest)


def test_members_are_in_order_of_id() -> None:
    assert Members.of([3, 1, 2]).ids == (1, 2, 3)


def test_the_lowest_id_is_the_strongest_unless_told_otherwise() -> None:
    members = Members.of([1, 2, 3])
    assert members.strongest_of([2, 3]) == 2
    assert members.stronger_than(2) == (1,)
    assert members.weaker_than(2) == (3,)


def test_the_highest_id_is_the_strongest_where_configured() -> None:
    members = Members.of([1, 2, 3], "highest")
    assert members.strongest_of([1, 2]) == 2
    assert members.stronger_than(2) == (3,)
    assert members.weaker_than(2) == (1,)


def test_an_attribute_counts_before_the_id() -> None:
    attributes = {1: 5, 2: 7, 3: 5}
    low = Members.of([1, 2, 3], "lowest", attributes)
    high = Members.of([1, 2, 3], "highest", attributes)
    assert sorted(low.ids, key=low.rank) == [2, 3, 1]
    assert sorted(high.ids, key=high.rank) == [1, 3, 2]


def test_a_node_without_an_attribute_has_attribute_zero() -> None:
    assert Members.of([1, 2, 3], "highest", {2: -1}).attributes == (0, -1, 0)


def test_the_ring_closes() -> None:
    members = Members.of([10, 20, 30])
    assert [members.after(node) for node in members.ids] == [20, 30, 10]
    assert Members.of([4]).after(4) == 4


def test_the_others_are_everybody_else() -> None:
    assert Members.of([1, 2, 3]).others(2) == (1, 3)


def test_ids_must_differ() -> None:
    with pytest.raises(ValueError, match="node ids must differ"):
        Members.of([1, 2, 1])


def test_there_is_at_least_one_member() -> None:
    with pytest.raises(ValueError, match="there must be at least one node"):
        Members.of([])


def test_an_attribute_belongs_to_a_member() -> None:
    with pytest.raises(ValueError, match="attribute given for 9, which is not a member"):
        Members.of([1, 2], attributes={9: 1})


def test_a_stranger_has_neither_rank_nor_successor() -> None:
    members = Members.of([1, 2])
    with pytest.raises(ValueError, match="9 is not a member"):
        members.rank(9)
    with pytest.raises(ValueError, match="9 is not a member"):
        members.after(9)


@given(
    st.dictionaries(st.integers(1, 99), st.integers(-3, 3), min_size=1, max_size=8),
    st.sampled_from(DIRECTIONS),
)
def test_rank_is_a_strict_order(attributes: dict[int, int], strongest: Strongest) -> None:
    members = Members.of(attributes, strongest, attributes)
    assert len({members.rank(node) for node in members.ids}) == len(members.ids)
    for node in members.ids:
        stronger, weaker = members.stronger_than(node), members.weaker_than(node)
        assert sorted((*stronger, node, *weaker)) == list(members.ids)
        assert members.strongest_of((*weaker, node)) == node


def test_the_ring_goes_by_id_and_may_leave_nodes_out() -> None:
    members = Members.of([1, 2, 3, 4], "highest", {1: 9})
    assert [members.after(node) for node in members.ids] == [2, 3, 4, 1]
    assert members.after(1, {1, 4}) == 4
    assert members.after(4, {2}) == 2
    assert members.after(3, {3}) == 3
    assert members.after(3, set()) == 3


@pytest.mark.parametrize("strongest", get_args(Strongest))
def test_of_equal_nodes_neither_is_stronger(strongest: Strongest) -> None:
    members = Members.of((1, 2, 3), strongest, equal=(3, 2))
    assert not members.is_stronger(2, 3)
    assert not members.is_stronger(3, 2)
    assert members.is_stronger(1, 2) == members.is_stronger(1, 3) == (strongest == "lowest")
    assert members.strongest_of((3, 2)) == 2
    assert Members.of((1, 2), strongest, {2: 7}, equal=(1, 2)).rank(1) != members.rank(2)
