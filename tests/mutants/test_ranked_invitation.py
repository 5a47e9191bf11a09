"""Ranked Invitation broken on purpose: each rule that it adds to Invitation, switched.

A mutant is killed when the checker finds a run in which a leader is not told what it has to know
of a newcomer (G1), or in which for ever not the strongest leads, or not those that are there (G2).
The length of the shortest run is pinned. Those that survive are choices.
"""

import pytest

from electorate.check import Liveness, Result
from electorate.claims import CLAIMS
from tests.check.test_ranked_invitation import judged

ASKED, CRASHED = {"asks": 2}, {"crashes": 1}


@pytest.mark.parametrize(
    ("rule", "budget", "claim", "moves"),
    [
        ("owing=over", ASKED, "G1", 8),
        ("origin=after", ASKED, "G1", 9),
        ("origin=after", {"crashes": 1, "recoveries": 1}, "G1", 14),
        ("heard=first", ASKED, "G2", 29),
        ("outranking=stay", ASKED, "G2", 14),
        ("missed=keep", CRASHED, "G2", 11),
    ],
)
def test_the_checker_kills_this_mutant(
    rule: str, budget: dict[str, int], claim: str, moves: int
) -> None:
    verdict = judged(rule, claims=(CLAIMS[claim],), **budget)
    assert verdict.claims == {claim: Result.VIOLATED}
    assert claim == "G1" or verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [moves]
    sound = judged(claims=(CLAIMS[claim],), **budget)
    assert sound.claims == {claim: Result.HOLDS}


@pytest.mark.parametrize(("told", "tau"), [("at-once", 18), ("asked", 20)])
def test_a_leader_that_does_not_say_how_it_stands_is_asked_later(told: str, tau: int) -> None:
    verdict = judged(f"told={told}", asks=2)
    assert (verdict.result, verdict.liveness) == (Result.HOLDS, Liveness.LIVE)
    assert verdict.tau == tau
