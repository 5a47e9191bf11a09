"""The benchmark of the checker: the same models in every tool, and honest figures."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks.case import Case
from benchmarks.checker import disagreement
from benchmarks.engine import ROOT, Engine, Figures, Own, Spin, Tlc
from benchmarks.measure import searched
from benchmarks.table import BEGIN, END, rewritten, rows

RING = Case("ring", 5)
BULLY = Case("async_bully", 1)
COUNTS = {RING: (254, 662), BULLY: (30_449, 260_935)}
OTHERS: list[Engine] = [Spin(1), Spin(2), Tlc(1)]


def figures(
    seconds: float = 1.0, states: int = 100, transitions: int = 500, cpu_seconds: float = 1.0
) -> Figures:
    return Figures(states, transitions, seconds, cpu_seconds, compile_seconds=0.0, peak_mb=10.0)


@pytest.mark.parametrize("case", COUNTS, ids=lambda case: case.word)
@pytest.mark.parametrize("engine", ["python", "numba"])
def test_our_models_have_as_many_states_as_they_should(case: Case, engine: str) -> None:
    search = searched(case, engine, cores=2)
    assert (search.states, search.transitions) == COUNTS[case]


def test_channels_of_the_ring_are_never_full() -> None:
    assert not searched(RING, "python", cores=1).cuts


@pytest.mark.parametrize("case", COUNTS, ids=lambda case: case.word)
@pytest.mark.parametrize("engine", OTHERS, ids=lambda engine: engine.name)
def test_other_tools_count_the_same(case: Case, engine: Engine) -> None:
    if advice := engine.missing():
        pytest.skip(advice)
    found = engine.measure(case)
    assert (found.states, found.transitions) == COUNTS[case]


def test_a_process_of_its_own_counts_the_same() -> None:
    found = Own("python", 1).measure(RING)
    assert (found.states, found.transitions) == COUNTS[RING]
    assert found.peak_mb > 1


def test_the_size_reaches_the_configuration_of_tlc() -> None:
    assert "K = 4\n" in Case("async_bully", 4).config()
    assert "N = 3\n" in Case("async_bully", 4).config()
    assert "N = 11\n" in Case("ring", 11).config()


def test_counts_that_differ_are_told() -> None:
    assert disagreement(RING, {"one": [figures()], "other": [figures()]}) is None
    clash = disagreement(RING, {"one": [figures()], "other": [figures(), figures(states=99)]})
    assert "other 99 and 500" in str(clash)
    assert disagreement(RING, {"one": [figures()], "other": [figures(transitions=501)]})


def test_only_digits_that_spin_does_not_print_may_differ() -> None:
    ours = [figures(transitions=251_853_707)]
    assert disagreement(RING, {"one": ours, "Spin": [figures(transitions=251_853_710)]}) is None
    assert disagreement(RING, {"one": ours, "Spin": [figures(transitions=251_853_720)]})


def test_medians_are_compared() -> None:
    ours = [figures(seconds) for seconds in (9.0, 2.0, 1.0)]
    theirs = [figures(seconds, cpu_seconds=3.0) for seconds in (8.0, 6.0, 7.0)]
    row, other = rows({"numba, 1 core": ours, "Spin, 1 core": theirs})
    assert (row.seconds, row.seconds_min, row.seconds_max, row.time_ratio) == (2.0, 1.0, 9.0, 1.0)
    assert (other.seconds, other.time_ratio, other.cpu_ratio) == (7.0, 3.5, 3.0)
    assert other.states_per_second == pytest.approx(100 / 7)


def test_tables_go_between_the_marks_of_a_page() -> None:
    page = f"head\n{BEGIN}\nold\n{END}\ntail\n"
    assert rewritten(page, "new") == f"head\n{BEGIN}\n\nnew\n\n{END}\ntail\n"
    with pytest.raises(SystemExit):
        rewritten("a page without marks", "new")


def test_a_tool_that_is_missing_is_named_and_left_out() -> None:
    nothing = {**os.environ, "PATH": "", "TLA2TOOLS_JAR": ""}
    command = [sys.executable, "-m", "benchmarks.checker", "--case", "ring-8", "--repeats", "1"]
    done = subprocess.run(
        [*command, "--json"], cwd=ROOT, env=nothing, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "apt-get install spin" in done.stderr
    assert [advice.split()[0] for advice in found["left_out"]] == ["Spin", "TLC"]
    names = [row["engine"] for row in found["cases"][0]["rows"]]
    assert names == ["numba, 1 core", "numba, 2 cores", "python, 1 core"]
