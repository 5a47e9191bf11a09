"""Admission, broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run that breaks a claim; the sound form holds in the same search.
"""

import pytest

from electorate.check import Budget, Liveness, Result
from tests.check.admitting import MET, Case, judged
from tests.check.test_admission import GONE, NAMESAKE, TAKES

REPLACED = Case(2, 3, Budget(asks=4), moves=MET)
RETURNED = Case(2, 3, Budget(asks=3, recoveries=1), rules=TAKES, moves=GONE)
BESIDE = Case(3, 4, Budget(asks=2), asked=NAMESAKE, moves=MET)
LOSING = REPLACED._replace(budget=Budget(asks=4, losses=1))
MUTANTS = [
    ("directory.admits=name", Case(2, 3), "D2", 2),
    ("directory.speaks=token", BESIDE, "D2", 25),
    pytest.param("directory.former=forgotten", RETURNED, "D1", 24, marks=pytest.mark.slow),
]
STUCK = [
    ("directory.since=ignored", REPLACED, 63),
    pytest.param("directory.editions=ignored", LOSING, 49, marks=pytest.mark.slow),
]


def without(rule: str, case: Case, claim: str) -> Case:
    return case._replace(rules=f"{case.rules} {rule}".strip(), claims=claim)


@pytest.mark.parametrize(("rule", "case", "claim", "moves"), MUTANTS)
def test_the_checker_kills_this_mutant(rule: str, case: Case, claim: str, moves: int) -> None:
    verdict = judged(without(rule, case, claim))
    assert verdict.claims == {claim: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]
    assert judged(case._replace(claims=claim)).claims == {claim: Result.HOLDS}


@pytest.mark.parametrize(("rule", "case", "moves"), STUCK)
def test_this_mutant_leaves_members_unknown_for_ever(rule: str, case: Case, moves: int) -> None:
    verdict = judged(without(rule, case, "D4"))
    assert verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [moves]
    assert judged(case._replace(claims="D4")).claims == {"D4": Result.HOLDS}
