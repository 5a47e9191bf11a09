"""Searches that begin before anybody has been started: each first start is a recovery."""

import pytest

from electorate.check import Result
from electorate.trace import Recovered, Start
from tests.check.network import judged
from tests.cli.run import Run


def test_nodes_that_start_one_after_the_other_break_a1_in_bully() -> None:
    verdict = judged("bully", "A1", recoveries=3, start=Start.DOWN)
    [violation] = verdict.violations
    assert violation.length == 17
    assert violation.trace is not None
    starts = [s.happening for s in violation.trace.steps if isinstance(s.happening, Recovered)]
    assert [(start.node, start.first) for start in starts] == [(2, True), (1, True), (3, True)]


@pytest.mark.parametrize("recoveries", [1, 2])
@pytest.mark.parametrize("name", ["bully", "chang-roberts", "invitation"])
def test_both_engines_see_the_same_starts(name: str, recoveries: int) -> None:
    found = [
        judged(name, "A2", nodes=2, recoveries=recoveries, engine=engine, start=Start.DOWN)
        for engine in ("python", "numba")
    ]
    assert [verdict.claims["A2"] for verdict in found] == [Result.HOLDS] * 2
    assert found[0].states == found[1].states
    assert found[0].transitions == found[1].transitions


def test_a_node_that_has_crashed_does_not_start_for_the_first_time_again() -> None:
    """Its number goes on where it was: with a second first start it would be used twice."""
    verdict = judged(
        "invitation", "S4", nodes=2, crashes=1, recoveries=3, delay_min=1, start=Start.DOWN
    )
    assert verdict.claims["S4"] is Result.HOLDS


def test_somebody_has_to_be_started(electorate: Run) -> None:
    ran = electorate("check", "bully", "--from", "down")
    assert ran.code == 2
    assert "nobody would ever start: give --recoveries, one for each that may" in ran.err
