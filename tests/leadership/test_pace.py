"""A pace that cannot work is refused where it is made, in the words of who made it."""

from typing import Any

import pytest

from electorate.leadership.pace import Pace


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"timeout_ms": 150}, "beat_ms=100 is not between 1 and 75, half of timeout_ms"),
        ({"beat_ms": 0}, "beat_ms=0 is not between 1 and 225"),
        ({"drift": 0.05}, "drift=0.05 is not between 0 and 0.043: with T_ms=50 and P_ms=25"),
        ({"T_ms": 0}, "T is at least 1 and P at least 0, not T=0, P=25"),
    ],
)
def test_a_pace_that_cannot_work_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Pace(**given)


def test_the_largest_drift_that_is_allowed_is_allowed_by_the_machine_too() -> None:
    pace = Pace(drift=0.043)
    fast, slow = pace.timing.lasts(pace.lease_ms)[1], pace.timing.lasts(pace.granted_ms)[0]
    assert fast <= slow
