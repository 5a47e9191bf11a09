"""Offices that are handed over: known verdicts. A changed number must be explained.

Nodes 1 and 2 hand the office over to each other, there and back. Nobody renews of itself, so that
runs are short enough.
"""

import pytest

from electorate.check import Bounds, Budget, Result
from electorate.protocols.mandate.message import Ended, Transfer
from electorate.trace import Clock, Order
from tests.check.members import Case, judged

THERE = {1: (Transfer(2), Ended())}
THERE_AND_BACK = {**THERE, 2: (Transfer(1), Ended())}
HEIRS = Case(
    "inner.rivals=1 period=9",
    3,
    "M1 M2 M3 M4",
    wishes=THERE_AND_BACK,
    clock=Clock.CLOCKS,
    order=Order.FIFO,
    budget=Budget(asks=4),
    bounds=Bounds(3, 3),
)
RESTARTED = HEIRS._replace(
    rules="inner.rivals=13 period=9",
    wishes=THERE,
    budget=Budget(crashes=1, recoveries=1, asks=2),
    bounds=Bounds(2, 2),
)
"""Another wants the office too, and somebody restarts."""

SAFE = [
    (HEIRS, 2_253_235),
    (HEIRS._replace(order=Order.BAG, bounds=Bounds(2, 2)), 2_108_081),
    (HEIRS._replace(order=Order.SET, bounds=Bounds(counter=2)), 66_696),
    (RESTARTED, 1_462_020),
]


@pytest.mark.parametrize(("case", "states"), SAFE, ids=[str(states) for _, states in SAFE])
def test_an_office_that_is_handed_over_is_one(case: Case, states: int) -> None:
    verdict = judged(case)
    assert verdict.result is (Result.WITHIN_BOUNDS if verdict.cuts else Result.HOLDS)
    assert verdict.states == states
