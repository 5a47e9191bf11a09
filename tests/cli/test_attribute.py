"""`--attribute ID=VALUE` ranks a node by a number before its id, on every command."""

import pytest

from tests.cli.run import Run

NODE = ["node", "bully", "--id", "1", "--member", "1@127.0.0.1:7401", "--data", "nowhere"]


def test_the_checker_ranks_by_attribute(electorate: Run) -> None:
    words = ["check", "ring-attribute", "--from", "boot", "--claim", "S1", "--json"]
    ran = electorate(*words, "--attribute", "1=80", "--attribute", "3=-6")
    assert ran.code == 0
    assert ran.object["attributes"] == [80, 0, -6]
    assert "attributes 80 0 -6" in ran.object["sentence"]
    assert electorate(*words).object["attributes"] == []


def test_the_run_that_is_shown_names_the_attributes(electorate: Run) -> None:
    ran = electorate(
        "check", "chang-roberts-code", "--crashes", "1", "--attribute", "2=9", "--claim", "A2"
    )
    assert ran.code == 1
    assert "cluster chang-roberts-code 1 2 3 attributes=0,9,0" in ran.out
    assert "2 crashes" in ran.out


def test_the_simulator_ranks_by_attribute(electorate: Run) -> None:
    words = ["simulate", "chang-roberts", "--from", "boot", "--crashes", "0", "--claim", "S1"]
    ran = electorate(*words, "--attribute", "2=1")
    assert ran.code == 0
    assert "2 normal, follows 2" in ran.out
    many = electorate(*words, "--attribute", "2=1", "--seeds", "20", "--json")
    assert (many.code, many.object["attributes"]) == (0, [0, 1, 0])


def test_a_failing_seed_is_shrunk_with_the_attributes_of_the_nodes_that_are_left(
    electorate: Run,
) -> None:
    words = ["simulate", "chang-roberts", "--nodes", "4", "--seeds", "20", "--claim", "S1"]
    ran = electorate(*words, "--attribute", "3=7")
    assert ran.code == 1
    assert "cluster chang-roberts 1 3 attributes=0,7" in ran.out


@pytest.mark.parametrize(
    "command",
    [["check", "bully"], ["simulate", "bully"], ["up", "--for", "1"], NODE],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        (["9=1"], "--attribute names 9, which is not a node"),
        (["1=1", "1=2"], "two --attribute arguments are about the same node"),
        (["1"], "must be ID=VALUE, two whole numbers, not 1"),
        (["1=heavy"], "must be ID=VALUE, two whole numbers, not 1=heavy"),
        (["=1"], "must be ID=VALUE, two whole numbers, not =1"),
    ],
)
def test_a_bad_attribute_is_one_clear_line(
    electorate: Run, command: list[str], attributes: list[str], problem: str
) -> None:
    words = [word for attribute in attributes for word in ("--attribute", attribute)]
    ran = electorate(*command, *words)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.strip().splitlines()) == 1
    assert problem in ran.err


def test_nodes_may_be_declared_equal(electorate: Run) -> None:
    words = ["check", "bully", "--nodes", "2", "--from", "boot", "--claim", "A1"]
    assert electorate(*words).code == 0
    ran = electorate(*words, "--equal", "1,2")
    assert ran.code == 1
    assert "1 and 2 of equal rank" in ran.out
    assert "cluster bully 1 2 start=boot equal=1,2" in ran.out
    drawn = electorate("simulate", *words[1:], "--equal", "1,2", "--seeds", "3", "--crashes", "0")
    assert drawn.code == 1
    wrong = electorate(*words, "--equal", "1,3")
    assert (wrong.code, wrong.err.count("two members or more")) == (2, 1)
