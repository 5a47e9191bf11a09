"""Which runs of a case are made."""

from math import factorial

import pytest

from electorate.costs import Case, Extreme
from electorate.costs.variant import RUNS_MAX, Variant, batches_of, is_sampled, whole

ANYWHERE = Case("anywhere", "settle", ranks="any")
SUBSETS = Case(
    "subsets",
    "settle",
    ranks="any",
    numbers={"k": "1..N"},
    sets={"S": "k of 1..N"},
    least=Extreme("rising", {"S": "N-k+1..N"}),
    most=Extreme("falling", {"S": "1..k"}),
)


def variants(case: Case, nodes: int, samples: int = 20, seed: int = 0) -> list[Variant]:
    batches = batches_of(case, nodes, samples, seed).batches
    return [variant for batch in batches for variant in batch.variants]


@pytest.mark.parametrize("nodes", range(1, 9))
def test_up_to_eight_nodes_every_placement_is_tried_once(nodes: int) -> None:
    placements = {variant.ranks for variant in variants(ANYWHERE, nodes)}
    assert len(placements) == len(variants(ANYWHERE, nodes)) == factorial(nodes - 1) <= RUNS_MAX
    assert all(sorted(ranks) == list(range(1, nodes + 1)) for ranks in placements)
    assert {ranks[-1] for ranks in placements} == {nodes}
    assert not is_sampled(ANYWHERE, nodes)


def test_of_nine_nodes_a_sample_is_drawn_that_the_seed_decides() -> None:
    assert is_sampled(ANYWHERE, 9)
    drawn = variants(ANYWHERE, 9)
    assert len(drawn) == 20
    assert drawn == variants(ANYWHERE, 9)
    assert drawn != variants(ANYWHERE, 9, seed=1)
    assert all(sorted(v.ranks) == list(range(1, 10)) and v.ranks[-1] == 9 for v in drawn)


def test_every_set_of_every_size_is_tried() -> None:
    tried = {(v.numbers["k"], v.sets["S"]) for v in variants(SUBSETS, 3)}
    sets = [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
    assert tried == {(len(members), members) for members in sets}
    assert len(variants(SUBSETS, 3)) == 2 * len(sets)


def test_a_sample_begins_with_the_extremes_and_keeps_both_ends_of_a_range() -> None:
    batches = batches_of(SUBSETS, 12, 20, 0)
    assert not batches.complete
    assert [batch.numbers["k"] for batch in batches.batches] == [1, 3, 5, 8, 10, 12]
    for batch in batches.batches:
        k = batch.numbers["k"]
        least, most, *drawn = batch.variants
        assert least == Variant(batch.numbers, {"S": tuple(range(13 - k, 13))}, ())
        falling = (*range(11, 0, -1), 12)
        assert most == Variant(batch.numbers, {"S": tuple(range(1, k + 1))}, falling)
        assert len(drawn) == 4
        assert all(len(variant.sets["S"]) == k for variant in drawn)


def test_numbers_alone_are_never_sampled() -> None:
    case = Case("distance", "settle", numbers={"d": "0..N-1"})
    assert [v.numbers["d"] for v in variants(case, 64)] == list(range(64))


def test_half_a_node_is_refused() -> None:
    with pytest.raises(ValueError, match="'N/2' is 3/2, which is no whole number"):
        whole("N/2", {"N": 3})


def test_a_set_says_how_many_of_what() -> None:
    with pytest.raises(ValueError, match=r"a set is written `k of 1\.\.N`, not .1\.\.N."):
        variants(Case("odd", "settle", sets={"S": "1..N"}), 3)
