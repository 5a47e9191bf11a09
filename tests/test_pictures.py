"""The pictures in the docs show what happens now; `pytest --rewrite` draws the others anew."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from electorate.cli.main import main
from electorate.cli.picture import draw
from electorate.cli.replay import breaches
from electorate.runs import run_file
from electorate.simulate.replay import replay
from tests.picture import compare, shown
from tests.script import ROOT, find

DOCS = ROOT / "docs"
PICTURES = DOCS / "pictures"
PAGES = sorted((DOCS / "protocols").glob("*.md"))
EXAMPLE = re.compile(r"^\|.*\| (.*) \| `(\w+/\S+)` \| \[picture\]\((pictures/\S+)\) \|$", re.M)

FOUND = {
    "bully_as_printed.svg": "check bully-as-printed --crashes 1 --recoveries 1 --engine python",
    "invitation_path.svg": "check invitation --graph path:3 --from boot --delay 1..1 --claim A4 "
    "--rule check=3T",
    "invitation_restart.svg": "check invitation --nodes 2 --crashes 1 --recoveries 1 --delay 1..1 "
    "--claim A4p --rule probe=alive --rule check=3T",
    "found_bully_any_state.svg": "check bully-as-printed --nodes 2 --from any --crashes 1 "
    "--recoveries 1 --claim A2",
    "found_albano_deadline.svg": "check bully-textbook-as-printed --nodes 2 --from boot --claim S2",
    "found_invitation_restart.svg": "check invitation-as-printed --nodes 2 --crashes 1 "
    "--recoveries 1 --delay 1..1 --claim A4p",
    "found_bully_rpc_parallel.svg": "check bully-rpc --rule halts=parallel --crashes 1 "
    "--recoveries 1 --claim A1 --no-needs",
    "found_three_phase.svg": "check three-phase-as-printed --asks 1 --rule inner.first=1 "
    "--delay 1..1 --rule acknowledge=never --pauses 1 --claim C1 --no-needs",
    "found_park_literal.svg": "check park-literal --from boot --claim P2",
    "found_park_theorem_1.svg": "check park-as-printed --nodes 2 --lies 1 --claim P1",
    "found_park_theorem_2.svg": "check park-as-printed --crashes 1 --claim P2",
    "found_ring_two_initiators.svg": "check ring-attribute-to-the-letter --nodes 2 "
    "--attribute 1=80 --from boot --claim A2",
    "found_ring_second_election.svg": "check ring-attribute-as-printed --asks 1 --claim A2",
    "found_ring_lists.svg": "check ring-list-as-printed --crashes 1 --asks 1 --claim A1",
    "found_chang_roberts_crash.svg": "check chang-roberts-code --crashes 1 --claim A2",
}
"""The pictures that are not of a golden script, and the commands that draw them."""
ELSEWHERE = ["bully_growth.svg", "bully_timeouts.svg"]
"""Not runs, and held up to date by tests/cli/test_costs.py and tests/costs/test_timeout.py."""
SIZE_MAX = 100_000


class Example(NamedTuple):
    """A run that has a picture."""

    title: str
    script: Path
    picture: Path


def examples() -> list[Example]:
    """Everything that is listed in docs/examples.md."""
    text = (DOCS / "examples.md").read_text(encoding="utf-8")
    return [
        Example(title, run_file(script) or ROOT / script, DOCS / to)
        for title, script, to in EXAMPLE.findall(text)
    ]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.picture.stem)
def test_the_picture_of_an_example_is_up_to_date(
    example: Example, rewrite: bool, tmp_path: Path
) -> None:
    played = replay(example.script.read_text(encoding="utf-8"), find, example.script.name)
    setting = played.trace.setting
    marks = [
        (breach.step - 1, f"{name} is violated: {breach.witness.text}")
        for name, breach in breaches(played)
    ]
    title = example.title[0].upper() + example.title[1:]
    drawn = tmp_path / "drawn.svg"
    draw(drawn, played.trace, setting.machine(*find(setting.protocol)), title, marks)
    assert drawn.stat().st_size < SIZE_MAX
    compare(example.picture, drawn, rewrite)


@pytest.mark.parametrize("name", FOUND)
def test_the_picture_of_a_counterexample_is_up_to_date(
    name: str, rewrite: bool, tmp_path: Path
) -> None:
    drawn = tmp_path / name
    main([*FOUND[name].split(), "--svg", str(drawn)])
    assert drawn.stat().st_size < SIZE_MAX
    compare(PICTURES / name, drawn, rewrite)


def test_every_picture_is_drawn_from_something() -> None:
    drawn = [example.picture.name for example in examples()]
    assert sorted([*drawn, *FOUND, *ELSEWHERE]) == sorted(path.name for path in PICTURES.iterdir())


def test_a_picture_in_other_colours_shows_the_same_and_one_of_another_run_does_not() -> None:
    chart = (PICTURES / "bully_growth.svg").read_text(encoding="utf-8")
    run = (PICTURES / "found_ring_lists.svg").read_text(encoding="utf-8")
    for svg in (chart, run):
        assert shown(re.sub(r'fill="#\w+"', 'fill="#123456"', svg)) == shown(svg)
        assert shown(svg.replace("</text>", "!</text>", 1)) != shown(svg)
    for was, now in (('data-from="1"', 'data-from="2"'), ("crashes", "recovers")):
        assert was in run
        assert shown(run.replace(was, now, 1)) != shown(run)
    place = re.search(r'class="turn" data-at="(\d+)', run)
    assert place
    assert shown(run.replace(place[0], f'class="turn" data-at="{int(place[1]) + 5}')) != shown(run)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_protocol_is_shown_on_its_page(page: Path) -> None:
    shown = re.findall(r"^!\[.+\]\(\.\./pictures/(\S+)\)$", page.read_text(encoding="utf-8"), re.M)
    assert shown
    assert all((PICTURES / name).is_file() for name in shown)
