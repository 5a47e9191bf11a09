"""`electorate simulate` and `electorate replay`, as a user runs them."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from electorate.cli.main import main
from electorate.runs import FOLDER

GOLDEN = FOLDER / "bully"
Ran = tuple[int, str, str]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Ran:
    try:
        code = main(words)
    except SystemExit as ended:  # argparse ends this way
        code = int(ended.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def found(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code, out, err = run(capsys, *words, "--json")
    assert err == ""
    assert out.count("\n") == 1
    return code, json.loads(out)


def test_one_seed_is_told_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "simulate", "bully", "--nodes", "4", "--seed", "3")
    assert (code, err) == (0, "")
    assert "bully, 4 nodes, seed 3: " in out
    assert "  A1 holds: any two normal nodes agree on the leader" in out
    assert "messages delivered, goals reached " in out
    _, longer, _ = run(capsys, "simulate", "bully", "--nodes", "4", "--seed", "3", "--verbose")
    assert len(longer) > 2 * len(out)


def test_one_seed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, one = found(capsys, "simulate", "bully", "--nodes", "4", "--seed", "3")
    assert code == 0
    assert one["protocol"] == "bully"
    assert one["rules"]["guard"] == "2T"
    assert (one["nodes"], one["seed"], one["verdict"]) == (4, 3, "holds")
    assert one["claims"] == {"A1": "holds", "A2": "holds"}
    assert (one["witness"], one["script"]) == (None, None)
    assert one["deliveries"] > 0
    assert one["elect_T"] >= 0
    assert found(capsys, "simulate", "bully", "--nodes", "4", "--seed", "3")[1] == one


def test_many_seeds_find_shrink_and_keep_a_failing_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "found.txt"
    words = ("simulate", "bully-as-printed", "--nodes", "5", "--seeds", "150", "--claim", "A1")
    code, many = found(capsys, *words, "--script", str(script))
    assert code == 1
    assert (many["verdict"], many["claims"]) == ("violated", {"A1": "violated"})
    assert many["violations"]["A1"]["seeds"] > 0
    assert script.read_text(encoding="utf-8") == many["script"]
    assert run(capsys, "replay", str(script))[0] == 0
    seed = str(many["violations"]["A1"]["seed"])
    code, one = found(capsys, *words[:4], "--seed", seed, "--claim", "A1")
    assert (code, one["verdict"]) == (1, "violated")
    code, out, _ = run(capsys, *words)
    assert code == 1
    assert "A1 violated by " in out
    assert many["script"] in out


def test_a_protocol_from_a_file_is_run_by_every_worker_and_shrunk(
    capsys: pytest.CaptureFixture[str],
) -> None:
    protocol = f"{Path(__file__).parent / 'machines.py'}:Beat"
    words = ("simulate", protocol, "--nodes", "4", "--seeds", "200", "--claim", "S2")
    code, many = found(capsys, *words, "--workers", "2")
    assert (code, many["seeds"]) == (1, 200)
    assert many["script"].endswith("S2 violated: 1 and 4 each consider themselves leader\n")


def test_many_seeds_that_hold(capsys: pytest.CaptureFixture[str]) -> None:
    code, many = found(capsys, "simulate", "bully", "--seeds", "40", "--seed", "10")
    assert (code, many["verdict"], many["seeds"]) == (0, "holds", 40)
    assert many["elect_T"]["median"] <= many["elect_T"]["p95"] <= many["elect_T"]["max"]
    code, out, _ = run(capsys, "simulate", "bully", "--seeds", "40", "--rule", "guard=3T")
    assert code == 0
    assert out.startswith("bully with guard=3T, 3 nodes: 40 seeds\n")


def test_conditions_can_be_given_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    words = "simulate bully --delay pareto:0.1T,1.5 --loss 0.1 --duplicate 0.1 --order bag"
    words += " --connections die --detection 4T --crashes 2 --recoveries 1 --pauses 1 --cuts 1"
    words += " --partitions 1 --lies 1 --asks 1 --strongest highest --form printed --claim S2"
    code, one = found(capsys, *words.split())
    assert code in (0, 1)
    assert one["timing"] == "unbounded"
    assert one["rules"]["guard"] == "0"
    assert one["protocol"] == "bully/printed"


def test_what_is_given_changes_the_scenario(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("nodes = 5\n[faults]\ncrashes = 3\n", encoding="utf-8")
    _, one = found(capsys, "simulate", "bully", "--scenario", str(file))
    assert one["nodes"] == 5
    _, one = found(capsys, "simulate", "bully", "--scenario", str(file), "--nodes", "2")
    assert one["nodes"] == 2


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("simulate bulli", "no protocol 'bulli': did you mean bully?"),
        ("simulate bully --rule guard=soon", "bully: rule guard=soon: 'soon' is not a span"),
        ("simulate bully --delay slow", "'slow' is not a delay model"),
        ("simulate bully --detection slow", "'slow' is not a length of time"),
        ("simulate bully --claim A9", "unknown claim 'A9'"),
        ("simulate bully --scenario none.toml", "none.toml: No such file or directory"),
        ("simulate bully --seeds 0", "--seeds must be at least 1"),
        ("simulate bully --nodes 1 --lies 1", "cuts, resets, partitions and lies need two nodes"),
        ("simulate bully --loss 1", "must be from 0 up to, but not including, 1"),
        ("simulate bully --loss much", "must be from 0 up to, but not including, 1"),
        ("simulate bully --crashes -1", "must be a whole number, not -1"),
        ("simulate bully --crashes x", "must be a whole number, not x"),
        ("simulate bully --trace no/such/folder", "cannot write no/such/folder"),
        ("replay none.txt", "none.txt: No such file or directory"),
    ],
)
def test_bad_usage_is_one_line(capsys: pytest.CaptureFixture[str], words: str, wrong: str) -> None:
    code, out, err = run(capsys, *words.split())
    assert (code, out) == (2, "")
    assert wrong in err
    assert err.count("\n") == 1


def test_a_run_is_written_and_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    run(capsys, "simulate", "bully", "--nodes", "4", "--cuts", "3", "--trace", str(file))
    code, replayed = found(capsys, "replay", str(file))
    assert (code, replayed["same"], replayed["difference"]) == (0, True, None)
    assert replayed["steps"] == file.read_text(encoding="utf-8").count("\n") - 1


def test_a_golden_script_is_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "replay", str(GOLDEN / "late_answer.txt"))
    assert code == 0
    assert "; the same as written\n" in out
    assert "  A1 is violated after step 5: 1 is normal" in out


def test_a_difference_is_shown_and_can_be_written_down(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.txt"
    right = (GOLDEN / "lost_probe.txt").read_text(encoding="utf-8")
    file.write_text(right.replace("time 3T", "time 4T"), encoding="utf-8")
    code, _, err = run(capsys, "replay", str(file))
    assert code == 1
    assert err.endswith(": this came out differently\n  - time 4T\n  + time 3T\n")
    code, seen = found(capsys, "replay", str(file))
    assert (code, seen["difference"]["expected"]) == (1, "time 4T")
    code, out, _ = run(capsys, "replay", str(file), "--rewrite")
    assert (code, file.read_text(encoding="utf-8")) == (0, right)
    assert "rewritten from line" in out


@pytest.mark.parametrize("text", ["crash 1\n", "\x80"])
def test_what_cannot_be_replayed_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(text, encoding="latin-1")
    code, _, err = run(capsys, "replay", str(file))
    assert code == 2
    assert "mine.txt" in err
    assert err.count("\n") == 1


def test_an_interrupted_swarm_ends_at_once_with_what_it_knows() -> None:
    command = [sys.executable, "-m", "electorate.cli.main", "simulate", "bully", "--json"]
    process = subprocess.Popen(
        [*command, "--seeds", "100000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 3
    partial = json.loads(out)
    assert (partial["interrupted"], partial["verdict"]) == (True, "unknown")
    assert err == b"electorate: interrupted\n"
    assert 0 <= partial["seeds"] < 100_000_000


NETWORK = ("simulate", "invitation", "--claim", "A4p", "--cuts", "2", "--partitions", "1")


@pytest.mark.parametrize("graph", ["path:3", "path:4", "cycle:4"])
def test_groups_are_few_on_networks_that_are_not_complete(
    capsys: pytest.CaptureFixture[str], graph: str
) -> None:
    code, kept = found(capsys, *NETWORK, "--graph", graph, "--seeds", "60")
    assert (code, kept["claims"]) == (0, {"A4p": "holds"})
    assert kept["nodes"] == int(graph[-1])
    assert len(kept["graph"]) == (4 if graph == "cycle:4" else kept["nodes"] - 1)


def test_a_run_on_such_a_network_breaks_the_stronger_claim_and_is_shrunk(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("simulate", "invitation", "--claim", "A4", "--graph", "path:4", "--seed", "0")
    code, broken = found(capsys, *words)
    assert code == 1
    assert broken["script"].startswith("# invitation breaks A4: 2 and 3 are linked, but ")
    assert "\ncluster invitation 1 2 3 graph=1-2,2-3\n" in broken["script"]


def test_a_leader_that_restarts_unseen_is_found_on_such_a_network(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (*NETWORK, "--graph", "cycle:4", "--seeds", "60", "--rule", "probe=alive")
    code, broken = found(capsys, *words)
    assert code == 1
    assert broken["violations"]["A4p"]["seeds"] > 5


@pytest.mark.parametrize("graph", ["blob:3", "path:0", "path:65", "1-9", "1-x"])
def test_a_graph_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], graph: str) -> None:
    code, _, err = run(capsys, "simulate", "invitation", "--graph", graph)
    assert code == 2
    assert err.startswith("electorate: ")
    assert err.count("\n") == 1


def test_a_title_names_the_links(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "simulate", "invitation", "--graph", "1-3", "--crashes", "0")
    assert "invitation, 3 nodes linked 1-3, seed 0" in out
