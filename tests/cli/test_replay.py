"""`electorate replay` as its users see it."""

import json
from pathlib import Path

import pytest

from electorate.runs import run_file, run_names
from electorate.simulate.command import COMMANDS
from tests.cli.run import Run
from tests.script import ROOT

HEAD = "# Nothing happens.\ncluster bully 1 2 3\n\n"


def test_a_run_of_electorate_is_told_in_sentences(electorate: Run) -> None:
    ran = electorate("replay", "bully/strongest_starts")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[0] == "   At first node 1 leads, and nodes 2, 3 and 4 follow node 1."
    assert lines[1] == "    1. Node 1 crashes."
    assert "  A1 holds after every step" in lines
    assert "  A2 is reached at the end" in lines


def test_messages_are_counted_by_kind(electorate: Run) -> None:
    worst = electorate("replay", "ring_attribute/worst_case", "--no-tell")
    assert worst.out.startswith("ring_attribute/worst_case: ")
    assert "17 messages: 11 Election, 6 Elected" in worst.out
    told = json.loads(electorate("replay", "ring_attribute/best_case", "--json").out)
    assert told["messages"] == {"Election": 6, "Elected": 6}
    assert told["same"]
    assert told["story"]


def test_a_message_that_a_crash_kept_back_does_not_count(electorate: Run, tmp_path: Path) -> None:
    script = tmp_path / "torn.txt"
    script.write_text(f"{HEAD}crash 1\nview 3 2 3 torn 1:1 2:0\n", encoding="utf-8")
    assert "1 message: 1 AreYouThere" in electorate("replay", str(script)).out


def test_several_scripts_take_a_line_each(electorate: Run) -> None:
    names = ["bully/strongest_starts", "bully/weakest_starts"]
    ran = electorate("replay", *names)
    assert ran.code == 0
    heads = [line for line in ran.out.splitlines() if not line.startswith(" ")]
    assert [head.partition(":")[0] for head in heads] == names
    assert "Node 1 crashes" in electorate("replay", *names, "--tell").out
    assert len(json.loads(electorate("replay", *names, "--json").out)["runs"]) == 2


def test_one_of_several_that_comes_out_otherwise_is_found(electorate: Run, tmp_path: Path) -> None:
    script = tmp_path / "wrong.txt"
    script.write_text(f"{HEAD}crash 1\n----\n2 crashes\n", encoding="utf-8")
    ran = electorate("replay", "bully/strongest_starts", str(script))
    assert ran.code == 1
    assert "wrong.txt:6: this came out differently" in ran.err
    assert electorate("replay", "bully/strongest_starts", str(script), "--rewrite").code == 0
    assert electorate("replay", str(script)).code == 0


def test_the_same_commands_under_another_rule(electorate: Run) -> None:
    script = "bully/probe_meets_halt"
    assert electorate("replay", script, "--rule", "while_halting=yes").code == 0
    changed = electorate("replay", script, "--rule", "while_halting=silent")
    assert changed.code == 1
    assert "the script cannot go on" in changed.err
    slower = electorate("replay", "bully/strongest_starts", "--rule", "settle=2T", "--no-tell")
    assert slower.code == 1
    assert "this came out differently" in slower.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "replay what? Name a script, or see electorate replay --list"),
        ("bully/weakest_start", "did you mean bully/weakest_starts?"),
        ("bully/weakest_starts --rule nix=1", "unknown rule 'nix'"),
        ("bully/weakest_starts --rule settle=T --rewrite", "the script's own rules"),
        ("bully/weakest_starts bully/strongest_starts --svg x.svg", "take one run"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_a_line(
    electorate: Run, words: str, said: str
) -> None:
    ran = electorate("replay", *words.split())
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_every_run_of_electorate_is_listed_and_found(electorate: Run) -> None:
    listed = electorate("replay", "--list").out.split()
    assert listed == run_names()
    assert len(listed) > 250
    assert all(run_file(name) for name in listed)
    assert run_file("bully/../bully/weakest_starts") is None


def test_every_command_of_a_script_is_documented() -> None:
    page = (ROOT / "docs" / "scripts.md").read_text(encoding="utf-8")
    assert [verb for verb in COMMANDS if f"`{verb}`" not in page and f"`{verb} " not in page] == []
