"""Known verdicts of the commit protocols, with their numbers. A changed number must be explained.

Node 1 is elected (inner.first=1) unless the line says otherwise, and one request begins the
transaction; more requests have anybody be told that anybody leads. `--delay 1..1` goes by rounds,
which leaves a tenth of the states or less.
"""

from typing import NamedTuple

import pytest

from electorate.check import Liveness, Result
from electorate.claims import CLAIMS
from tests.check.asked import asked
from tests.check.test_engines import told

ALL = "--claim C1 --claim C2 --claim C3 --claim C4 --claim C6 --claim C7"
ROUNDS = "--delay 1..1"
LAZY = "--rule acknowledge=never"
LEADER = "--asks 1 --rule inner.first=1"
COPIES = "--order bag --doubles 1"
AGAIN = "--asked Begin --asked Again --rule inner.first=1"


class Held(NamedTuple):
    states: int
    tau: int | None = None
    capped: bool = False
    """Whether a bound cut the search: messages to a node that sleeps pile up."""


HOLDS = {
    f"two-phase {LEADER} {ALL}": Held(13_498, 3),
    f"two-phase {LEADER} {ROUNDS} --crashes 1 --recoveries 1": Held(16_656),
    f"two-phase {LEADER} {ROUNDS} --crashes 2 --recoveries 2": Held(386_904),
    f"two-phase {LEADER} {ROUNDS} --losses 3": Held(5_353),
    f"two-phase {LEADER} {ROUNDS} --doubles 1": Held(1_590),
    # Copies come after it was forgotten; whoever was not let forget it says so again.
    f"two-phase --nodes 2 {LEADER} {COPIES} --crashes 1 --recoveries 1": Held(258_662),
    f"two-phase --nodes 2 {LEADER} {COPIES} --timing unbounded --firings 1": Held(
        1_460_408, capped=True
    ),
    f"two-phase --nodes 2 --asks 3 {AGAIN} --losses 1 --crashes 1 --recoveries 1": Held(2_066_376),
    f"three-phase --nodes 2 {LEADER} {COPIES} --crashes 1": Held(28_990),
    f"three-phase-ballots --nodes 2 {LEADER} {COPIES} --crashes 1": Held(29_085, 9),
    f"two-phase {LEADER} {ROUNDS} --cuts 2 --heals 1": Held(27_285),
    f"two-phase {LEADER} {ROUNDS} --pauses 1": Held(13_873, capped=True),
    "two-phase --nodes 2 --asks 3 --crashes 1 --recoveries 1": Held(2_153_644),
    f"two-phase {LEADER} --timing unbounded --firings 1 {LAZY} "
    "--claim C1 --claim C2 --claim C3": Held(1_377_475, capped=True),
    f"three-phase {LEADER} {ALL}": Held(15_663, 5),
    f"three-phase {LEADER} --crashes 1 --claim C1 --claim C3 --claim C4": Held(67_916, 9),
    f"three-phase {LEADER} {ROUNDS} --crashes 2 --recoveries 1": Held(96_839),
    f"three-phase {LEADER} {ROUNDS} --losses 3": Held(10_823),
    f"three-phase {LEADER} {ROUNDS} --cuts 2 --heals 1": Held(36_402),
    f"three-phase {LEADER} {ROUNDS} --pauses 1": Held(18_516, capped=True),
    f"three-phase --nodes 2 --asks 3 --crashes 1 --recoveries 1 {ROUNDS}": Held(437_951),
    f"three-phase-ballots {LEADER} {ALL}": Held(15_663, 5),
    f"three-phase-ballots {LEADER} --crashes 1": Held(66_656, 11),
    f"three-phase-ballots {LEADER} {ROUNDS} --cuts 2 --heals 1": Held(39_754, 10),
    f"three-phase-ballots {LEADER} {ROUNDS} --pauses 1": Held(19_759, 6, capped=True),
    # As printed it is sound for as long as nobody is slow and nobody comes back.
    f"three-phase-as-printed {LEADER} {ALL}": Held(13_914, 5),
    f"three-phase-as-printed {LEADER} --crashes 1 --claim C1 --claim C2": Held(59_799),
    # Whatever election is inside.
    f"three-phase-over-bully --asks 1 --crashes 1 {ROUNDS} {LAZY} --detection 1 "
    "--claim C1 --claim C4": Held(45_293, 9),
}


@pytest.mark.parametrize("line", HOLDS)
def test_what_holds_holds(line: str) -> None:
    verdict = asked(line)
    safe, reached = (
        (Result.WITHIN_BOUNDS, Result.UNKNOWN) if HOLDS[line].capped else (Result.HOLDS,) * 2
    )
    assert verdict.claims == {
        name: safe if CLAIMS[name].kind.is_safety else reached for name in verdict.claims
    }, verdict.violations
    assert bool(verdict.cuts) is HOLDS[line].capped
    assert (verdict.states, verdict.tau) == HOLDS[line][:2]


def test_two_phase_commit_blocks_when_the_coordinator_crashes() -> None:
    verdict = asked(f"two-phase {LEADER} {ROUNDS} --crashes 1 --claim C4")
    assert verdict.liveness is Liveness.STUCK
    assert ways(verdict.ways["C4"]) == ["3 uncertain of 3 voters stay in doubt"]


def ways(found: object) -> list[str]:
    assert isinstance(found, tuple)
    return sorted(way.text for way in found)


