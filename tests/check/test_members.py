"""Changes of members: known verdicts, with their numbers. A changed number must be explained.

Two holders change the list against each other: `electorate check mandate`, where some are told that
they lead, for good, at any time, and are asked for certain changes. From boot with three or four
nodes; and from the place where five have come to two changes that know nothing of each other.
"""

import pytest

from electorate.check import Bounds, Budget, Liveness, Result, Verdict
from electorate.trace import Clock, Order
from tests.check.begun import begun
from tests.check.mandate import BARE, Case, judged, lasting, named

UNBOUNDED = Clock.UNBOUNDED
ALL = "M1 M2 M3 M4"
NAME = {node: f"{node}:inner.request(Name({node}" for node in (1, 2, 3)}
"""Asked for at its node: it leads."""
FOUR = Budget(asks=4)
"""Two are told that they lead; and two changes."""

TWO = Case(
    f"{BARE} base=2",
    3,
    FOUR,
    ALL,
    asked=(NAME[1], NAME[2], "1:Add(3", "1:Remove(2", "2:Add(3", "2:Remove(1"),
)
THREE = Case(
    f"{BARE} base=3",
    4,
    FOUR,
    "M3",
    asked=(NAME[1], NAME[2], "1:Add(4", "2:Remove(1"),
    capacity=1,
)
OLDER_LIST = Case(
    f"{BARE} base=3",
    4,
    FOUR,
    "M1",
    clock=UNBOUNDED,
    asked=(NAME[1], NAME[2], "1:Add(4", "1:Remove(2"),
    capacity=2,
    firings=0,
)
"""Who is in office changes the list, though another may have come into office since."""
OVERTAKEN = Case(
    BARE,
    3,
    FOUR,
    "M3",
    order=Order.SET,
    counter=3,
    asked=(NAME[1], NAME[2], "1:StepDown", "1:Ended"),
)
"""Who steps down and claims again is overtaken by its own words of the term before."""
OVERTAKEN_SOON = OVERTAKEN._replace(
    budget=Budget(asks=2), moves=named(1, 2), asked=("1:StepDown", "1:Ended")
)
"""Both are told at once."""
BACK_AGAIN = Case(
    f"{BARE} base=3", 3, FOUR, ALL, asked=(NAME[1], NAME[3], "1:Remove(3", "1:Add(3"), capacity=2
)
"""Who is removed, and wants the office, is added again."""
SHRINKING = BACK_AGAIN._replace(asked=(NAME[1], NAME[2], "1:Remove(3", "1:Remove(2"))
HANDED_OVER = Case(
    f"{BARE} base=2 period=9",
    3,
    Budget(asks=5),
    ALL,
    asked=(NAME[1], "1:Add(3", "1:Transfer(2", "1:Ended", "2:Remove(1"),
    capacity=2,
)
"""Who has begun a change hands its office over, and its heir removes it."""
STATES_MAX = 100_000_000

SAFE = [
    (TWO, 1_803_827),
    (THREE._replace(claims="M1 M2", clock=UNBOUNDED, firings=0), 1_397_762),
    (THREE, 2_764_656),
    (OVERTAKEN_SOON._replace(claims=ALL, counter=1), 94_110),
    (HANDED_OVER, 362_173),
    (BACK_AGAIN, 3_311_133),
    (BACK_AGAIN._replace(claims="M1 M2", clock=UNBOUNDED, firings=0), 457_487),
]
LARGE = [
    (OLDER_LIST._replace(claims="M1 M2"), 41_420_860),
    (TWO._replace(budget=Budget(1, 1, asks=3)), 5_443_939),
    (SHRINKING, 5_795_396),
]


def expect_held(verdict: Verdict, states: int) -> None:
    assert verdict.result is (Result.WITHIN_BOUNDS if verdict.cuts else Result.HOLDS)
    assert not verdict.unspent
    assert verdict.states == states


