"""The commit protocols broken on purpose: each rule switched off.

A mutant is killed when the checker finds a run that breaks a claim; the length of the shortest
such run is pinned. For some the search would take too long: a golden script has their run.
"""

from typing import NamedTuple

import pytest

from electorate.protocols.registry import REGISTRY
from electorate.simulate import run_script
from tests.check.asked import asked
from tests.script import GOLDEN, find


class Mutant(NamedTuple):
    """What was changed, where it was let loose, and how it was caught."""

    protocol: str
    rule: str
    faults: str
    claim: str
    moves: int

    def __str__(self) -> str:
        return f"{self.protocol} {self.rule}"


TWO, ROUNDS, LATE = "--nodes 2", "--delay 1..1", "--timing unbounded --firings 1"
BACK = "--crashes 1 --recoveries 1"
LAZY = "--rule acknowledge=never"
COPIES = "--order bag --doubles 1"

KILLED = [
    Mutant("two-phase", "unforced=vote", f"{TWO} {BACK}", "C2", 8),
    Mutant("two-phase", "unforced=refusal", f"{TWO} {BACK} {LATE}", "C1", 12),
    Mutant("two-phase", "unforced=decision", f"{TWO} {BACK}", "C1", 9),
    Mutant("two-phase", "polled_early=report", f"{TWO} {LATE}", "C1", 10),
    Mutant("two-phase", "all_prepared=commit", f"{ROUNDS} {BACK}", "C1", 17),
    Mutant("two-phase", "all_prepared=abort", f"{ROUNDS} --crashes 2", "C1", 21),
    Mutant("two-phase", "impatient=commit", f"{TWO} --crashes 1", "C1", 11),
    Mutant("two-phase", "impatient=abort", f"{TWO} --crashes 1", "C1", 11),
    Mutant("two-phase", "forget=applied", f"{TWO} --crashes 1", "C1", 14),
    Mutant("two-phase", "acknowledge=at-once", TWO, "C7", 9),
    # Whoever is let forget too early refuses what others have committed.
    Mutant("two-phase", "forget=each", TWO, "C7", 8),
    Mutant("two-phase", "forget=each", f"{TWO} --losses 1", "C1", 18),
    Mutant("two-phase", "unvoted=commit", f"--nodes 1 {COPIES}", "C3", 9),
    Mutant("two-phase", "unvoted=commit", f"{TWO} {LATE}", "C3", 18),
    Mutant("three-phase", "unforced=vote", f"{ROUNDS} {BACK}", "C2", 19),
    Mutant("three-phase", "unforced=refusal", f"{TWO} {BACK} {LATE}", "C1", 16),
    Mutant("three-phase", "unforced=decision", f"{TWO} {BACK} {LATE}", "C1", 16),
    # With quorums a report that is no refusal splits nothing; but nobody can go on.
    Mutant("three-phase", "polled_early=report", f"{ROUNDS} --crashes 1", "C4", 17),
    Mutant("three-phase", "impatient=commit", f"{ROUNDS} --crashes 1", "C1", 11),
    Mutant("three-phase", "impatient=abort", f"{ROUNDS} --crashes 1", "C1", 22),
    Mutant("three-phase", "forget=applied", f"{TWO} --crashes 1", "C1", 18),
    Mutant("three-phase", "acknowledge=at-once", TWO, "C7", 9),
    Mutant("three-phase", "forget=each", f"{TWO} --losses 1", "C1", 22),
    Mutant("three-phase", "unvoted=commit", f"--nodes 1 {COPIES}", "C3", 11),
    Mutant("three-phase", "commits=late", f"{ROUNDS} {LAZY} --pauses 1", "C1", 35),
    Mutant("three-phase", "switching=obey", f"{ROUNDS} {LAZY} --pauses 1", "C1", 35),
    Mutant("three-phase", "own_state=polling", f"{LATE} {LAZY}", "C1", 20),
    Mutant(
        "three-phase",
        "aborting=uncertain",
        f"{ROUNDS} {LAZY} --crashes 2 --recoveries 1",
        "C5",
        42,
    ),
    Mutant("three-phase-ballots", "unforced=vote", f"{ROUNDS} {BACK}", "C2", 19),
    Mutant("three-phase-ballots", "promises=ignored", f"{ROUNDS} {LAZY} --pauses 1", "C1", 35),
    Mutant("three-phase-ballots", "attempts=any", f"{LATE} {LAZY}", "C1", 20),
]


@pytest.mark.parametrize("mutant", KILLED, ids=str)
def test_a_broken_rule_is_noticed(mutant: Mutant) -> None:
    words = f"--asks 1 --rule inner.first=1 --rule {mutant.rule} --claim {mutant.claim}"
    [violation] = asked(f"{mutant.protocol} {words} {mutant.faults}").violations
    assert violation.length == mutant.moves


def test_whoever_has_lost_its_memory_splits_the_decision_if_it_is_heard_under_its_old_name() -> (
    None
):
    """So a driver takes it for a stranger, and no machine hears one."""
    line = f"two-phase {TWO} --asks 1 --rule inner.first=1 {BACK} --losses 1 --claim C1"
    assert not asked(line).violations
    [violation] = asked(f"{line} --storage lost").violations
    assert violation.length == 15


TOLD = {
    "three_phase_ballots/promises_forgotten.txt": "promises=forgotten",
    "three_phase_ballots/votes_twice.txt": "promises=twice",
    "three_phase_ballots/own_state_when_polling.txt": "own_state=polling",
    "three_phase_ballots/committable_counts_most.txt": "opinions=committable",
}


@pytest.mark.parametrize("script", TOLD)
def test_a_broken_rule_splits_the_decision_in_its_script(script: str) -> None:
    text = (GOLDEN / script).read_text(encoding="utf-8")
    assert f" rule:{TOLD[script]}" in text
    assert "\nC1 violated: " in run_script(text, find).text


NO_REPAIRS = {
    "coordinator": "says who it is",
    "votes": "a length of time; whoever is too impatient aborts, or asks once more",
    "patience": "the same",
    "retry": "the same",
    "resend": "the same",
    "inner.first": "says whom everybody follows to begin with",
}


@pytest.mark.parametrize("name", ["two-phase", "three-phase"])
def test_every_rule_has_a_mutant(name: str) -> None:
    broken = {mutant.rule.partition("=")[0] for mutant in KILLED if mutant.protocol == name}
    assert rules_of(name) - broken == set(NO_REPAIRS)


def test_every_rule_of_the_ballots_has_a_mutant() -> None:
    own = rules_of("three-phase-ballots") - rules_of("two-phase")
    broken = {mutant.rule for mutant in KILLED} | set(TOLD.values())
    assert own <= {rule.partition("=")[0] for rule in broken}


def rules_of(name: str) -> set[str]:
    """The names of all rules of a protocol."""
    return set(REGISTRY[name].machine.form("sound").texts())