FAULTS = "--crashes 2 --recoveries 1 --losses 1"
UP = [
    "1 committable, 2 abortable of 3 voters stay in doubt",
    "1 uncertain, 2 abortable of 3 voters stay in doubt",
    "1 working, 1 uncertain, 1 abortable of 3 voters stay in doubt",
    "1 working, 2 abortable of 3 voters stay in doubt",
    "2 working, 1 uncertain of 3 voters stay in doubt",
    "3 abortable of 3 voters stay in doubt",
]
"""All states in which the printed rules block although everybody who votes is up."""


def blocked(protocol: str, faults: str, *rules: str, nodes: int = 3) -> list[str]:
    """The ways in which a majority with a leader can be blocked."""
    changes = " ".join(f"--rule {rule}" for rule in rules)
    line = f"{protocol} --nodes {nodes} {LEADER} {ROUNDS} {LAZY} {faults} --claim C5 {changes}"
    verdict = asked(line)
    assert not verdict.cuts
    return ways(verdict.ways.get("C5", ()))


def everybody_up(found: list[str], nodes: int = 3) -> list[str]:
    voters = (way for way in found if "coordinator" not in way)
    return [
        way
        for way in voters
        if sum(int(word) for word in way.split() if word.isdigit()) == 2 * nodes
    ]


def test_the_states_in_which_the_printed_rules_block_although_everybody_is_up() -> None:
    assert everybody_up(blocked("three-phase-as-printed", FAULTS)) == UP


def test_the_smallest_repair_of_that() -> None:
    """Who has not voted refuses; who is ready to abort counts; even if somebody would commit."""
    printed = "three-phase-as-printed"
    refuse, none, any_ = "polled_early=refuse", "aborting=none-committable", "aborting=any"
    voted = [way for way in UP if "working" not in way]
    assert everybody_up(blocked(printed, FAULTS, refuse)) == voted
    assert everybody_up(blocked(printed, FAULTS, refuse, none)) == UP[:1]
    assert blocked(printed, FAULTS, refuse, any_) == []


def test_the_majorities_that_still_block_with_quorums() -> None:
    divided = "1 committable, 1 abortable of 3 voters"
    assert blocked("three-phase", FAULTS) == [
        f"{divided} stay in doubt",
        f"{divided}, with the coordinator stay in doubt",
    ]
    assert blocked("three-phase", "--crashes 2 --losses 2", nodes=4) == [
        "1 committable, 2 abortable of 4 voters stay in doubt",
        "1 uncertain, 1 committable, 1 abortable of 4 voters stay in doubt",
    ]


@pytest.mark.slow
def test_of_four_even_all_of_them_can_block_with_quorums() -> None:
    line = f"three-phase --nodes 4 {LEADER} {ROUNDS} {LAZY} --crashes 1 --pauses 1 --claim C5"
    assert ways(asked(line).ways["C5"]) == [
        "1 committable, 2 abortable of 4 voters, with the coordinator stay in doubt",
        "2 committable, 1 abortable of 4 voters, with the coordinator stay in doubt",
        "2 committable, 2 abortable of 4 voters stay in doubt",
        "2 committable, 2 abortable of 4 voters, with the coordinator stay in doubt",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("faults", "nodes"), [(FAULTS, 3), ("--crashes 2 --losses 2", 4)])
def test_with_ballots_no_majority_blocks(faults: str, nodes: int) -> None:
    assert blocked("three-phase-ballots", faults, nodes=nodes) == []


SPLITS = {
    # Both splits of the printed form need no more than a coordinator that is slow for once.
    "commits late": ("--rule switching=refuse", 35),
    "switches sides": ("--rule commits=majority", 35),
    "both": ("", 36),
}


@pytest.mark.parametrize("name", SPLITS)
def test_the_printed_form_splits_in_either_way(name: str) -> None:
    rules, moves = SPLITS[name]
    line = f"three-phase-as-printed {LEADER} {ROUNDS} {LAZY} --pauses 1 --claim C1 {rules}"
    [violation] = asked(line).violations
    assert violation.length == moves
    assert violation.witness.text == "1 has aborted, but 4 has committed"


@pytest.mark.parametrize("faults", ["--cuts 3", "--crashes 1 --losses 3"])
def test_a_partition_or_lost_messages_split_it_as_well(faults: str) -> None:
    line = f"three-phase-as-printed {LEADER} {ROUNDS} {LAZY} {faults} --claim C1"
    assert [violation.length for violation in asked(line).violations] == [32]


def test_without_both_the_printed_form_does_not_split() -> None:
    rules = "--rule switching=refuse --rule commits=majority"
    line = f"three-phase-as-printed {LEADER} {ROUNDS} {LAZY} --pauses 1 --claim C1 {rules}"
    assert asked(line).claims == {"C1": Result.HOLDS}


ENGINES = [
    f"two-phase --nodes 2 {LEADER} --crashes 1 --claim C1 --claim C4 --claim C7",
    "two-phase --nodes 1 --asks 2 --timing unbounded --losses 1 --claim C2 --claim C3 --claim C6",
    f"three-phase-as-printed --nodes 3 {LEADER} {ROUNDS} {LAZY} --crashes 1 --claim C4 --claim C5",
    f"three-phase-ballots --nodes 2 {LEADER} {ROUNDS} --cuts 1 --claim C1 --claim C5",
]


@pytest.mark.parametrize("line", ENGINES)
def test_both_engines_agree_on_transactions(line: str) -> None:
    assert told(asked(line, "python")) == told(asked(line, "numba"))
