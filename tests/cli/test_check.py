"""`electorate check` as its users see it."""

from pathlib import Path

import pytest

from tests.cli.run import Run

KEYS = {
    "protocol",
    "rules",
    "nodes",
    "timing",
    "delay",
    "ties",
    "budgets",
    "bounds",
    "verdict",
    "claims",
    "liveness",
    "tau",
    "states",
    "transitions",
    "depth",
    "seconds",
    "sometimes",
    "trace",
}


def test_a_check_that_holds_exits_with_0_and_reports_everything(electorate: Run) -> None:
    ran = electorate("check", "bully", "--nodes", "3", "--crashes", "1", "--json")
    assert ran.code == 0
    found = ran.object
    assert found.keys() >= KEYS
    assert found["verdict"] == "holds"
    assert found["claims"] == {"A1": "holds", "A2": "holds"}
    assert found["liveness"] == "live"
    assert found["tau"] == 6
    assert found["trace"] == []


def test_a_broken_claim_exits_with_1_and_shows_the_run(electorate: Run) -> None:
    words = ["check", "bully-as-printed", "--crashes", "1", "--recoveries", "1"]
    found = electorate(*words, "--json")
    assert found.code == 1
    assert found.object["claims"]["A1"] == "violated"
    assert found.object["trace"][0]["command"] == "crash 1"
    told = electorate(*words)
    assert told.code == 1
    assert "A1 violated: 1 is normal and follows 1, but 3 is normal and follows 2" in told.out


def test_a_limit_exits_with_3_and_says_which(electorate: Run) -> None:
    ran = electorate("check", "bully", "--crashes", "2", "--states-max", "100", "--json")
    assert ran.code == 3
    assert ran.object["verdict"] == "unknown"
    assert "--states-max" in ran.object["reason"]


def test_a_found_run_can_be_kept_and_replayed(electorate: Run, tmp_path: Path) -> None:
    script = tmp_path / "found.txt"
    words = ["check", "bully", "--nodes", "2", "--timing", "unbounded", "--from", "boot"]
    assert electorate(*words, "--script", str(script)).code == 1
    assert electorate("replay", str(script)).code == 0


def test_the_form_can_be_named_instead_of_the_registry_entry(electorate: Run) -> None:
    budget = ["--crashes", "1", "--recoveries", "1", "--json"]
    one = electorate("check", "bully-as-printed", *budget).object
    other = electorate("check", "bully", "--form", "printed", *budget).object
    for key in ("rules", "states", "transitions", "claims"):
        assert one[key] == other[key]


