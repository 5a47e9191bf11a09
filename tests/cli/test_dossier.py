"""`electorate dossier` as its users see it: what a file says that breaks, and what does."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

from tests.cli.run import Run

RING = "examples/chang_roberts.py:ChangRoberts"
CAREFUL = """
    from electorate.protocols.bully import Bully

    class Careful(Bully):
        pass
"""
BREAKS = """
    repairs = [{ without = "settle=T-1", under = "--crashes 1", breaks = "A1 broken in 6" }]
    choices = [{ rule = "guard=2T-1", under = "--crashes 1" }]
    verdicts = ["--nodes 2 --from boot => A1 holds | A2 live, 2T | 25 states"]
    [[assumptions]]
    assumption = "no-loss"
    under = "--crashes 1"
    by = "--losses 2"
    breaks = "A1 broken in 12"
"""


def careful(folder: Path, dossier: str) -> str:
    (folder / "careful.py").write_text(dedent(CAREFUL))
    (folder / "careful.toml").write_text(dedent(dossier))
    return f"{folder}/careful.py:Careful"


def test_a_file_of_your_own_is_held_against_the_dossier_beside_it(
    electorate: Run, tmp_path: Path
) -> None:
    name = careful(tmp_path, BREAKS)
    ran = electorate("dossier", name)
    assert ran.code == 0
    assert ran.out.replace(name, "careful") == dedent("""\
          careful --rule settle=T-1 --crashes 1 => A1 broken in 6
          careful --crashes 1 --losses 2 => A1 broken in 12
          careful --nodes 2 --from boot => A1 holds | A2 live, 2T | 25 states
          careful --crashes 1 => A1 kept
          careful --rule guard=2T-1 --crashes 1 => A1 not broken | A2 not broken

        5 rows, 0 differ from what the checker finds.
        """)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("broken in 6", "broken in 7"), "A1 broken in 6"),
        (("settle=T-1", "settle=T+1"), "A1 holds"),
        (("25 states", "26 states"), "A1 holds | A2 live, 2T | 25 states"),
        (("guard=2T-1", "settle=T-1"), "A1 broken in 6"),
    ],
)
def test_what_differs_is_marked_and_what_was_found_is_told(
    electorate: Run, tmp_path: Path, change: tuple[str, str], found: str
) -> None:
    ran = electorate("dossier", careful(tmp_path, BREAKS.replace(*change)))
    assert ran.code == 1
    assert ran.out.splitlines()[-1] == "5 rows, 1 differ from what the checker finds."
    lines = ran.out.splitlines()
    [marked] = [number for number, line in enumerate(lines) if line.startswith("! ")]
    assert lines[marked + 1].startswith(f"  but: {found}")


def test_some_rows_may_be_asked_for_and_told_as_json(electorate: Run) -> None:
    ran = electorate("dossier", RING, "--only", "--order bag --nodes 4", "--json")
    assert ran.code == 2
    ran = electorate("dossier", RING, "--only", "--nodes 4 --from boot --order bag", "--json")
    assert ran.code == 0
    row = f"{RING} --nodes 4 --from boot --order bag"
    assert json.loads(ran.out) == {
        "rows": [
            {
                "says": f"{row} => A2 stuck in 13",
                "found": "A2 stuck in 13 | 6,422 states",
                "agrees": True,
            }
        ],
        "differences": 0,
    }


@pytest.mark.parametrize(
    ("dossier", "problem"),
    [
        ("", "careful.py:Careful has no dossier that says what breaks\n"),
        ("repair = []", "Object contains unknown field `repair`\n"),
        (
            'verdicts = ["--crashs 1 => A1 holds"]',
            "--crashs 1: unrecognized arguments: --crashs 1\n",
        ),
        ('verdicts = ["--from down => A1 holds"]', "nobody would ever start"),
        ('verdicts = ["--crashes 1 => Z1 holds"]', "=> Z1 holds: there is no claim 'Z1'\n"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    electorate: Run, tmp_path: Path, dossier: str, problem: str
) -> None:
    ran = electorate("dossier", careful(tmp_path, dossier))
    assert ran.code == 2
    assert ran.out == ""
    assert problem in ran.err
    assert ran.err.count("\n") == 1
