"""Elections that are told their members, broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run that breaks a claim. That the sound form holds in the same
model, and that the places have in them what this is about, is in tests/check/test_told.py. That a
register makes one change in a term, and waits for the last one, is in test_leadership.py.
"""

from typing import Any

import pytest

from electorate.check import Budget, Result
from tests.check.test_told import EARLY, told

TWO_LISTS: Any = {"file": "two_lists.txt", "budget": Budget(), "asked": ()}

MUTANTS = [
    # The next change comes while a lease of the list before the last still runs.
    ("members.inner.settle=1", EARLY, "M3", 19),
    # Majorities of the last list know nothing of tokens under the first.
    ("election.era=0", {}, "M1", 20),
    ("election.era=0", {}, "M2", 20),
    # A voter grants under a list that its own node knows to be replaced.
    ("told=after sweep=3T", {}, "M3", 22),
    # A change that is not decided yet counts as if it were.
    ("election.pending=new", TWO_LISTS, "M3", 14),
]


@pytest.mark.parametrize(("rule", "others", "claim", "moves"), MUTANTS)
def test_the_checker_kills_this_mutant(
    rule: str, others: dict[str, Any], claim: str, moves: int
) -> None:
    verdict = told(rule, **{**others, "claims": claim})
    assert verdict.claims == {claim: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]