@pytest.mark.parametrize(("case", "states"), SAFE, ids=[str(states) for _, states in SAFE])
def test_two_holders_that_change_the_members_never_meet(case: Case, states: int) -> None:
    expect_held(judged(case, STATES_MAX), states)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "states"), LARGE, ids=[str(states) for _, states in LARGE])
def test_nor_do_they_in_a_large_search(case: Case, states: int) -> None:
    expect_held(judged(case, STATES_MAX), states)


@pytest.mark.slow
def test_nor_do_they_after_a_restart_amid_changes() -> None:
    """One change has been proposed, and two more have been asked for in vain."""
    bounds = Bounds(2, 1)
    expect_held(
        begun("three_at_once.txt", "", Budget(), ALL, bounds=bounds, order=Order.FIFO), 9_854_838
    )


CRASH = Budget(crashes=1, asks=1)
BACK = Budget(crashes=1, recoveries=1, asks=1)
LOSS = Budget(losses=1, asks=1)

LIVE = [
    (lasting(2, 3, CRASH), 15_412, 15),
    (lasting(2, 3, CRASH, "highest"), 15_348, 15),
    (lasting(3, 3, CRASH), 32_173, 28),
    (lasting(3, 4, CRASH, "highest"), 108_572, 28),
    (lasting(3, 4, LOSS, "highest"), 7_451, 15),
    (lasting(2, 3, BACK), 130_704, 16),
]
"""States, and the longest time in ticks to an office that all know, with members decided."""

LIVE_LARGE = [
    (lasting(3, 3, Budget(asks=2)), 13_027, 25),
    (lasting(3, 4, Budget(asks=2)), 22_545, 25),
    (lasting(3, 4, CRASH), 108_391, 32),
    (lasting(4, 4, CRASH), 212_748, 48),
    (lasting(4, 4, CRASH, "highest", "register"), 655_452, 48),
    (lasting(3, 4, CRASH, "highest", "register"), 186_251, 28),
    (lasting(3, 3, BACK), 713_363, 29),
    (lasting(3, 3, BACK, "highest", "register"), 1_020_697, 41),
    (lasting(3, 4, BACK), 2_320_437, 32),
    (lasting(2, 3, Budget(crashes=1, recoveries=1, asks=2), "highest"), 1_216_815, 37),
    (lasting(2, 3, Budget(crashes=2, recoveries=1, asks=1)), 1_072_892, 31),
    (lasting(3, 4, Budget(crashes=2, asks=1), "highest"), 792_689, 28),
    (lasting(3, 3, Budget(losses=1, crashes=1, asks=1)), 153_511, 28),
    (lasting(3, 3, Budget(losses=1, asks=2)), 79_234, 36),
    (lasting(3, 3, Budget(cuts=1, heals=1, asks=1)), 732_354, 46),
    (lasting(3, 3, Budget(cuts=2, asks=1)), 974_878, 46),
]


def text(case: Case) -> str:
    """How many members of how many nodes, and what may befall them."""
    return f"{case.nodes} {case.strongest} {case.form} {case.rules} {case.budget.texts()}"


def expect_live(case: Case, states: int, tau: int) -> None:
    verdict = judged(case)
    assert verdict.result is Result.HOLDS
    assert verdict.liveness is Liveness.LIVE
    assert not verdict.cuts
    assert (verdict.states, verdict.tau) == (states, tau)


@pytest.mark.parametrize(("case", "states", "tau"), LIVE, ids=[text(case) for case, *_ in LIVE])
def test_every_change_is_decided_in_the_end(case: Case, states: int, tau: int) -> None:
    """And somebody is in office, whom all members know."""
    expect_live(case, states, tau)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "states", "tau"), LIVE_LARGE, ids=[text(case) for case, *_ in LIVE_LARGE]
)
def test_so_it_is_in_a_larger_search(case: Case, states: int, tau: int) -> None:
    expect_live(case, states, tau)
