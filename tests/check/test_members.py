"""Changes of members: known verdicts, with their numbers. A changed number must be explained.

Two holders change the list against each other. From boot with three or four nodes; and with five
from the place where each of them has proposed a change that the other knows nothing of.
"""

import pytest

from electorate.check import Bounds, Budget, Liveness, Result
from electorate.protocols.mandate.message import Add, Remove
from electorate.trace import Clock, Order
from tests.check.members import (
    OLDER_LIST,
    OVERTAKEN,
    THREE_AT_ONCE,
    TWO_AGAINST_EACH_OTHER,
    Case,
    judged,
    lasting,
)

CLOCKS, FIFO = Clock.CLOCKS, Order.FIFO
ALL = "M1 M2 M3 M4"
TWO_OF_THREE = {1: (Add(3), Remove(2)), 2: (Add(3), Remove(1))}
THREE_OF_FOUR = {1: (Add(4),), 2: (Remove(1),)}

TWO = Case("base=2 inner.rivals=12", 3, ALL, wishes=TWO_OF_THREE, clock=CLOCKS, order=FIFO)
THREE = Case("base=3 inner.rivals=12", 4, "M3", wishes=THREE_OF_FOUR, order=FIFO)
AT_ONCE = Case("base=3 inner.rivals=12", 4, ALL, THREE_AT_ONCE, order=FIFO)
AGAINST = Case("base=4 inner.rivals=13", 5, "M3", TWO_AGAINST_EACH_OTHER, order=FIFO)
ASKED = Budget(asks=2)
STATES_MAX = 100_000_000

SAFE = [
    (TWO._replace(budget=ASKED, bounds=Bounds(counter=2)), 3_884),
    (THREE._replace(claims="M1 M2", budget=ASKED, bounds=Bounds(1, 2, 0)), 865_620),
    (AT_ONCE._replace(clock=CLOCKS, bounds=Bounds(counter=2)), 337_575),
    (AT_ONCE._replace(claims="M1 M2", bounds=Bounds(counter=2, firings=1)), 340_142),
    (OVERTAKEN._replace(claims=ALL, bounds=Bounds(counter=2)), 1_336_207),
]
LARGE = [
    (OLDER_LIST._replace(claims="M1 M2"), 21_533_593),
    (THREE._replace(clock=CLOCKS, budget=ASKED, bounds=Bounds(1, 2)), 2_017_116),
    (TWO._replace(budget=ASKED, bounds=Bounds(counter=3)), 14_554_524),
    (TWO._replace(budget=Budget(1, 1, asks=1), bounds=Bounds(counter=3)), 11_753_864),
    (AGAINST._replace(claims="M1 M2", bounds=Bounds(counter=3, firings=0)), 5_706_344),
    (AGAINST._replace(clock=CLOCKS, bounds=Bounds(2, 3)), 23_477_782),
]


def expect_held(case: Case, states: int) -> None:
    verdict = judged(case, STATES_MAX)
    assert verdict.result is Result.HOLDS
    assert verdict.states == states


@pytest.mark.parametrize(("case", "states"), SAFE, ids=[str(states) for _, states in SAFE])
def test_two_holders_that_change_the_members_never_meet(case: Case, states: int) -> None:
    expect_held(case, states)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "states"), LARGE, ids=[str(states) for _, states in LARGE])
def test_nor_do_they_in_a_large_search(case: Case, states: int) -> None:
    expect_held(case, states)


def expect_decided(base: int, nodes: int, budget: Budget, tau: int) -> None:
    verdict = lasting(base, nodes, budget)
    assert verdict.claims == {"M5": Result.HOLDS, "M6": Result.HOLDS}
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, tau)
    assert not verdict.cuts


def test_every_change_is_decided_in_the_end() -> None:
    expect_decided(2, 3, Budget(crashes=1, asks=1), 15)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "nodes", "budget", "tau"),
    [
        (3, 3, Budget(asks=2), 25),
        (3, 4, Budget(asks=2), 25),
        (3, 4, Budget(crashes=1, asks=1), 30),
        (2, 3, Budget(crashes=1, recoveries=1, asks=1), 16),
    ],
)
def test_so_it_is_in_a_larger_search(base: int, nodes: int, budget: Budget, tau: int) -> None:
    expect_decided(base, nodes, budget, tau)