def test_the_slowest_run_is_shown_on_request(electorate: Run) -> None:
    ran = electorate("check", "bully", "--crashes", "1", "--slowest")
    assert "The slowest run" in ran.out
    assert "τ = 6 ticks = 6T" in ran.out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["no-such-protocol"], "no-such-protocol"),
        (["buly"], "did you mean bully?"),
        (["bully", "--nodes", "0"], "1 to 64"),
        (["bully", "--nodes", "1000000000"], "1 to 64"),
        (["bully", "--nodes", "many"], "many"),
        (["bully", "--rule", "guard"], "name=value"),
        (["bully", "--rule", "gard=T"], "unknown rule 'gard'"),
        (["bully", "--rule", "guard=soon"], "not a span"),
        (["bully", "--rule", "accept=nobody"], "accept=nobody"),
        (["bully", "--rule", "probe=-1T"], "less than no time"),
        (["examples/chang_roberts.py"], "name the class too"),
        (["bully", "--form", "imprinted"], "its forms are: printed, sound"),
        (["bully", "--claim", "A9"], "unknown claim 'A9'"),
        (["bully", "--claim", "C3"], "C3 is about decisions, of which it tells nothing"),
        (["tests/faulty/undeclared.py:GrowsUnseen", "--claim", "A1"], "growing names 'round'"),
        (["bully", "--delay", "2..1"], "MIN..T"),
        (["bully", "--delay", "0..0"], "at least 1"),
        (["bully", "--crashes", "-1"], "--crashes"),
        (["bully", "--detector", "perfect", "--lies", "1"], "tells no lies"),
        (["bully", "--timing", "relative"], "relative"),
        (["bully", "--mortal", "1,x"], "ids with commas"),
        (["bully", "--mortal", "4"], "--mortal names 4, which is not a node"),
        (["nowhere.py:Class"], "no protocol file nowhere.py"),
        (["electorate.protocols.bully:Nothing"], "no class 'Nothing'"),
        (["electorate.protocols.bully:Halt"], "not a subclass"),
        (["no.such.module:Class"], "cannot be imported"),
    ],
)
def test_bad_input_is_one_clear_line(electorate: Run, words: list[str], named: str) -> None:
    ran = electorate("check", *words)
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.err.strip().splitlines()) == 1
    assert named in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", ["simulate", "check --engine python", "check --engine numba"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("raises.py:RaisesInStep", "raised"),
        ("mutates.py:MutatesState", "changed its input"),
        ("garbage.py:ReturnsNone", "instead of (state, effects)"),
        ("undetermined.py:RollsDice", "answered differently"),
        ("stranger.py:WritesToStranger", "not a member"),
    ],
)
def test_a_faulty_protocol_file_is_one_clear_line(
    electorate: Run, command: str, name: str, problem: str
) -> None:
    verb, *options = command.split()
    words = ("--nodes", "2", "--claim", "A1", *options)
    ran = electorate(verb, f"tests/faulty/{name}", *words)
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1
    assert name.partition(":")[2] in ran.err
    assert problem in ran.err
    assert "state" in ran.err
    assert "event" in ran.err or "boot" in ran.err


def test_a_third_party_file_is_checked_like_our_own(electorate: Run) -> None:
    ran = electorate(
        "check",
        "examples/chang_roberts.py:ChangRoberts",
        "--nodes",
        "4",
        "--from",
        "boot",
        "--json",
    )
    assert ran.code == 0
    assert ran.object["claims"]["A1"] == "holds"
    assert ran.object["liveness"] == "live"


def test_a_run_without_crashes_can_have_many_nodes(electorate: Run) -> None:
    ran = electorate("check", "bully", "--nodes", "12", "--normal-max", "1000", "--json")
    assert ran.object["states"] == 1
    assert (ran.object["normal"]["ends"], ran.object["normal"]["drawn"]) == (1, 200)
    assert "no node ever had anything to do" in ran.object["reason"]
    assert ran.object["cuts"] == {"normal": 1}


def test_a_script_that_was_not_written_is_mentioned(electorate: Run, tmp_path: Path) -> None:
    ran = electorate("check", "bully", "--crashes", "1", "--script", str(tmp_path / "none.txt"))
    assert ran.code == 0
    assert "nothing to write" in ran.err


def test_a_run_that_needs_no_fault_is_told_with_its_real_numbers(electorate: Run) -> None:
    """It begins where faults are over at once, and its numbers were renamed in the search."""
    words = ["check", "invitation", "--nodes", "2", "--rule", "misjudges=AreYouLeader"]
    ran = electorate(*words, "--crashes", "1", "--claim", "A4")
    assert ran.code == 1, ran.err
    assert "AreYouLeader((1, 1)) to node 2" in ran.out


@pytest.mark.parametrize(("nodes", "warned"), [(3, False), (4, True)])
def test_a_delay_that_a_check_always_cancels_is_warned_of(
    electorate: Run, nodes: int, warned: bool
) -> None:
    words = ["check", "invitation", "--rule", "outranked=delay", "--from", "boot", "--claim", "A3"]
    ran = electorate(*words, "--nodes", str(nodes), "--delay", "1..1", "--states-max", "100")
    assert ("check every 7T comes first and cancels that" in ran.err) is warned
    longer = electorate(*words, "--nodes", str(nodes), "--states-max", "9", "--rule", "check=9T")
    assert "cancels" not in longer.err
