"""Clique covers, and on which networks A4 can be kept."""

import pytest

from electorate.claims.connectivity import Connectivity
from electorate.claims.network import (
    covers,
    kept_by,
    minimum_covers,
    networks,
    way_to_keep_a4,
    way_to_keep_a4_weakened,
)

PATH = Connectivity((1, 2, 3), frozenset({(1, 2), (2, 3)}))


def test_the_covers_of_the_slide() -> None:
    """Souto, slide "Solution (2/2)": the note on clique covers."""
    assert set(covers(PATH)) == {((1, 2), (3,)), ((1,), (2, 3)), ((1,), (2,), (3,))}
    assert set(minimum_covers(PATH)) == {((1, 2), (3,)), ((1,), (2, 3))}


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_covers_share_out_all_nodes_among_cliques_and_the_smallest_are_found(n: int) -> None:
    for network in networks(n):
        found = list(covers(network))
        assert len(set(found)) == len(found)
        for cover in found:
            assert sorted(node for group in cover for node in group) == list(network.nodes)
            assert all(network.are_linked(group) for group in cover)
        assert min(map(len, found)) == network.cover()
        smallest = {cover for cover in found if len(cover) == network.cover()}
        assert set(minimum_covers(network)) == smallest


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_way_to_keep_a_claim_keeps_it(n: int) -> None:
    for network in networks(n):
        way = way_to_keep_a4(network)
        assert way is None or kept_by("A4", network, way)
        assert kept_by("A4p", network, way_to_keep_a4_weakened(network))
