"""Peterson's ring in the examples: what it costs, what it keeps, and what it needs for that.

The published bound is 2N log N + O(N) messages: N nodes send two each in every round, and at most
half of the bids outlive a round. Here that is 2N⌊log₂ N⌋ for the rounds, and at most 2N for the
last bid and the announcement to go round.
"""

from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest

from electorate.check import Budget, Model, Result, check
from electorate.claims import CLAIMS
from electorate.core import Members, NodeId, Received, Send, Timing, Turns
from electorate.trace import Clock, Order, Setting, Start
from examples.peterson import Bid, Elected, Peterson, PetersonState, Phase

SIZES = range(2, 17)
WORST = [7, 11, 20, 26, 33, 39, 54, 62, 70, 78, 89, 97, 105, 113, 138]
"""The most messages that were found for each of these sizes; up to 7 there are no more."""


def bound(n: int) -> int:
    return 2 * n * (n.bit_length() - 1) + 2 * n


def elect(attributes: Sequence[int], random: Random | None = None) -> int:
    """The number of messages on a ring with these ranks; who is next to get one may be random."""
    ids = range(1, len(attributes) + 1)
    ring = Peterson(Members.of(ids, "highest", dict(zip(ids, attributes, strict=True))), Timing())
    states: dict[NodeId, PetersonState] = {}
    channels: dict[NodeId, deque[Send]] = {node: deque() for node in ids}
    sent = 0
    for node in ids:
        states[node], effects = ring.boot(node, None)
        channels[node] += (effect for effect in effects if isinstance(effect, Send))
    while ready := [node for node in ids if channels[node]]:
        sender = random.choice(ready) if random else ready[0]
        send = channels[sender].popleft()
        sent += 1
        states[send.to], effects = ring.step(states[send.to], Received(sender, send.message))
        channels[send.to] += (effect for effect in effects if isinstance(effect, Send))
    strongest = ring.members.strongest_of(ids)
    assert {ring.view(state).leader for state in states.values()} == {strongest}
    return sent


