"""Paxos broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run that breaks K1, though messages take as long as they like
and a second leader is named; the same rows hold with the sound rules (tests/verdicts/table.txt).
"""

import pytest

from electorate.check import Result
from electorate.protocols.registry import REGISTRY
from tests.check.asked import asked

LATE = "--from boot --timing unbounded --firings 0 --rule inner.first=1 --claim K1"
BACK = "--asks 1 --crashes 1 --recoveries 1"

KILLED = [
    ("promises=ignored", "--asks 1", 9),
    ("value=own", "--asks 1", 9),
    ("quorum=minority", "--asks 1", 1),
    ("numbers=shared", "--asks 1", 9),
]
LONG = [
    ("forgets=promise", BACK, 11),
    ("forgets=vote", BACK, 11),
    ("value=oldest", "--asks 2", 14),
]
"""These take seconds; golden scripts have their runs."""
NO_REPAIRS = {
    "inner.first": "says whom everybody follows to begin with",
    "retry": "a length of time; who asks too early asks once more",
    "patience": "the same",
}


@pytest.mark.parametrize(
    ("rule", "faults", "moves"),
    [*KILLED, *(pytest.param(*mutant, marks=pytest.mark.slow) for mutant in LONG)],
)
def test_a_broken_rule_splits_the_decision(rule: str, faults: str, moves: int) -> None:
    [violation] = asked(f"paxos {LATE} {faults} --rule {rule}").violations
    assert violation.length == moves


def test_the_rules_themselves_do_not() -> None:
    verdict = asked(f"paxos {LATE} --asks 1")
    assert verdict.claims == {"K1": Result.WITHIN_BOUNDS}


def test_every_rule_has_a_mutant() -> None:
    broken = {rule.partition("=")[0] for rule, _, _ in [*KILLED, *LONG]}
    rules = REGISTRY["paxos"].machine.form("sound")
    assert set(rules.texts()) - broken == set(NO_REPAIRS)
