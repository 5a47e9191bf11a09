"""What longer timers buy and cost: the statistics, the runs, and the picture."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from electorate.cli.main import main
from electorate.core import Timing
from electorate.costs.timeout import beyond, ranks, trials, wilson
from electorate.protocols.bully import Bully
from electorate.simulate.delay import parse_delay
from tests.picture import compare
from tests.script import ROOT

PICTURE = ROOT / "docs" / "pictures" / "bully_timeouts.svg"
LAWS = ["uniform:0..1T", "pareto:0.1T,1.5"]
FEW = ["timeouts", "bully", "--lengths", "0.5,3", "--seeds", "30", "--workers", "1"]
FEW += [word for law in LAWS for word in ("--delay", law)]


def test_the_interval_of_a_share_is_that_of_wilson() -> None:
    assert wilson(0, 400) == pytest.approx((0.0, 0.00951), abs=1e-5)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)


def test_the_interval_of_a_quantile_goes_by_order_statistics() -> None:
    """The median of 100 is between the 40th and the 61st, as tables of the sign test have it."""
    assert ranks(100, 0.5) == (40, 61)
    low, high = ranks(40, 0.95)
    assert low is not None
    assert high is None


def test_laws_with_a_tail_go_beyond_t() -> None:
    shares = {
        text: beyond(parse_delay(text, Timing(T=1000)), 1000)
        for text in ("uniform:0..1T", "lognormal:0.3T,0.8", "pareto:0.1T,1.5")
    }
    assert [round(share, 3) for share in shares.values()] == [0.0, 0.066, 0.032]


def test_only_the_timers_are_longer() -> None:
    (short, long) = trials("bully", Bully, 3, ["uniform:0..1T"], [1.0, 2.0])
    assert short.faulty.scenario.delay == long.faulty.scenario.delay
    settings = [
        each.faulty.scenario.setting("bully", (), "lowest").timing for each in (short, long)
    ]
    assert settings == [Timing(T=1000), Timing(T=2000)]


def told(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert main([*FEW, *more, "--json"]) == 0
    found: dict[str, Any] = msgspec.json.decode(capsys.readouterr().out)
    return found


def test_longer_timers_mean_fewer_double_leaders_and_more_time(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    svg = tmp_path / "few.svg"
    points = told(capsys, "--svg", str(svg))["points"]
    for law in LAWS:
        two = [each["two_leaders"] for each in points if each["delay"] == law]
        assert two == sorted(two, reverse=True)
        assert two[0] > two[-1] == 0
        times = [each["median"]["T"] for each in points if each["delay"] == law]
        assert times == sorted(times)
    drawn = svg.read_text(encoding="utf-8")
    assert drawn.count('class="curve"') == 2 * len(LAWS)
    again = told(capsys, "--svg", str(svg))["points"]
    assert (again, svg.read_text(encoding="utf-8")) == (points, drawn)


def test_the_picture_stays_within_its_panels(tmp_path: Path) -> None:
    text = PICTURE.read_text(encoding="utf-8")
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    assert found
    width, height = map(float, found.groups())
    for path in re.findall(r' d="M([^"]*)"', text):
        for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path):
            assert 60 < float(x) < width - 20 or float(y) > 380
            assert 80 < float(y) < height


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--lengths", "1,x"], "must be numbers from 0.01 to 50"),
        (["--delay", "normal:1T"], "is not a delay model"),
        (["--nodes", "1"], "--nodes must be from 2"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main(["timeouts", "bully", *words])
    except SystemExit as ended:  # argparse ends this way
        code = ended.code
    assert code == 2
    assert problem in capsys.readouterr().err


@pytest.mark.slow
def test_the_picture_of_the_docs_is_up_to_date(rewrite: bool, tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    assert main(["timeouts", "bully", "--svg", str(drawn)]) == 0
    compare(PICTURE, drawn, rewrite)
