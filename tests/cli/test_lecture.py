"""`electorate lecture` as its users see it."""

import json
from pathlib import Path

import pytest

from electorate.cli import rehearsal
from electorate.cli.rehearsal import rehearsed
from electorate.lectures import LectureRun, RuleChange, documents
from tests.cli.run import Run


def test_documents_are_listed_with_their_verdicts(electorate: Run) -> None:
    ran = electorate("lecture")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines() if line[:1].isalpha()][:5] == [
        *documents()
    ]
    told = json.loads(electorate("lecture", "--json").out)["documents"]
    assert sum(each["items"] for each in told) == 206
    assert all(sum(each["verdicts"].values()) == each["items"] for each in told)


def test_the_items_of_a_document_are_listed(electorate: Run) -> None:
    ran = electorate("lecture", "gupta")
    assert ran.code == 0
    assert "gupta/23" in ran.out
    assert "Can't we use Paxos?" in ran.out
    assert "$ electorate" not in ran.out


def test_an_item_is_answered_by_runs_that_are_shown(electorate: Run) -> None:
    ran = electorate("lecture", "albano/5", "--changes")
    assert ran.code == 0
    assert "$ electorate check chang-roberts --crashes 1 --claim S1" in ran.out
    assert "Node 3 crashes." in ran.out
    assert ran.out.count("(as written down, ") == 3
    assert "Refuted: " in ran.out
    assert "\n  cluster " not in ran.out  # The run is told in sentences; its script is left out.


def test_an_item_as_json(electorate: Run) -> None:
    told = json.loads(electorate("lecture", "gupta/worst-case", "--json").out)
    assert told["good"]
    assert told["items"][0]["id"] == "gupta/7"
    assert "17 messages" in told["runs"][0]["output"]


def test_pictures_of_an_item(electorate: Run, tmp_path: Path) -> None:
    assert electorate("lecture", "souto/stoller", "--svg", str(tmp_path / "new")).code == 0
    assert [file.name for file in (tmp_path / "new").iterdir()]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("suoto", "no document 'suoto'"),
        ("souto/81", "among the 80 of souto; electorate lecture souto lists them"),
        ("gupta/worstcase", "did you mean gupta/worst-case?"),
    ],
)
def test_what_is_not_there_is_said(electorate: Run, name: str, said: str) -> None:
    ran = electorate("lecture", name)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


GOOD = LectureRun("replay gupta/best-case --no-tell", ("12 messages: 6 Election, 6 Elected",))


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        (GOOD, ""),
        (LectureRun(GOOD.command, ("13 messages",)), "it does not print '13 messages'"),
        (
            LectureRun(GOOD.command, ("6 Elected", "6 Election,")),
            "it does not print '6 Election,' there",
        ),
        (LectureRun(GOOD.command, GOOD.shows, code=1), "exit code 0, not 1"),
    ],
)
def test_a_run_that_comes_out_otherwise_is_noticed(expected: LectureRun, problem: str) -> None:
    assert rehearsed("x", expected.command, expected).problem == problem


def test_a_change_that_changes_nothing_is_noticed() -> None:
    change = RuleChange("--rule patience=7T", ("12 messages",))
    ran = rehearsed("x", GOOD.command, change, unlike=GOOD)
    assert ran.problem == "the change of the rule does not change the answer"


def test_who_has_only_the_package_is_told_what_was_not_run(
    electorate: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = electorate("lecture", "souto/9", "--all")
    assert ran.code == 0
    assert "not run: examples/assumptions.py is in the repository" in ran.out
    assert "1 of them not run" in ran.out


def test_an_interrupt_ends_everything(electorate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: list[str]) -> tuple[int, str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(rehearsal, "_run", interrupted)
    ran = electorate("lecture", "gupta", "--all")
    assert ran.code == 3
    assert ran.err == "electorate: interrupted\n"
