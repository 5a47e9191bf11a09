"""Candidates that are told, broken on purpose: what is out of date is believed.

A mutant is killed when the checker finds a run after which a goal is out of reach for ever; its
length is pinned. With the rule as it is nothing breaks in the same model: see
tests/check/test_candidates.py.
"""

import pytest

from electorate.check import Liveness, Result
from tests.check.mandate import judged
from tests.check.test_candidates import LOSS, told


@pytest.mark.parametrize(
    ("rule", "stand", "claim", "moves"),
    [
        # It waits for ever for one that stands no more.
        ("awaited=believed", (1, 1), "M5", 22),
        pytest.param("awaited=believed", (1, 1, 0), "M5", 25, marks=pytest.mark.slow),
        # The holder goes by what it has heard of the other before, and refuses for ever.
        ("wished=known", (1, 1), "M9", 56),
        # The holder has lowered its priority, and the other has not heard that.
        ("claimed=untold", (2, 2), "M9", 35),
    ],
)
def test_the_checker_kills_this_mutant(
    rule: str, stand: tuple[int, ...], claim: str, moves: int
) -> None:
    case = told(stand, LOSS)
    verdict = judged(case._replace(rules=f"{case.rules} {rule}", claims=f"M1 M3 {claim}"))
    assert verdict.liveness is Liveness.STUCK
    assert verdict.claims == {"M1": Result.HOLDS, "M3": Result.HOLDS, claim: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]


@pytest.mark.slow
def test_a_holder_that_refuses_without_a_word_is_asked_again_and_again_but_nothing_breaks() -> None:
    case = told((1, 1), LOSS)
    verdict = judged(case._replace(rules=f"{case.rules} refusal=untold"))
    assert (verdict.result, verdict.liveness) == (Result.HOLDS, Liveness.LIVE)
