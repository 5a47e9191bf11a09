"""Replaying scripts and recorded runs, and the first difference between then and now."""

import json
from pathlib import Path

import pytest

from electorate.simulate import ScriptError, run_script
from electorate.simulate.replay import replay
from electorate.trace import to_json_lines
from tests.script import GOLDEN
from tests.script import find as find_script
from tests.simulate.machines import find

SCRIPT = """cluster probe 1 2 3 T=2

ask 1 Shout(2)
cut 1->3
tick
----
1 is asked for Shout(2)
  1 stable.said: 0 => 2
  1 sends Note(0) to 2
  1 sends Note(0) to 3
  1 sends Note(1) to 2
  1 sends Note(1) to 3
  1 sends Note(0) to 1
  1 heard: () => ((1, 0))
1->3 is cut
time 1

deliver 1->2
----
1->2 Note(0)
  2 heard: () => ((1, 0))
"""


def recorded(tmp_path: Path) -> list[str]:
    more = SCRIPT + "\ndeliver 1->2\ntick\ntick\n"
    return list(to_json_lines(run_script(more, find).trace))


def test_a_script_comes_out_the_same() -> None:
    replayed = replay(SCRIPT, find, "mine.txt")
    assert replayed.difference is None
    assert len(replayed.trace.steps) == 4


@pytest.mark.parametrize(
    ("old", "new", "line", "expected", "actual"),
    [
        ("time 1", "time 2", 16, "time 2", "time 1"),
        ("1->3 is cut\n", "", 15, "time 1", "1->3 is cut"),
        ("  2 heard: () => ((1, 0))\n", "", 21, None, "  2 heard: () => ((1, 0))"),
        ("1->2 Note(0)\n", "1->2 Note(0)\nmore\n", 21, "more", "  2 heard: () => ((1, 0))"),
    ],
)
def test_the_first_difference_is_shown(
    old: str, new: str, line: int, expected: str | None, actual: str | None
) -> None:
    replayed = replay(SCRIPT.replace(old, new), find, "mine.txt")
    assert replayed.difference == (line, expected, actual)
    assert replayed.text == SCRIPT


def test_a_recorded_run_comes_out_the_same(tmp_path: Path) -> None:
    lines = recorded(tmp_path)
    assert any(json.loads(line)["command"] is None for line in lines[1:]), "losses on a cut link"
    text = "\n".join(lines) + "\n"
    replayed = replay(text, find, "mine.jsonl")
    assert (replayed.difference, replayed.text) == (None, text)


def test_a_recorded_run_that_says_something_else_is_found_out(tmp_path: Path) -> None:
    lines = recorded(tmp_path)
    right = lines[2]
    lines[2] = right.replace("is cut", "is healed")
    replayed = replay("\n".join(lines), find, "mine.jsonl")
    assert replayed.difference is not None
    assert replayed.difference.line == 3
    assert replayed.difference.actual == right


def test_a_recorded_run_that_leaves_something_out_is_found_out(tmp_path: Path) -> None:
    lines = [line for line in recorded(tmp_path) if '"command":null' not in line]
    replayed = replay("\n".join(lines), find, "mine.jsonl")
    assert replayed.difference is not None


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (["{}"], "mine.jsonl:1: a trace begins with its cluster"),
        (['{"cluster": 3}'], "mine.jsonl:1: a trace begins with its cluster"),
        (['{"cluster": "probe"}'], "mine.jsonl:1: a run begins with `cluster"),
        (['{"cluster": "cluster probe 1"}', "["], "mine.jsonl:2: not a step: "),
        (['{"cluster": "cluster probe 1"}', "{}"], "mine.jsonl:2: not a step: "),
        (
            [
                '{"cluster": "cluster probe 1"}',
                '{"command": "tick", "text": ["time T"]}',
                '{"command": "crash 7", "text": []}',
            ],
            "mine.jsonl:3: 7 is not a member",
        ),
    ],
)
def test_what_is_wrong_with_a_recorded_run_is_said_with_its_line(
    lines: list[str], wrong: str
) -> None:
    with pytest.raises(ScriptError) as caught:
        replay("\n".join(lines), find, "mine.jsonl")
    assert str(caught.value).startswith(wrong)


def test_claims_are_judged_along_the_way() -> None:
    text = "cluster beat 1 2 start=boot\n\nsettle\n\ntick 3\nfire 1 beat\nfire 2 beat\ntick\n"
    before = replay(text, find, "mine.txt").breaches
    assert before["A2"].witness.text == "1 is normal and follows 1, but 2 is normal and follows 2"
    assert replay(text + "deliver 1->2\n", find, "mine.txt").breaches == {}


def test_claims_that_a_script_names_are_judged_after_every_step_too() -> None:
    """Fails if a form that promises nothing is replayed as if nothing broke."""
    script = GOLDEN / "bully_textbook" / "two_leaders_without_a_fault.txt"
    text = script.read_text(encoding="utf-8")
    found = replay(text, find_script, script.name).breaches
    assert set(found) == {"A1", "A2", "S2"}
    assert found["A1"].step == found["S2"].step
    unnamed = text.replace("claims A1 A2", "claims").replace("claims S2", "claims")
    assert replay(unnamed, find_script, script.name).breaches == {}
