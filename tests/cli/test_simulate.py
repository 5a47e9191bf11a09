"""`electorate simulate` and `replay` as their users see them."""

from pathlib import Path

import pytest

from tests.cli.run import Run


def test_a_failing_seed_with_lies_is_shrunk_and_told(electorate: Run) -> None:
    words = ["--scenario", "examples/scenarios/wan.toml", "--seed", "6", "--json"]
    ran = electorate("simulate", "bully", *words)
    assert ran.code == 1
    assert "cluster bully" in ran.object["script"]


@pytest.mark.parametrize("option", [["--verbose"], ["--trace", "somewhere.jsonl"]])
def test_what_many_seeds_cannot_show_is_refused(electorate: Run, option: list[str]) -> None:
    ran = electorate("simulate", "bully", "--seeds", "2", *option)
    assert ran.code == 2
    assert "single seed" in ran.err


def test_a_goal_that_a_cut_run_does_not_reach_is_no_violation(
    electorate: Run, tmp_path: Path
) -> None:
    script = tmp_path / "found.txt"
    budget = ["--crashes", "1", "--recoveries", "1", "--script", str(script)]
    assert electorate("check", "bully-as-printed", *budget).code == 1
    ran = electorate("replay", str(script))
    assert ran.code == 0
    assert "A1 is violated after step" in ran.out
    assert "A2 is not reached at the end" in ran.out
