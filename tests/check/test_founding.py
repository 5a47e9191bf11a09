"""Known verdicts on how a cluster is founded, with their numbers.

A changed number must be explained.
"""

import pytest

from electorate.check import Budget, Liveness, Result
from tests.check.founding import BACK, HALVES, NAMESAKES, OVERLAPPING, TWO, Case, judged

ALL = "M1 M2 M3 M4 M5 M6 M7 M8 M9 D5 D6"
FIRST = Case(3, kind="first-start", claims=ALL)
SAFE = FIRST._replace(claims="M1 M2 M3 M4 D5")
WITHOUT_A_FOUNDER = SAFE._replace(budget=Budget(crashes=1))

LIVE = [
    (Case(2, delay_min=0), 35, 2),
    (Case(3, delay_min=0), 5_039, 2),
    (Case(3, budget=Budget(losses=1)), 1_000, 2),
    (Case(3, TWO, delay_min=0), 87, 2),
    (Case(3, TWO, Budget(asks=1)), 44, 2),
    (Case(3, TWO, BACK), 10_432, 3),
    (Case(4, NAMESAKES), 49, 2),
    (FIRST._replace(nodes=2, delay_min=0), 436, 10),
    (FIRST, 1_069, 7),
    (FIRST._replace(budget=Budget(losses=1)), 5_865, 8),
    (FIRST._replace(nodes=2, budget=Budget(crashes=1, recoveries=1)), 8_549, 15),
]
"""States, and the longest time in ticks until all is as it should be. A founded cluster of three
has an office after 5T: the word of all takes two delays more."""

NEVER = [
    (Case(4, OVERLAPPING, delay_min=0), 4_026),
    (FIRST._replace(nodes=4, lists=OVERLAPPING), 306),
    (FIRST._replace(nodes=4, lists=OVERLAPPING, graph=HALVES, delay_min=0), 277),
]


@pytest.mark.parametrize(("case", "states", "tau"), LIVE, ids=str)
def test_a_cluster_is_founded_and_somebody_leads_it(case: Case, states: int, tau: int) -> None:
    verdict = judged(case)
    assert set(verdict.claims.values()) == {Result.HOLDS}
    assert (verdict.states, verdict.liveness, verdict.tau) == (states, Liveness.LIVE, tau)
    assert not verdict.cuts


@pytest.mark.parametrize(("case", "states"), NEVER, ids=str)
def test_lists_that_overlap_are_never_both_founded_and_here_neither_is(
    case: Case, states: int
) -> None:
    verdict = judged(case)
    assert verdict.reason == "the search says nothing: not once was a cluster founded"
    assert (verdict.states, verdict.cuts) == (states, {})


@pytest.mark.parametrize(
    ("case", "states"),
    [
        (SAFE._replace(lists=TWO, delay_min=0), 1_987),
        (SAFE._replace(lists=TWO, budget=Budget(asks=1), asked=("founding",)), 174),
    ],
    ids=str,
)
def test_of_two_lists_one_at_most_has_a_leader(case: Case, states: int) -> None:
    verdict = judged(case)
    assert set(verdict.claims.values()) == {Result.HOLDS}
    assert (verdict.states, verdict.cuts) == (states, {})


def test_a_founder_that_is_gone_for_good_is_waited_for() -> None:
    """That is the price, and why somebody who cannot wait may say so."""
    verdict = judged(FIRST._replace(budget=Budget(crashes=1), claims="M5"))
    assert verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [17]
