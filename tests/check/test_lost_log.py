"""A participant that loses its log goes by what its database holds, and splits nothing."""

import pytest

from electorate.check import Result
from tests.check.asked import asked

LOST = "tests/check/lost_log.py:LostLog --asks 1 --rule inner.first=1 --claim C1 --claim C2"


@pytest.mark.parametrize(
    ("line", "states"),
    [
        ("--nodes 2 --crashes 1 --recoveries 1", 19_597),
        ("--nodes 2 --crashes 2 --recoveries 2 --delay 1..1", 32_480),
    ],
)
def test_whoever_holds_what_it_has_prepared_splits_nothing(line: str, states: int) -> None:
    verdict = asked(f"{LOST} {line}")
    assert set(verdict.claims.values()) == {Result.HOLDS}, verdict.violations
    assert verdict.states == states


@pytest.mark.parametrize("lost", ["sweep", "report"])
def test_whoever_does_anything_else_splits_it(lost: str) -> None:
    line = f"{LOST} --nodes 2 --crashes 2 --recoveries 1 --rule lost={lost}"
    verdict = asked(line)
    assert verdict.claims["C1"] is Result.VIOLATED
