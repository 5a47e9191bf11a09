"""`electorate replay` of what nodes wrote down: what is told, drawn, and refused."""

import json
from pathlib import Path

import pytest

from electorate.core import Received, Viewed
from electorate.protocols.bully import AreYouThere
from electorate.trace.record import Letterhead
from tests.cli.run import Run, runner
from tests.runtime.recording import RecordingNode


@pytest.fixture
def replay(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The records of three nodes that see each other come and go."""
    folder = tmp_path / "run" / "record"
    for node, name in ((1, "one"), (2, "two"), (3, "three")):
        written = RecordingNode(folder / f"{name}.jsonl", node=node).begin().live(10)
        written.recorder.close()
    return folder


def test_every_event_of_every_node_is_re_run(replay: Run, folder: Path) -> None:
    told = replay("replay", str(folder))
    assert told.code == 0, told.err
    assert told.out.startswith(
        "3 nodes, 1 instance, 33 events in 3 lives: each led to the recorded state\n"
    )


def test_the_same_as_data(replay: Run, folder: Path) -> None:
    found = json.loads(replay("replay", str(folder), "--json").out)
    assert found["same"] is True
    assert found["nodes"][1] == {"id": 2, "name": "two"}
    (instance,) = found["instances"]
    assert (instance["name"], instance["events"], instance["lives"]) == ("election", 33, 3)
    assert found["told"]["steps"] > 0


def test_a_window_is_told_and_drawn_in_seconds_and_by_names(replay: Run, folder: Path) -> None:
    svg = folder / "window.svg"
    told = replay("replay", str(folder), "--between", "1ms..3ms", "--tell", "--svg", str(svg))
    assert told.code == 0, told.err
    assert "Node two wrongly suspects node three and trusts node one again." in told.out
    assert "no claim is judged" in told.err
    picture = svg.read_text()
    assert ">election<" in picture
    assert "0.005 s" in picture
    assert "nodes one two three" in picture


def test_a_late_window_is_no_wider_than_what_happens_in_it(replay: Run, tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "one.jsonl").begin().live(4)
    written.now += 3_600_000
    written.live(4).recorder.close()
    svg = tmp_path / "late.svg"
    told = replay("replay", str(tmp_path), "--between", "3600s..", "--svg", str(svg))
    assert told.code == 0, told.err
    width = float(svg.read_text().split('width="')[1].split('"')[0])
    assert width < 1000


def test_what_cannot_be_meant_is_said(replay: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    cases = {
        (str(tmp_path / "empty"),): "no records (*.jsonl) in",
        (str(tmp_path / "run"),): f"; did you mean {folder}?",
        (str(folder), "--instance", "electon"): "did you mean 'election'?",
        (str(folder), "--between", "5s..6s"): "nothing happened to election between 5s..6s",
        (str(folder), "--between", "6s..5s"): "ends before it begins",
        (str(folder), "--between", "soon"): "as in 2s..5s",
        (str(folder), "--rewrite"): "a record is what happened",
    }
    for words, problem in cases.items():
        told = replay("replay", *words)
        assert told.code == 2, words
        assert problem in told.err, words
        assert len(told.err.splitlines()) == 1


def test_a_line_that_was_changed_is_named_with_its_file(replay: Run, folder: Path) -> None:
    file = folder / "two.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    lines[6] = lines[6].replace("[2,3]", "[1,2,3]").replace("[1,2]", "[1,2,3]")
    file.write_text("".join(lines))
    told = replay("replay", str(folder))
    assert told.code == 1
    assert "two.jsonl:7: " in told.err
    assert "led to another state than the re-run" in told.err
    file.write_text("".join([*lines[:6], "nothing\n"]))
    told = replay("replay", str(folder))
    assert told.code == 2
    assert "two.jsonl:7: " in told.err


def test_a_record_of_a_node_that_was_copied_twice_is_refused(replay: Run, folder: Path) -> None:
    (folder / "copy.jsonl").write_bytes((folder / "two.jsonl").read_bytes())
    told = replay("replay", str(folder))
    assert told.code == 2
    assert "there is another record of node 2" in told.err


def test_what_the_simulator_cannot_play_is_told_all_the_same(replay: Run, tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "one.jsonl").begin()
    written.take(Viewed(frozenset({2, 3})))
    written.recorder.close()
    told = replay("replay", str(tmp_path), "--tell")
    assert told.code == 0
    assert "the simulator cannot play this: 1 must be in its own view" in told.err
    assert "Node one" in told.out


def test_a_missing_record_is_minded(replay: Run, folder: Path) -> None:
    (folder / "two.jsonl").unlink()
    told = replay("replay", str(folder))
    assert told.code == 0
    assert "mind that there is no record of two" in told.err


def test_a_life_that_is_in_no_record_is_said_and_no_crash_is_told(
    replay: Run, folder: Path
) -> None:
    for life in (3, 4):
        written = RecordingNode(folder / "two.jsonl", node=2)
        written.now = life * 100_000.0
        written.begin(life).live(3).recorder.close()
    told = replay("replay", str(folder), "--tell")
    assert told.code == 0, told.err
    assert "mind that the record of two has a gap from 0.003s to 29" in told.err
    assert ", life 2 is not in it: what two did then is not known" in told.err
    assert "no claim is judged: the records begin in the middle, or have a gap" in told.err
    assert told.out.count("Node two crashes") == 1, "between the third life and the fourth"


def test_a_record_that_ended_before_its_node_is_said(replay: Run, folder: Path) -> None:
    with (folder / "two.jsonl").open("a") as file:
        file.write('{"type":"stopped","at":1004.0,"why":"No space left on device"}\n')
    told = replay("replay", str(folder))
    assert "mind that the record of two has a gap from 0.003s on: what two did" in told.err
    assert json.loads(replay("replay", str(folder), "--json").out)["notes"]


def test_one_message_is_spoken_of_as_one(replay: Run, tmp_path: Path) -> None:
    for node, name in ((1, "one"), (2, "two"), (3, "three")):
        written = RecordingNode(tmp_path / f"{name}.jsonl", node=node).begin()
        if name == "one":
            event = Received(3, AreYouThere())
            state = written.turns.step(written.state, event).state
            written.instance.took(event, state, Letterhead(1, 999))
        written.recorder.close()
    told = replay("replay", str(tmp_path))
    assert told.code == 0, told.err
    assert "1 message of three is not in its record" in told.err