def interleaved(n: int) -> list[int]:
    """Ranks of which every other one tops its neighbours, and of those again every other one."""
    if n == 1:
        return [1]
    few = n - n // 2
    strong, weak = [few + rank for rank in interleaved(n // 2)], list(range(1, few + 1))
    return [rank for pair in zip(strong, weak, strict=False) for rank in pair] + weak[n // 2 :]


@pytest.mark.parametrize(
    ("n", "best", "mean", "worst"),
    [
        (2, 7, Fraction(7), 7),
        (3, 11, Fraction(11), 11),
        (4, 15, Fraction(50, 3), 20),
        (5, 19, Fraction(70, 3), 26),
        (6, 23, Fraction(151, 5), 33),
        (7, 27, Fraction(332, 9), 39),
    ],
)
def test_over_all_placements(n: int, best: int, mean: Fraction, worst: int) -> None:
    costs = [elect((n, *others)) for others in permutations(range(1, n))]
    assert (min(costs), Fraction(sum(costs), len(costs)), max(costs)) == (best, mean, worst)
    assert best == 4 * n - 1
    assert worst == elect(interleaved(n))


@pytest.mark.parametrize(("n", "worst"), list(zip(SIZES, WORST, strict=True)))
def test_no_placement_costs_more_than_the_published_bound(n: int, worst: int) -> None:
    random = Random(n)
    costs = [elect(random.sample(range(n), n)) for _ in range(50)]
    assert elect(interleaved(n)) == worst
    assert max(costs) <= worst < bound(n)


@pytest.mark.parametrize("n", SIZES)
def test_ranks_that_rise_or_fall_along_the_ring_take_one_round(n: int) -> None:
    assert elect(range(n)) == elect(range(n, 0, -1)) == 4 * n - 1


def test_how_long_messages_take_changes_nothing_about_their_number() -> None:
    ranks = interleaved(12)
    assert {elect(ranks, Random(seed)) for seed in range(30)} == {elect(ranks)}


@pytest.mark.parametrize("n", SIZES)
def test_only_in_the_worst_case_and_on_large_rings_it_beats_chang_and_roberts(n: int) -> None:
    """There the worst is N(N+1)/2 + N, and the average N·H + N with H = 1 + 1/2 + … + 1/N."""
    worst = n * (n + 1) // 2 + n
    average = n * sum(Fraction(1, k) for k in range(1, n + 1)) + n
    random = Random(n)
    costs = [elect(random.sample(range(n), n)) for _ in range(50)]
    assert (elect(interleaved(n)) < worst) is (n >= 12)
    assert Fraction(sum(costs), len(costs)) > average


# --- what it keeps ---

FALLING = (4, 3, 2, 1)


def judged(
    size: int,
    order: Order = Order.FIFO,
    attributes: tuple[int, ...] = (),
    budget: Budget | None = None,
) -> dict[str, int]:
    """The promises that some run breaks, and in how few moves."""
    ids = tuple(range(1, size + 1))
    setting = Setting(
        "ring", ids, strongest="highest", order=order, start=Start.BOOT, attributes=attributes
    )
    claims = [CLAIMS[name] for name in Peterson.promises]
    model = Model(setting, budget or Budget())
    found = check(setting.machine(Peterson, "sound"), model, claims, keep_going=True)
    assert not found.cuts
    return {violation.claim: violation.length for violation in found.violations}


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_promises_hold_within_the_assumptions(size: int) -> None:
    assert judged(size) == {}


@pytest.mark.parametrize("attributes", [(4, *rest) for rest in permutations((1, 2, 3))], ids=str)
def test_all_promises_hold_for_every_placement(attributes: tuple[int, ...]) -> None:
    assert judged(4, attributes=attributes) == {}


def test_each_assumption_is_needed() -> None:
    assert judged(3, budget=Budget(crashes=1)) == {"A2": 5, "S1": 10}
    assert judged(3, budget=Budget(losses=1)) == {"A2": 7}
    assert judged(4, Order.BAG, FALLING) == {"A1": 13, "A2": 18, "S1": 7}


def test_a_node_that_comes_back_holds_an_election_of_its_own() -> None:
    broken = judged(3, budget=Budget(crashes=1, recoveries=1))
    assert broken == {"A1": 13, "A2": 5, "S1": 10}


def test_ranks_that_rise_along_the_ring_do_not_show_what_the_order_is_for() -> None:
    assert judged(4, Order.BAG) == {}


def explored(size: int, *, reduced: bool) -> int:
    """How many states a search of the ring with the most messages meets."""
    ids = tuple(range(1, size + 1))
    setting = Setting(
        "ring",
        ids,
        strongest="highest",
        clock=Clock.UNBOUNDED,
        start=Start.BOOT,
        attributes=tuple(interleaved(size)),
    )
    claims = [CLAIMS["A1"], CLAIMS["S1"]]
    found = check(setting.machine(Peterson, "sound"), Model(setting, reduced=reduced), claims)
    assert found.result is Result.HOLDS
    assert found.reduced is reduced
    return found.states


def test_who_says_whom_it_hears_is_explored_in_few_orders() -> None:
    assert explored(8, reduced=False) == 4941
    assert explored(8, reduced=True) == 62
    assert explored(16, reduced=True) == 154


# --- single turns ---


def test_a_bid_that_tops_both_neighbours_moves_on_and_the_others_are_relays() -> None:
    turns = Turns(Peterson(Members.of([1, 2, 3], "highest"), Timing()))
    second = turns.step(turns.boot(1, None).state, Received(3, Bid(3)))
    assert second.effects == (Send(2, Bid(3)),)
    active = turns.step(second.state, Received(3, Bid(2))).state
    assert isinstance(active, PetersonState)
    assert (active.phase, active.bid) == (Phase.FIRST, 3)
    other = turns.step(turns.boot(2, None).state, Received(1, Bid(1))).state
    passive = turns.step(other, Received(1, Bid(3))).state
    assert isinstance(passive, PetersonState)
    assert passive.phase is Phase.RELAY
    assert turns.step(passive, Received(1, Bid(3))).effects == (Send(3, Bid(3)),)


def test_a_stranger_is_neither_passed_on_nor_followed() -> None:
    turns = Turns(Peterson(Members.of([1, 2, 3], "highest"), Timing()))
    booted = turns.boot(2, None).state
    assert turns.step(booted, Received(1, Bid(9))).effects == ()
    assert turns.step(booted, Received(1, Elected(9))).state == booted
