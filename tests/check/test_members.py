"""Changes of members: known verdicts, with their numbers. A changed number must be explained.

Two holders change the list against each other. From boot with three or four nodes; and with five
from the place where each of them has proposed a change that the other knows nothing of.
"""

import pytest

from electorate.check import Bounds, Budget, Liveness, Result
from electorate.protocols.mandate.message import Add, Ended, Remove, Transfer
from electorate.trace import Clock, Order
from tests.check.members import (
    OLDER_LIST,
    OVERTAKEN,
    THREE_AT_ONCE,
    TWO_AGAINST_EACH_OTHER,
    Case,
    Lasting,
    judged,
    lasting,
)

CLOCKS, UNBOUNDED, FIFO = Clock.CLOCKS, Clock.UNBOUNDED, Order.FIFO
ALL = "M1 M2 M3 M4"
TWO_OF_THREE = {1: (Add(3), Remove(2)), 2: (Add(3), Remove(1))}
THREE_OF_FOUR = {1: (Add(4),), 2: (Remove(1),)}

TWO = Case("base=2 inner.rivals=12", 3, ALL, wishes=TWO_OF_THREE, clock=CLOCKS, order=FIFO)
THREE = Case("base=3 inner.rivals=12", 4, "M3", wishes=THREE_OF_FOUR, order=FIFO)
AT_ONCE = Case("base=3 inner.rivals=12", 4, ALL, THREE_AT_ONCE, order=FIFO)
AGAINST = Case("base=4 inner.rivals=13", 5, "M3", TWO_AGAINST_EACH_OTHER, order=FIFO)
ASKED = Budget(asks=2)
BACK_AGAIN = Case(
    "base=3 inner.rivals=13",
    3,
    ALL,
    wishes={1: (Remove(3), Add(3))},
    clock=CLOCKS,
    order=FIFO,
    budget=ASKED,
    bounds=Bounds(2, 2),
)
"""Who is removed, and wants the office, is added again."""
SHRINKING = BACK_AGAIN._replace(rules="base=3 inner.rivals=12", wishes={1: (Remove(3), Remove(2))})
HANDED_OVER = BACK_AGAIN._replace(
    rules="base=2 inner.rivals=1 period=9",
    wishes={1: (Add(3), Transfer(2), Ended()), 2: (Remove(1),)},
    budget=Budget(asks=4),
)
"""Who has begun a change hands its office over, and its heir removes it."""
STATES_MAX = 100_000_000

SAFE = [
    (TWO._replace(budget=ASKED, bounds=Bounds(counter=2)), 3_764),
    (THREE._replace(claims="M1 M2", budget=ASKED, bounds=Bounds(1, 2, 0)), 965_148),
    (AT_ONCE._replace(clock=CLOCKS, bounds=Bounds(counter=2)), 591_982),
    (AT_ONCE._replace(claims="M1 M2", bounds=Bounds(counter=2, firings=1)), 714_842),
    (OVERTAKEN._replace(claims=ALL, bounds=Bounds(counter=2)), 1_336_207),
    (HANDED_OVER, 360_936),
    (BACK_AGAIN, 1_732_410),
    (BACK_AGAIN._replace(claims="M1 M2", clock=UNBOUNDED, bounds=Bounds(2, 2, 0)), 341_770),
]
LARGE = [
    (OLDER_LIST._replace(claims="M1 M2"), 28_009_923),
    (THREE._replace(clock=CLOCKS, budget=ASKED, bounds=Bounds(1, 2)), 2_184_938),
    (TWO._replace(budget=ASKED, bounds=Bounds(counter=3)), 13_921_216),
    (TWO._replace(budget=Budget(1, 1, asks=1), bounds=Bounds(counter=3)), 11_493_332),
    (AGAINST._replace(claims="M1 M2", bounds=Bounds(counter=3, firings=0)), 6_105_080),
    (AGAINST._replace(clock=CLOCKS, bounds=Bounds(2, 3)), 32_862_406),
    (SHRINKING, 3_230_405),
]


def expect_held(case: Case, states: int) -> None:
    verdict = judged(case, STATES_MAX)
    assert verdict.result is (Result.WITHIN_BOUNDS if verdict.cuts else Result.HOLDS)
    assert verdict.states == states


@pytest.mark.parametrize(("case", "states"), SAFE, ids=[str(states) for _, states in SAFE])
def test_two_holders_that_change_the_members_never_meet(case: Case, states: int) -> None:
    expect_held(case, states)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "states"), LARGE, ids=[str(states) for _, states in LARGE])
def test_nor_do_they_in_a_large_search(case: Case, states: int) -> None:
    expect_held(case, states)


CRASH = Budget(crashes=1, asks=1)
BACK = Budget(crashes=1, recoveries=1, asks=1)
LOSS = Budget(losses=1, asks=1)

LIVE = [
    (Lasting(2, 3, CRASH), 15_412, 15),
    (Lasting(2, 3, CRASH, "highest"), 15_348, 15),
    (Lasting(3, 3, CRASH), 32_173, 28),
    (Lasting(3, 4, CRASH, "highest"), 108_572, 28),
    (Lasting(3, 4, LOSS, "highest"), 7_451, 15),
    (Lasting(2, 3, BACK), 130_704, 16),
]
"""States, and the longest time in ticks to an office that all know, with members decided."""

LIVE_LARGE = [
    (Lasting(3, 3, Budget(asks=2)), 13_027, 25),
    (Lasting(3, 4, Budget(asks=2)), 22_545, 25),
    (Lasting(3, 4, CRASH), 108_391, 32),
    (Lasting(4, 4, CRASH), 212_748, 48),
    (Lasting(4, 4, CRASH, "highest", "register"), 655_371, 48),
    (Lasting(3, 4, CRASH, "highest", "register"), 186_251, 28),
    (Lasting(3, 3, BACK), 713_363, 29),
    (Lasting(3, 3, BACK, "highest", "register"), 1_012_942, 41),
    (Lasting(3, 4, BACK), 2_320_437, 32),
    (Lasting(2, 3, Budget(crashes=1, recoveries=1, asks=2), "highest"), 1_216_815, 37),
    (Lasting(2, 3, Budget(crashes=2, recoveries=1, asks=1)), 1_072_892, 31),
    (Lasting(3, 4, Budget(crashes=2, asks=1), "highest"), 792_689, 28),
    (Lasting(3, 3, Budget(losses=1, crashes=1, asks=1)), 153_511, 28),
    (Lasting(3, 3, Budget(losses=1, asks=2)), 79_234, 36),
    (Lasting(3, 3, Budget(cuts=1, heals=1, asks=1)), 732_354, 46),
    (Lasting(3, 3, Budget(cuts=2, asks=1)), 974_878, 46),
]


def expect_live(case: Lasting, states: int, tau: int) -> None:
    verdict = lasting(case)
    assert verdict.result is Result.HOLDS
    assert verdict.liveness is Liveness.LIVE
    assert not verdict.cuts
    assert (verdict.states, verdict.tau) == (states, tau)


@pytest.mark.parametrize(("case", "states", "tau"), LIVE, ids=[str(case) for case, *_ in LIVE])
def test_every_change_is_decided_in_the_end(case: Lasting, states: int, tau: int) -> None:
    """And somebody is in office, whom all members know."""
    expect_live(case, states, tau)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "states", "tau"), LIVE_LARGE, ids=[str(case) for case, *_ in LIVE_LARGE]
)
def test_so_it_is_in_a_larger_search(case: Lasting, states: int, tau: int) -> None:
    expect_live(case, states, tau)
