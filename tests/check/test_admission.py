"""Known verdicts on who is let in, with their numbers. A changed number must be explained."""

import pytest

from electorate.check import Bounds, Budget, Liveness, Result
from electorate.trace import Clock
from tests.check.admitting import MET, Case, judged

TAKES = "directory.given=takes"
GONE = "crash 3; view 1 1 2; view 2 1 2; quietly run 10T"
"""Founder 2 was met, while the node that takes itself for it was down."""
NAMESAKE = (
    "1:directory.request(Await(3@4",
    "1:directory.request(Propose(4",
    "1:members.request(Change(3",
    "1:members.request(Change(4",
)

HOLDS = [
    (Case(2, 3, delay_min=0), 386),
    (Case(3, 3), 2_787),
    (Case(2, 3, Budget(asks=2), delay_min=0), 199_014),
    (Case(2, 3, Budget(asks=4)), 292_487),
    (Case(2, 3, Budget(crashes=1, recoveries=1), moves=MET, mortal=(1,)), 7_367),
    (Case(2, 3, Budget(asks=4), moves=MET), 124_922),
    (Case(2, 3, Budget(asks=3), delay_min=0, moves=MET), 375_116),
    (Case(3, 4, Budget(asks=2), asked=NAMESAKE, moves=MET), 300_817),
]
LARGE = [
    (Case(2, 3, Budget(asks=4, losses=1), moves=MET), 737_442),
    (Case(2, 3, Budget(asks=2, crashes=1, recoveries=1), moves=MET, mortal=(1,)), 3_989_708),
    (Case(2, 3, Budget(asks=3, recoveries=1), rules=TAKES, moves=GONE), 1_788_355),
]


def expect_all(case: Case, states: int) -> None:
    verdict = judged(case)
    assert verdict.result is Result.HOLDS
    assert set(verdict.claims.values()) == {Result.HOLDS}
    assert verdict.liveness is Liveness.LIVE
    assert not verdict.cuts
    assert verdict.states == states


@pytest.mark.parametrize(("case", "states"), HOLDS, ids=str)
def test_members_are_known_by_the_memories_that_the_list_admits(case: Case, states: int) -> None:
    expect_all(case, states)


def test_messages_of_any_delay_break_nothing_as_far_as_that_was_searched() -> None:
    bounds = Bounds(capacity=2, firings=1)
    case = Case(2, 3, Budget(asks=2), claims="D1 D2 D3", clock=Clock.UNBOUNDED, bounds=bounds)
    verdict = judged(case)
    assert set(verdict.claims.values()) == {Result.WITHIN_BOUNDS}
    assert verdict.states == 669_112
    assert set(verdict.cuts) == {"capacity", "firings"}


@pytest.mark.slow
@pytest.mark.parametrize(("case", "states"), LARGE, ids=str)
def test_they_are_amid_losses_and_beside_one_that_has_lost_its_folder(
    case: Case, states: int
) -> None:
    expect_all(case, states)


def test_a_founder_that_nobody_has_met_is_whoever_comes_first() -> None:
    """Nodes 1 and 2 each meet another memory under the number of founder 3."""
    verdict = judged(Case(3, 4, rules=TAKES, claims="D3"), 2_000_000)
    assert verdict.claims == {"D3": Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [3]
