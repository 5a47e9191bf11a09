"""Founding, broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run that breaks a claim; the sound form holds in the same search,
or founds nothing there.
"""

import pytest

from electorate.check import Budget, Result
from tests.check.founding import BACK, HALVES, NAMESAKES, OVERLAPPING, TWO, Case, judged

FIRST = Case(4, OVERLAPPING, claims="M3", kind="first-start", graph=HALVES)
MUTANTS = [
    ("needs=majority", Case(4, OVERLAPPING), "D5", 12),
    ("word=again", Case(3, TWO, Budget(asks=1)), "D5", 9),
    ("saved=no", Case(3, TWO, BACK), "D5", 11),
    ("id=names", Case(4, NAMESAKES), "D5", 8),
    ("founding.needs=majority", FIRST, "M3", 43),
]


@pytest.mark.parametrize(("rule", "case", "claim", "moves"), MUTANTS, ids=str)
def test_the_checker_kills_this_mutant(rule: str, case: Case, claim: str, moves: int) -> None:
    verdict = judged(case._replace(rules=rule, claims=claim))
    assert verdict.claims == {claim: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]
    sound = judged(case._replace(claims=claim))
    nothing = "the search says nothing: not once was a cluster founded"
    assert sound.claims == {claim: Result.HOLDS} or sound.reason == nothing
