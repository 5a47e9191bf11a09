"""Two versions take turns: what is noise is called so, and each file runs on the package alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.engine import ROOT
from benchmarks.turns import Measure, Turns, as_markdown, rows_of, run, take_turns
from tests.runtime.process import on_linux


def turns(what: str, old: list[list[float]], new: list[list[float]]) -> Turns:
    return {what: {"old": old, "new": new}}


def test_a_difference_that_the_turns_of_one_side_show_too_is_noise() -> None:
    (row,) = rows_of(turns("ms", [[10, 11], [14, 15]], [[12, 13], [15, 16]]))
    assert row.old == 12.5
    assert row.new == 14
    assert row.noise == pytest.approx(4 / 12.5)
    assert row.verdict == "within noise"


def test_a_larger_difference_is_worse_or_better() -> None:
    (row,) = rows_of(turns("ms", [[10], [11]], [[20], [21]]))
    assert (row.verdict, round(row.ratio, 2)) == ("worse", 1.95)
    assert row.ratios == (21 / 11, 2.0)
    (row,) = rows_of(turns("ms", [[20], [21]], [[10], [11]]))
    assert row.verdict == "better"
    (row,) = rows_of(turns("tx/s of 8 clients", [[20], [21]], [[10], [11]]))
    assert row.verdict == "worse"


def test_turns_that_point_in_different_ways_or_are_too_few_are_no_finding() -> None:
    (row,) = rows_of(turns("ms", [[10.0], [10.0]], [[9.9], [30.0]]))
    assert row.ratio > 1 + row.noise / 2
    assert row.verdict == "within noise"
    (row,) = rows_of(turns("ms", [[10.0]], [[30.0]]))
    assert row.verdict == "one turn"
    (row,) = rows_of(turns("violations", [[0.0], [0.0]], [[0.0], [0.0]]))
    assert (row.verdict, row.noise) == ("the same", 0.0)


def test_what_only_one_side_could_measure_is_left_out() -> None:
    assert rows_of(turns("ms", [[1.0]], [])) == []


def test_every_row_is_a_line_of_the_table() -> None:
    table = as_markdown(rows_of(turns("ms hand-over", [[10.0], [12.0]], [[11.0], [11.2]])))
    assert [cell.strip() for cell in table.splitlines()[2].split("|")[1:-1]] == [
        *("ms hand-over", "11", "12", "11.1", "11.2", "1.01", "0.93–1.10"),
        *("± 18 %", "2", "within noise"),
    ]


def side(folder: Path, number: float) -> Path:
    """A version that measures always the same."""
    (folder / "src/electorate").mkdir(parents=True)
    (folder / "measure.py").write_text(f"print('{{\"ms\": {number}}}')")
    return folder


def test_the_sides_take_turns_and_run_their_own_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measure = Measure(["measure.py"], lambda found: {"ms": [found["ms"]]})
    found: Turns = {}
    old, new = side(tmp_path / "old", 1.0), side(tmp_path / "new", 2.0)
    take_turns({"old": old, "new": new}, {"measure": measure}, 2, found)
    assert found == turns("ms", [[1.0], [1.0]], [[2.0], [2.0]])
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0].rpartition(" ")[2] for line in lines] == [
        *("old", "new"),
        *("new", "old"),
    ]


def test_a_side_that_fails_is_named_and_measures_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fails.py").write_text("raise SystemExit('too old for that')")
    assert run(tmp_path, Measure(["fails.py"], lambda found: {})) is None
    assert "too old for that" in capsys.readouterr().err


def printed(*words: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-P", *words, "--json"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@on_linux
def test_what_idle_nodes_cost_is_counted_for_each_number_of_elections() -> None:
    found = printed("benchmarks/idle.py", "--nodes", "2", "--elections", "0,2", "--seconds", "0.5")
    rows = found["rows"]
    assert isinstance(rows, list)
    assert [row["elections"] for row in rows] == [0, 2]
    assert all(row["cpu_ms_until_led"] > 10 for row in rows)
    assert all(row["wakeups_per_s"] > 1 for row in rows)


def test_the_path_of_a_renewal_is_counted() -> None:
    found = printed("benchmarks/path.py", "--seconds", "1")
    counts = [value for value in found.values() if isinstance(value, int)]
    assert len(counts) == 5
    assert all(counts)
    assert found["files"] < found["calls"]  # type: ignore[operator]


def test_how_long_members_take_to_come_and_go_is_measured() -> None:
    found = printed("benchmarks/members.py", "--trials", "1")["ms"]
    assert isinstance(found, dict)
    assert {what: len(times) for what, times in found.items()} == {"add": 1, "remove": 1}
    assert all(times[0] > 1 for times in found.values())
