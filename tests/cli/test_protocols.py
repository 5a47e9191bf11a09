"""`electorate protocols` lists what there is, and shows one protocol in full."""

import json
from pathlib import Path
from typing import Any

import pytest

from electorate.claims import CLAIMS
from electorate.cli.main import main
from electorate.cli.protocol import find
from electorate.protocols.registry import REGISTRY

ROOT = Path(__file__).parents[2]
CHANG_ROBERTS = f"{ROOT}/examples/chang_roberts.py:ChangRoberts"
FAULTY = ROOT / "tests" / "faulty"
KEYS = {
    "name",
    "form",
    "forms",
    "idea",
    "source",
    "needs",
    "rules",
    "assumptions",
    "promises",
    "strongest",
    "messages",
    "requests",
    "timers",
    "uses_views",
    "cautions",
}


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["protocols", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def objects(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(told(capsys, *arguments, "--json"))["protocols"]
    return found


def test_the_list_names_every_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys)
    for name in REGISTRY:
        assert name in text
    assert "`electorate protocols P` shows rules, messages and timers." in text


def test_the_list_says_what_every_claim_means(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(told(capsys).split())
    for claim in CLAIMS.values():
        assert f"{claim.name} {claim.kind} {claim.text.split()[0]}" in text
    listed = json.loads(told(capsys, "--json"))["claims"]
    assert {name: about["text"] for name, about in listed.items()} == {
        claim.name: claim.text for claim in CLAIMS.values()
    }


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_the_help_of_a_command_that_judges_names_every_claim(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert ", ".join(CLAIMS) in " ".join(capsys.readouterr().out.split())


def test_the_list_as_json_has_the_same_keys_for_every_protocol(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = objects(capsys)
    assert [about["name"] for about in found] == list(REGISTRY)
    assert all(set(about) == KEYS for about in found)


def test_a_protocol_tells_its_source_and_its_needs(capsys: pytest.CaptureFixture[str]) -> None:
    [bully] = objects(capsys, "bully")
    assert bully["idea"] == "Bully: of the nodes that answer, the strongest leads."
    assert bully["source"].startswith('H. Garcia-Molina, "Elections in a Distributed Computing')
    assert bully["source"].endswith('slides "The Bully Election Algorithm".')
    assert bully["needs"].startswith("a message is handled within T of being sent")


def test_a_protocol_tells_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    [bully] = objects(capsys, "bully")
    assert bully["rules"]["guard"] == {
        "value": "2T",
        "choices": [],
        "text": "How long after its own recovery a node takes no announcement.",
    }
    assert bully["rules"]["accept"]["choices"] == ["halter", "anyone"]


def test_a_form_changes_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    [named] = objects(capsys, "bully-as-printed")
    [formed] = objects(capsys, "bully", "--form", "printed")
    assert named["form"] == formed["form"] == "printed"
    assert named["rules"] == formed["rules"]
    assert named["rules"]["guard"]["value"] == "0"


def test_a_form_may_promise_less(capsys: pytest.CaptureFixture[str]) -> None:
    [named] = objects(capsys, "park-literal")
    [formed] = objects(capsys, "park-as-printed", "--form", "literal")
    [printed] = objects(capsys, "park-as-printed")
    assert named["promises"] == formed["promises"] == ["P1"]
    assert named["assumptions"] == formed["assumptions"] == []
    assert printed["promises"] == ["P1", "P2"]
    assert "no-crash" in printed["assumptions"]


def test_one_protocol_is_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "bully")
    for shown in (
        "sound (of printed, sound)",
        "the lowest rank",
        "bounded-delay, closed-bounds, no-loss",
        "A1: any two normal nodes agree on the leader",
        "probe, answered, settle, halted, guard",
        "Stop what you are doing: I am about to lead.",
        "while_probing",
    ):
        assert shown in text


def test_a_file_of_ones_own_is_shown_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert "votes travel round a ring" in told(capsys, CHANG_ROBERTS)
    [ring] = objects(capsys, CHANG_ROBERTS)
    assert ring["strongest"] == "highest"
    assert ring["promises"] == ["A1", "A2", "S1"]
    assert ring["timers"] == {}
    assert ring["rules"] == {}
    assert not ring["uses_views"]


def test_a_machine_inside_another_is_shown_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    [outer] = objects(capsys, f"{ROOT}/tests/core/lifted.py:OverTenure")
    assert list(outer["messages"]) == ["Nudge", "inner.Claim"]
    assert outer["timers"]["inner.beat"] == {"periodic": True}
    assert outer["rules"]["inner.lease"]["value"] == "3T"
    told(capsys, f"{ROOT}/tests/core/lifted.py:OverTenure")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["buly"], "no protocol 'buly': did you mean bully?"),
        (["bully", "--form", "odd"], "Bully has no form 'odd'; its forms are: printed, sound"),
        (["nowhere.py:Ring"], "no protocol file nowhere.py"),
        ([f"{FAULTY}/raises.py:Nobody"], "has no class 'Nobody'"),
        ([f"{FAULTY}/raises.py:Panic"], "is not a subclass of electorate.core.Machine"),
        ([f"{FAULTY}/raises.py:RaisesInConstructor"], "cannot be built: LookupError: no such"),
        ([f"{FAULTY}/unloadable.py:Ring"], "unloadable.py fails to load: SystemExit: 0"),
        ([f"{FAULTY}/undeclared.py:ForgetsComma"], "not a tuple of kinds of Message"),
        (["electorate.nowhere:Ring"], "module electorate.nowhere cannot be imported"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    assert main(["protocols", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("electorate: ")
    assert problem in captured.err


def test_a_file_is_loaded_once_until_it_changes(tmp_path: Path) -> None:
    """States of a type that was loaded twice would be strangers to each other's machine."""
    file, source = tmp_path / "mine.py", Path(CHANG_ROBERTS.partition(":")[0]).read_bytes()
    file.write_bytes(source)
    first = find(f"{file}:ChangRoberts").kind
    assert find(f"{file}:ChangRoberts").kind is first
    assert find(f"{tmp_path / '.' / 'mine.py'}:ChangRoberts").kind is first
    file.write_bytes(source + b"\n# changed\n")
    assert find(f"{file}:ChangRoberts").kind is not first
