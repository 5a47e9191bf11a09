"""The token mutex: what it keeps, and what breaks without each thing that it takes for granted."""

import pytest

from tests.cli.run import Run


@pytest.mark.parametrize(
    "words",
    [
        "--asks 2",
        "--asks 2 --timing unbounded",
        "--rule wants=always --from boot",
        "--nodes 4 --asks 2",
    ],
)
def test_at_most_one_is_inside_and_everybody_gets_in(electorate: Run, words: str) -> None:
    found = electorate("check", "token-mutex", *words.split(), "--json").object
    assert found["claims"] == {"S2": "holds", "L2": "holds"}


@pytest.mark.parametrize(
    ("words", "claim", "moves"),
    [
        ("--asks 2 --crashes 1", "L2", 3),
        ("--asks 2 --losses 1", "L2", 3),
        ("--asks 2 --order bag", "L2", 11),
        ("--asks 2 --doubles 1", "S2", 6),
        ("--rule wants=always --from boot --rule next=strongest", "L2", 26),
        ("--asks 1 --claim A1", "A1", 1),
    ],
)
def test_each_thing_that_it_takes_for_granted_is_needed(
    electorate: Run, words: str, claim: str, moves: int
) -> None:
    found = electorate("check", "token-mutex", *words.split(), "--json").object
    assert {each["claim"]: each["moves"] for each in found["violations"]} == {claim: moves}


def test_an_election_is_not_fair(electorate: Run) -> None:
    assert electorate("check", "bully", "--crashes", "1", "--claim", "L2").code == 1
