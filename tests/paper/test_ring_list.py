"""What an election on the list-collecting ring costs, every delay being exactly T.

Carnegie Mellon University, "Coordinator Election", section "Ring Election": the list goes round
once and its outcome goes round once.
"""

from itertools import combinations

import pytest

from tests.paper.ring import Cost, Play, cost, placements

SIZES = range(2, 9)


def everybody(n: int) -> range:
    return range(1, n + 1)


@pytest.mark.parametrize("name", ["ring-list", "ring-list-as-printed"])
@pytest.mark.parametrize("n", SIZES)
def test_one_initiator_costs_2n(n: int, name: str) -> None:
    for initiator in everybody(n):
        assert cost(name, everybody(n), [initiator]) == Cost(2 * n, 2 * n)


@pytest.mark.parametrize("n", SIZES)
def test_k_initiators_cost_2kn_as_printed(n: int) -> None:
    """The extra messages are wasted overhead."""
    for k in everybody(n):
        assert cost("ring-list-as-printed", everybody(n), range(1, k + 1)) == Cost(2 * k * n, 2 * n)


@pytest.mark.parametrize("n", range(1, 6))
def test_k_initiators_cost_less_where_the_strongest_suppresses_the_others(n: int) -> None:
    """Over all placements and all sets of k initiators, both bounds are met."""
    for k in everybody(n):
        costs = {
            Play("ring-list", ranks).cost(initiators).messages
            for ranks in placements(n)
            for initiators in combinations(everybody(n), k)
        }
        assert min(costs) == 2 * n + k - 1
        assert max(costs) == 2 * n + sum(n - j for j in range(1, k))


@pytest.mark.parametrize("name", ["ring-list", "ring-list-as-printed"])
def test_the_quick_count_agrees_with_the_simulator(name: str) -> None:
    for ranks in placements(4):
        for initiators in ([1], [2, 3], [1, 2, 4], everybody(4)):
            assert Play(name, ranks).cost(initiators) == cost(name, ranks, initiators)
