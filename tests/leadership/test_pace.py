"""A pace is in seconds; one that cannot work is refused where it is made."""

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from electorate.pace import WERE_IN_MS, Pace, in_ms


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"timeout": 0.15}, "beat=0.1 is more than half of timeout=0.15: a node would be suspect"),
        ({"beat": 0}, "beat=0 is not a length of time of 0.001 s or more"),
        ({"drift": 0.05}, "drift=0.05 is not between 0 and 0.043: with T=0.05 and P=0.025"),
        ({"T": 0}, "T=0 is not a length of time of 0.001 s or more"),
        ({"T": 0.0001}, "T=0.0001 is not a length of time of 0.001 s or more"),
        ({"P": -0.01}, "P=-0.01 is not a length of time of 0 s or more"),
        ({"grace": float("inf")}, "grace=inf is not a length"),
    ],
)
def test_a_pace_that_cannot_work_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Pace(**given)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"T_ms": 50}, "Pace is in seconds: say T=0.05 instead of T_ms=50"),
        ({"grace_ms": 5_000}, "say grace=5 instead of grace_ms=5000"),
        ({"patience_ms": 1500}, "say decision_timeout=1.5 instead of patience_ms=1500"),
        ({"T": "50ms"}, "T is a number of seconds, not '50ms'"),
        ({"lease": 1}, "unexpected keyword argument 'lease'"),
    ],
)
def test_other_units_and_names_are_refused_with_what_to_say(
    given: dict[str, Any], problem: str
) -> None:
    with pytest.raises(TypeError, match=problem):
        Pace(**given)


def test_every_length_is_in_seconds_and_can_not_be_changed() -> None:
    assert set(WERE_IN_MS.values()) == {each.name for each in fields(Pace)} - {
        "drift",
        "trust_close",
    }
    pace = Pace(T=0.2, retry_every=0.3)
    assert (pace.T, pace.P, pace.retry_every, pace.lease) == (0.2, 0.025, 0.3, 1.75)
    assert (pace.timing.T, pace.timing.P) == (200, 25)
    assert pace.transaction_lengths["retry"].of(pace.timing) == 300
    assert not [name for name in dir(pace) if name.endswith("_ms")]
    with pytest.raises(FrozenInstanceError):
        pace.T = 1.0  # type: ignore[misc]


def test_the_largest_drift_that_is_allowed_is_allowed_by_the_machine_too() -> None:
    pace = Pace(drift=0.043)
    lease, granted = (pace.timing.lasts(in_ms(each)) for each in (pace.lease, pace.granted))
    assert lease[1] <= granted[0]
