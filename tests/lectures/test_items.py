"""What the lectures say is answered by commands that print what is written down about them.

`make lectures` runs all of it. Here are the runs of less than a second, and some of the others.
"""

import random

import pytest

from electorate.cli.rehearsal import rehearsed
from electorate.lectures import LectureRun, RuleChange, documents
from tests.script import ROOT

SEED, DRAWN = 20, 20

NAMED = [
    (f"{document.key}/{item.id}-{number}", run)
    for document in documents().values()
    for item in document.item
    for number, run in enumerate(item.run, start=1)
]
"""All runs, each with the name of its item."""
SLOW = [name for name, run in NAMED if run.seconds]
SOME = random.Random(SEED).sample(SLOW, min(DRAWN, len(SLOW)))


@pytest.mark.parametrize(
    "run", [pytest.param(run, id=name) for name, run in NAMED if not run.seconds or name in SOME]
)
def test_a_run_shows_what_is_written_down(run: LectureRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ran = rehearsed("", run.command, run)
    assert ran.is_good, f"{ran.told()}\n$ {ran.command}\n{ran.text}"


@pytest.mark.parametrize(
    ("run", "change"),
    [
        pytest.param(run, run.change, id=name)
        for name, run in NAMED
        if run.change and not run.change.seconds
    ],
)
def test_another_rule_gives_another_answer(
    run: LectureRun, change: RuleChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    ran = rehearsed("", change.applied(run.command), change, unlike=run)
    assert ran.is_good, f"{ran.told()}\n$ {ran.command}\n{ran.text}"
