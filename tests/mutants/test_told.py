"""Offices that are told their members, broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run that breaks a claim; the sound form holds in the same model.
"""

import pytest

from electorate.check import Bounds, Budget, Result
from electorate.trace import Clock
from tests.check.told import AGAINST, SHRINKING, Case, LatePair, judged

RESTARTED = SHRINKING._replace(budget=Budget(crashes=1, recoveries=1, asks=2), mortal=(3,))
PAUSED = SHRINKING._replace(budget=Budget(pauses=1, asks=2))
FREE = SHRINKING._replace(clock=Clock.UNBOUNDED, bounds=Bounds(2, 2, 0))

MUTANTS = [
    # The next change comes while a lease of the list before the last still runs.
    (SHRINKING.but("register.settle=0"), "M3", 19),
    (RESTARTED.but("register.settle=1"), "M3", 22),
    (SHRINKING.but("register.per_term=0"), "M3", 16),
    # Majorities of the last list know nothing of tokens under the first.
    (FREE.but("office.era=0"), "M1", 15),
    (FREE.but("office.era=0"), "M2", 15),
    pytest.param(SHRINKING.but("office.era=0"), "M2", 30, marks=pytest.mark.slow),
    # A voter grants under a list that its own node knows to be replaced.
    (PAUSED._replace(kind=LatePair), "M3", 28),
    # A change that is not decided yet counts as if it were.
    (AGAINST.but("office.pending=new"), "M3", 6),
]


@pytest.mark.parametrize(("case", "claim", "moves"), MUTANTS)
def test_the_checker_kills_this_mutant(case: Case, claim: str, moves: int) -> None:
    """That the sound form holds in these models is in tests/check/test_told.py."""
    verdict = judged(case._replace(claims=claim))
    assert verdict.claims == {claim: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]
