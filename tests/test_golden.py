"""Every golden script says what happens when it is run; `pytest --rewrite` writes it anew."""

from pathlib import Path

import pytest

from electorate.claims import CLAIMS
from electorate.simulate import run_script
from electorate.trace import script_of
from tests.script import SCRIPTS, find


@pytest.mark.parametrize(
    "script", SCRIPTS, ids=lambda script: f"{script.parent.name}/{script.name}"
)
def test_golden_script(script: Path, rewrite: bool) -> None:
    written = script.read_text(encoding="utf-8")
    replayed = run_script(written, find, name=script.name)
    if rewrite:
        script.write_text(replayed.text, encoding="utf-8")
    else:
        assert replayed.text == written


@pytest.mark.parametrize(
    "script", SCRIPTS, ids=lambda script: f"{script.parent.name}/{script.name}"
)
def test_golden_script_as_single_steps_runs_the_same(script: Path) -> None:
    """What a trace prints is itself a script, and leads to the same trace."""
    trace = run_script(script.read_text(encoding="utf-8"), find).trace
    single = script_of(trace)
    replayed = run_script(single, find)
    assert replayed.text == single
    assert replayed.trace == trace


def test_every_golden_script_tells_its_story_and_ends_with_a_judgement() -> None:
    assert SCRIPTS
    for script in SCRIPTS:
        blocks = script.read_text(encoding="utf-8").rstrip().split("\n\n")
        commands = blocks[-1].split("\n----\n")[0].splitlines()
        assert blocks[0].startswith("# "), f"{script.name} begins with its story"
        judged, *named = commands[-1].split()
        assert [commands[-2], judged] == ["standings", "claims"], f"{script.name} is not judged"
        assert set(named) <= set(CLAIMS)
