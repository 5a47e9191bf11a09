"""What an election on the ring of Chang and Roberts costs, every delay being exactly T.

M. Albano, "Leader Election", 2022, slides "Chang Roberts", "Chang-Roberts - Code" and "Properties
Chang Roberts"; nobody crashes, and N counts every node.
"""

from fractions import Fraction
from itertools import combinations
from math import factorial

import pytest

from tests.paper.ring import Cost, Play, cost, placements

SIZES = range(2, 9)
SMALL = range(1, 6)
SWALLOWING = ("chang-roberts", "chang-roberts-code")
ALL_FORMS = (*SWALLOWING, "chang-roberts-slide")


def everybody(n: int) -> range:
    return range(1, n + 1)


@pytest.mark.parametrize("name", ALL_FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_one_initiator_costs_2n_and_its_distance_to_the_strongest(n: int, name: str) -> None:
    """Best 2N, when the strongest starts; worst 3N-1, when its successor does."""
    for distance in range(n):
        initiator = (n - distance - 1) % n + 1
        expected = 2 * n + distance
        assert cost(name, everybody(n), [initiator]) == Cost(expected, expected)


@pytest.mark.parametrize("name", SWALLOWING)
@pytest.mark.parametrize("n", SIZES)
def test_all_start_on_a_rising_ring(n: int, name: str) -> None:
    """Slide "Properties Chang Roberts": 3N-1 messages per election."""
    assert cost(name, everybody(n), everybody(n)) == Cost(3 * n - 1, 2 * n)


@pytest.mark.parametrize("n", SIZES)
def test_the_code_takes_2n_plus_1_rounds(n: int) -> None:
    """What is sent in one round is received in the next, and the first round only sends."""
    assert cost("chang-roberts-code", everybody(n), everybody(n)).last + 1 == 2 * n + 1


@pytest.mark.parametrize("name", SWALLOWING)
@pytest.mark.parametrize("n", SIZES)
def test_all_start_on_a_falling_ring(n: int, name: str) -> None:
    falling = range(n, 0, -1)
    assert cost(name, falling, everybody(n)) == Cost(n * (n + 1) // 2 + n, 2 * n)


@pytest.mark.parametrize("n", SIZES)
def test_all_start_and_votes_are_never_swallowed(n: int) -> None:
    """The slide's form: every vote becomes that of the strongest, and wins once more."""
    for ranks in (everybody(n), range(n, 0, -1)):
        assert cost("chang-roberts-slide", ranks, everybody(n)).messages == n * (7 * n - 3) // 2


@pytest.mark.parametrize("n", SMALL)
def test_k_initiators_cost_between_their_bounds(n: int) -> None:
    """Over all placements and all sets of k initiators, both bounds are met."""
    for k in range(1, n + 1):
        costs = {
            Play("chang-roberts", ranks).cost(initiators).messages
            for ranks in placements(n)
            for initiators in combinations(everybody(n), k)
        }
        assert min(costs) == 2 * n + k - 1
        assert max(costs) == 2 * n + sum(n - j for j in range(1, k + 1))


@pytest.mark.parametrize("n", range(1, 8))
def test_all_start_on_a_ring_in_random_order_on_average(n: int) -> None:
    """N·H_N votes and N announcements, over all placements."""
    total = sum(Play("chang-roberts", ranks).cost(everybody(n)).messages for ranks in placements(n))
    harmonic = sum(Fraction(1, i) for i in everybody(n))
    assert Fraction(total, factorial(n - 1)) == n * harmonic + n


@pytest.mark.parametrize("name", ALL_FORMS)
def test_the_quick_count_agrees_with_the_simulator(name: str) -> None:
    for ranks in placements(4):
        for initiators in ([1], [2, 3], [1, 2, 4], everybody(4)):
            assert Play(name, ranks).cost(initiators) == cost(name, ranks, initiators)
