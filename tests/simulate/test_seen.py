"""A simulated verdict says no more than was seen."""

from pathlib import Path

import pytest

from electorate.cli.retell import kind_and_form
from electorate.simulate.experiment import Experiment, Subject
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
        ("bully --resets 9 --seeds 5", {}),
        ("bully --crashes 0 --resets 1 --seeds 2", {"resets": "none came about"}),
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
    experiment = Experiment(
        Subject("bully", Scenario(faults=Faults(crashes=2, lies=1))), kind_and_form
    )
    runs = [experiment.run(seed).seen for seed in range(6)]
    joined = Seen.joined(runs)
    assert joined.met == {"", "A1", "A2"}
    assert joined.turns
    crashes = sum(seen.happened.get("crashes", 0) for seen in runs)
    assert joined.happened["crashes"] == crashes > 0


MACHINE = """
from msgspec.structs import replace
from electorate.core import Machine, Message, Received, Send, SetTimer, Stable, Standing, State
from electorate.core import Status, TimedOut, Timer

class Beat(Message):
    number: int

class Counting(State):
    number: int = 0

class Mine(Machine[Counting]):
    state_type = Counting
    messages = (Beat,)
    timers = (Timer("beat", periodic=True),)
    promises = ("A1", "A2")

    def boot(self, me, stable):
        return Counting(me, Stable()), [SetTimer("beat", LENGTH)]

    def step(self, s, event):
        match event:
            case TimedOut("beat"):
                return replace(s, number=(s.number + 1) % 4), [SetTimer("beat", LENGTH), *MORE]
        return s, []

    def view(self, s):
        return Standing(Status.ELECTION) if s.number == 3 else Standing(Status.NORMAL, 1)
"""
BEAT = "Send(3 - s.me, Beat(s.number))"


def in_file(folder: Path, length: str, more: str) -> str:
    file = folder / "mine.py"
    text = MACHINE.replace("LENGTH", length).replace("*MORE", more)
    file.write_text(text, encoding="utf-8")
    return f"{file}:Mine"


def test_a_goal_that_is_lost_again_and_again_is_not_reached_because_the_run_ends(
    electorate: Run, tmp_path: Path
) -> None:
    """Fails if a goal needs only to be true at the moment in which nobody looks any longer."""
    name = in_file(tmp_path, "2 * self.timing.T", BEAT)
    words = ["--nodes", "2", "--crashes", "0", "--from", "boot", "--claim", "A2"]
    ran = electorate("simulate", name, *words, "--seeds", "8")
    assert ran.code == 3
    assert "A2 unknown" in ran.out
    assert "reached and kept for 50T: in no run" in ran.out
    one = electorate("simulate", name, *words, "--seed", "0", "--json").object
    assert one["claims"] == {"A2": "unknown"}
    assert one["reason"] == "A2: in some run it was true at the end for less than 50T"


def test_where_time_stands_still_the_run_is_broken_off(electorate: Run, tmp_path: Path) -> None:
    """Fails if a timer of no length that is set again for ever keeps the command for ever."""
    words = ["--nodes", "2", "--crashes", "0", "--from", "boot", "--claim", "A1", "--seeds", "2"]
    ran = electorate("simulate", in_file(tmp_path, "0", BEAT), *words)
    assert ran.code == 3
    assert "A1 unknown" in ran.out
    assert "time stands still in some run" in ran.out
