"""A simulated verdict says no more than was seen."""

from pathlib import Path

import pytest

from electorate.cli.retell import kind_and_form
from electorate.simulate.bench import Bench, Subject
from electorate.simulate.scenario import Faults, Scenario
from electorate.simulate.seen import Seen
from tests.cli.run import Run, runner


@pytest.fixture
def electorate(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("bully --crashes 0", "nothing happened: not one node took a turn"),
        ("park-literal", "not once did anybody lead"),
        ("park-literal --seeds 20", "not once did anybody lead"),
        ("mandate --claim M1", "not once did anybody lead"),
        ("two-phase --claim C1", "not once did anybody decide a transaction"),
        ("bully --nodes 1 --claim A1", "A1: not once were two nodes normal"),
        ("bully --crashes 1 --recoveries 0 --claim L1 --seed 3", "not one message was delivered"),
    ],
)
def test_where_nothing_that_matters_happened_the_verdict_is_unknown(
    electorate: Run, words: str, reason: str
) -> None:
    ran = electorate("simulate", *words.split())
    assert ran.code == 3
    assert ran.out.endswith(f"The verdict is unknown: {reason}.\n")
    assert " holds" not in ran.out
    found = electorate("simulate", *words.split(), "--json")
    assert found.code == 3
    assert (found.object["verdict"], found.object["reason"]) == ("unknown", reason)
    assert set(found.object["claims"].values()) == {"unknown"}


def test_a_claim_whose_premise_was_never_met_is_unknown_beside_others_that_hold(
    electorate: Run,
) -> None:
    ran = electorate("simulate", "two-phase", "--asks", "1", "--json")
    found = ran.object
    assert (ran.code, found["verdict"], found["claims"]["C2"]) == (3, "unknown", "unknown")
    assert found["claims"]["C1"] == "holds"
    assert found["unmet"] == {"C2": "not once had anybody committed"}
    assert found["reason"] == "C2: not once had anybody committed"


def test_a_claim_that_is_broken_is_so_whatever_else_was_not_seen(electorate: Run) -> None:
    words = ["bully-as-printed", "--nodes", "5", "--seeds", "60", "--claim", "A1", "--lies", "0"]
    ran = electorate("simulate", *words, "--json")
    assert (ran.code, ran.object["claims"]) == (1, {"A1": "violated"})
    assert ran.object["reason"] is None


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        ("bully-rpc --lies 3", {"lies": "it uses no failure detector"}),
        ("bully --asks 2", {"asks": "there is nothing to ask it for"}),
        ("bully --loss 0.000001", {"loss": "none came about"}),
        ("bully --duplicate 0.1 --loss 0.1 --seeds 20", {}),
        ("bully --cuts 2 --partitions 1 --pauses 2 --lies 2 --seeds 5", {}),
        ("bully --crashes 0 --recoveries 3 --lies 2", {"recoveries": "nobody was down"}),
        ("bully --crashes 0 --lies 2", {}),
    ],
)
def test_faults_that_were_asked_for_and_never_happened_are_named(
    electorate: Run, words: str, idle: dict[str, str]
) -> None:
    assert electorate("simulate", *words.split(), "--json").object["idle"] == idle
    out = electorate("simulate", *words.split()).out
    for kind, why in idle.items():
        assert f"  {kind}: asked for, and never happened: {why}\n" in out


def test_a_fault_in_a_list_counts_as_asked_for(electorate: Run, tmp_path: Path) -> None:
    file = tmp_path / "lie.toml"
    lie = '[[faults.list]]\nkind = "lie"\nat = "3T"\nnode = 1\nabout = 2\n'
    file.write_text(f"nodes = 3\n[faults]\ncrashes = 1\n{lie}", encoding="utf-8")
    ran = electorate("simulate", "bully-rpc", "--scenario", str(file), "--json")
    assert ran.object["idle"] == {"lies": "it uses no failure detector"}


def test_what_runs_show_is_joined() -> None:
    bench = Bench(Subject("bully", Scenario(faults=Faults(crashes=2, lies=1))), kind_and_form)
    runs = [bench.run(seed).seen for seed in range(6)]
    joined = Seen.joined(runs)
    assert joined.met == {"", "A1", "A2"}
    assert joined.turns
    crashes = sum(seen.happened.get("crashes", 0) for seen in runs)
    assert joined.happened["crashes"] == crashes > 0
