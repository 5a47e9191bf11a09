"""What an election on the ring of attributes costs, every delay being exactly T.

I. Gupta, "Ring Leader Election": slides "Worst-Case Analysis", "Best Case?" and "Multiple
Initiators?"; N counts every node, and nobody fails.
"""

from itertools import combinations

import pytest

from electorate.core import NodeId
from tests.paper.ring import Cost, Play, cost, placements

SIZES = range(2, 9)
GUPTA = (3, 32, 5, 80, 6, 12)
"""Processes named by their attribute, N80 and after it N6, on a ring of six."""


def everybody(n: int) -> range:
    return range(1, n + 1)


def first_cost(ranks: tuple[int, ...], initiator: NodeId) -> Cost:
    """What the very first election costs as printed, where only the first one is certain to end."""
    return cost("ring-attribute-as-printed", ranks, [initiator], ["newcomers=wait"])


def test_worst_case_the_initiator_is_the_successor_of_the_would_be_leader() -> None:
    """N6 initiates: N-1 messages to N80, N once round unchanged, N for Elected."""
    n = len(GUPTA)
    n6 = GUPTA.index(6) + 1
    assert cost("ring-attribute", GUPTA, [n6]) == Cost(3 * n - 1, 3 * n - 1)
    assert first_cost(GUPTA, n6) == Cost(3 * n - 1, 3 * n - 1)


def test_best_case_the_initiator_is_the_would_be_leader() -> None:
    """N80 initiates: 2N messages and 2N message times."""
    n = len(GUPTA)
    n80 = GUPTA.index(80) + 1
    assert cost("ring-attribute", GUPTA, [n80]) == Cost(2 * n, 2 * n)
    assert first_cost(GUPTA, n80) == Cost(2 * n, 2 * n)


@pytest.mark.parametrize("n", SIZES)
def test_one_initiator_costs_2n_and_its_distance_to_the_best(n: int) -> None:
    ranks = tuple(everybody(n))
    for distance in range(n):
        initiator = (n - distance - 1) % n + 1
        expected = Cost(2 * n + distance, 2 * n + distance)
        assert cost("ring-attribute", ranks, [initiator]) == expected
        assert first_cost(ranks, initiator) == expected


@pytest.mark.parametrize("n", range(2, 6))
def test_several_initiators_cost_between_these_bounds(n: int) -> None:
    """Only the run of the strongest initiator goes the whole way: met over all placements."""
    for k in everybody(n):
        costs = {
            Play("ring-attribute", ranks).cost(initiators).messages
            for ranks in placements(n)
            for initiators in combinations(everybody(n), k)
        }
        # If everybody starts, the best node is the strongest initiator, and its run wins.
        distance_max = n - 1 if k < n else 0
        assert min(costs) == 2 * n + k - 1
        assert max(costs) == 2 * n + distance_max + sum(n - j for j in range(1, k))


def test_the_quick_count_agrees_with_the_simulator() -> None:
    for ranks in placements(4):
        for initiators in ([1], [2, 3], [1, 2, 4], everybody(4)):
            counted = Play("ring-attribute", ranks).cost(initiators)
            assert counted == cost("ring-attribute", ranks, initiators)
