"""Offices that are handed over: known verdicts. A changed number must be explained.

Nodes 1 and 2 hand the office over to each other, there and back. Nobody renews of itself, so that
runs are short enough. Whoever wants the office is told that it leads, for good, at any time.
"""

import pytest

from electorate.check import Budget, Result
from electorate.trace import Order
from tests.check.mandate import BARE, Case, judged

THERE = ("1:Transfer(2", "1:Ended")
BACK = ("2:Transfer(1", "2:Ended")
HEIRS = Case(
    f"{BARE} period=9",
    3,
    Budget(asks=5),
    asked=("1:inner.request(Name(1", *THERE, *BACK),
    capacity=3,
    counter=3,
)
RESTARTED = HEIRS._replace(
    asked=("1:inner.request(Name(1", "3:inner.request(Name(3", *THERE),
    budget=Budget(crashes=1, recoveries=1, asks=4),
    capacity=2,
    counter=2,
)
"""Another wants the office too, and somebody restarts."""

SAFE = [
    (HEIRS, 2_307_739),
    (HEIRS._replace(order=Order.BAG, capacity=2, counter=2), 2_209_411),
    (HEIRS._replace(order=Order.SET, capacity=8, counter=2), 73_449),
    pytest.param(RESTARTED, 6_880_599, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("case", "states"), SAFE)
def test_an_office_that_is_handed_over_is_one(case: Case, states: int) -> None:
    verdict = judged(case)
    assert verdict.result is (Result.WITHIN_BOUNDS if verdict.cuts else Result.HOLDS)
    assert not verdict.unspent
    assert verdict.states == states
