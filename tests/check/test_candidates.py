"""Who stands with which priority: known verdicts, with their numbers. A changed number must be
explained.

Applications ask nodes to stand with another priority, 0, 1 or 2, at any time, and nodes tell each
other. They also ask any node to have the one in office step down or hand over. In the end whoever
is in office stands (M8), and nobody that could take over has a higher priority (M9).
"""

import pytest

from electorate.check import Budget
from tests.check.mandate import Case, applied
from tests.check.test_mandate import expect_live

ASKED = Budget(asks=1)
LOSS = Budget(losses=1, asks=1)
CRASH = Budget(crashes=1, asks=1)


def told(stand: tuple[int, ...], budget: Budget, delay_min: int = 1) -> Case:
    """All votes, and each stands with its priority when it boots."""
    rules = f"base={len(stand)} preempt_delay=4T"
    return applied("application", rules, budget, delay_min, stand=stand)


LIVE = [
    (told((0, 0), Budget(asks=2)), 4_303, 23),
    (told((1, 1), ASKED, 0), 5_403, 22),
    (told((1, 1), LOSS), 11_243, 26),
    (told((2, 2), LOSS), 10_973, 21),
    (told((1, 1, 0), ASKED), 6_659, 25),
]
"""States, and the longest time in ticks to an office that is in the right hands."""

LIVE_LARGE = [
    (told((1, 1), Budget(asks=2)), 34_971, 30),
    (told((1, 1, 0), LOSS), 35_693, 25),
    (told((1, 1), LOSS, 0), 50_689, 32),
    (told((1, 1), Budget(losses=1, asks=2)), 238_139, 39),
    (told((1, 1, 0), CRASH), 157_902, 30),
    (told((1, 1, 0), ASKED, 0), 389_235, 34),
    (told((1, 1, 0), Budget(crashes=1, recoveries=1, asks=1)), 3_784_318, 35),
]


@pytest.mark.parametrize(
    ("case", "states", "tau"), LIVE, ids=[f"{case.attributes} {case}" for case, *_ in LIVE]
)
def test_the_office_comes_to_whoever_is_to_have_it(case: Case, states: int, tau: int) -> None:
    expect_live(case, states, tau)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "states", "tau"),
    LIVE_LARGE,
    ids=[f"{case.attributes} {case}" for case, *_ in LIVE_LARGE],
)
def test_so_it_does_in_a_large_search(case: Case, states: int, tau: int) -> None:
    expect_live(case, states, tau)


def test_three_that_stand_at_once_have_an_office_sooner_if_they_hear_each_other_first() -> None:
    expect_live(told((1, 1, 1), Budget()), 250, 5)
    case = told((1, 1, 1), Budget())
    expect_live(case._replace(rules=f"{case.rules} hear=0T"), 1_670, 10)
