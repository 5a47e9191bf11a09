"""`electorate costs` as its users see it."""

import json
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from tests.cli.run import Run
from tests.picture import compare

ROOT = Path(__file__).parents[2]
WASTEFUL = """
    from electorate.core import Send
    from electorate.protocols.bully import Bully, NewLeader

    class Wasteful(Bully):
        def _announce(self, s):
            state, effects = super()._announce(s)
            return state, [*effects, *effects[-1:]]
"""
DECLARING = """
    COSTS = (
        {
            "name": "the strongest survivor notices",
            "script": "crash 1; suspect 2; run 3T; notice; settle",
            "formulas": {"AreYouThere": "1", "Halt": "N-2", "NewLeader": "N-1", "messages": "2N-2"},
            "leader": "2",
        },
    )
"""


def file_of(folder: Path, *texts: str) -> str:
    path = folder / "wasteful.py"
    path.write_text("\n".join(map(dedent, texts)))
    return f"{path}:Wasteful"


def test_every_case_is_told_with_formulas_and_figures(electorate: Run) -> None:
    ran = electorate("costs", "bully", "--nodes", "3..5", "--case", "weakest notices")
    assert ran.code == 0
    assert ran.out == dedent("""\
        bully: what an election costs, every delay being exactly T

        the weakest notices
          from normal: crash 1; suspect N; run 2T; notice; settle
                       formula        N=3  N=4  N=5
          AreYouThere  N(N-1)/2         3    6   10
          Yes          (N-1)(N-2)/2     1    3    6
          Halt         N-2              1    2    3
          NewLeader    N-2              1    2    3
          messages     (N-1)²+2(N-2)    6   13   22
          multicasts   -                5    8   12
          rounds       -                6    6    6
          time         5T              5T   5T   5T

        3 rows, 0 differ from their formulas.
        """)


def test_json_has_a_row_for_each_case_and_size(electorate: Run) -> None:
    ran = electorate("costs", "bully", "--nodes", "3,5", "--json")
    assert ran.code == 0
    found = ran.object
    assert (found["protocol"], found["nodes"], found["differences"]) == ("bully", [3, 5], 0)
    assert len(found["rows"]) == 10
    row = found["rows"][1]
    assert row["case"] == "the strongest survivor notices"
    assert (row["nodes"], row["equal"], row["runs"], row["complete"]) == (5, True, 1, True)
    assert row["measured"]["messages"] == row["formula"]["messages"] == 7
    assert row["measured"]["rounds"] == 4
    assert row["formula"]["rounds"] is None
    assert found["cases"][0]["formulas"]["messages"] == "2N-3"


def test_bounds_and_means_in_json(electorate: Run) -> None:
    words = ["--nodes", "4,9", "--case", "any order", "--samples", "20", "--seed", "1"]
    rows = electorate("costs", "chang-roberts", *words, "--json").object["rows"]
    small, sampled, bounds, _ = (row["measured"]["messages"] for row in rows)
    assert small == {"mean": pytest.approx(4 * (1 + 1 / 2 + 1 / 3 + 1 / 4) + 4), "interval": None}
    low, high = sampled["interval"]
    assert low < rows[1]["formula"]["messages"] < high
    assert bounds == {"least": 8, "most": 14}
    assert [row["complete"] for row in rows] == [True, False, True, False]


def test_a_sample_is_told_with_its_confidence(electorate: Run) -> None:
    words = ["--nodes", "9", "--case", "all start, any", "--samples", "20"]
    ran = electorate("costs", "chang-roberts", *words)
    assert ran.code == 0
    assert "±" in ran.out
    assert "(34.46)" in ran.out
    assert "95% confidence" in ran.out


def test_a_message_too_many_is_shown_beside_its_formula(electorate: Run, tmp_path: Path) -> None:
    ran = electorate("costs", file_of(tmp_path, WASTEFUL), "--nodes", "3,4")
    assert ran.code == 1
    assert "NewLeader    N-2      2≠1  3≠2" in ran.out
    assert "10 of 10 rows differ from their formulas." in ran.out


def test_a_file_may_declare_its_own_costs(electorate: Run, tmp_path: Path) -> None:
    ran = electorate("costs", file_of(tmp_path, WASTEFUL, DECLARING), "--nodes", "3,4")
    assert ran.code == 0
    assert "2 rows, 0 differ from their formulas." in ran.out


def test_a_protocol_without_declared_costs_is_measured(electorate: Run) -> None:
    source = f"{ROOT}/tests/cli/steady.py:Steady"
    ran = electorate("costs", source, "--nodes", "3,4", "--json")
    assert ran.code == 0
    rows = ran.object["rows"]
    assert [row["equal"] for row in rows] == [None] * 6
    assert [row["measured"]["messages"] for row in rows] == [2, 3, 1, 2, 2, 3]


def test_a_case_that_never_ends_is_said_to_be_unknown(electorate: Run) -> None:
    ran = electorate("costs", f"{ROOT}/examples/two_phase_gray_lamport.py:TwoPhase", "--nodes", "3")
    assert ran.code == 3
    assert "N=3: the nodes do not agree within 1000T" in ran.out
    assert "Measured only: no formulas are declared." in ran.out


def test_the_growth_is_drawn(electorate: Run, tmp_path: Path) -> None:
    drawing = tmp_path / "growth.svg"
    assert electorate("costs", "park", "--svg", str(drawing)).code == 0
    assert "3(N-2)" in "".join(ElementTree.parse(drawing).getroot().itertext())


def test_a_wide_range_of_sizes_is_thinned_out_beyond_eight(electorate: Run) -> None:
    ran = electorate("costs", "park", "--nodes", "3..64", "--case", "first", "--json")
    assert ran.object["nodes"] == [3, 4, 5, 6, 7, 8, 11, 16, 23, 33, 47, 64]
    assert ran.object["differences"] == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["bully", "--nodes", "5..3"], "must be from 1 to 64, not 5..3"),
        (["bully", "--nodes", "3..65"], "must be from 1 to 64"),
        (["bully", "--nodes", "many"], "must be like 3..64 or 3,5,9, not many"),
        (["bully", "--nodes", "2"], "bully has no case for these sizes"),
        (["bully", "--case", "moon"], "bully has no case that contains 'moon' for these sizes"),
        (["bully", "--rule", "moon=1"], "unknown rule 'moon'"),
        (["bully", "--form", "moon"], "has no form 'moon'"),
        (["bully", "--samples", "1"], "must be at least 2, not 1"),
        (["buly"], "did you mean bully?"),
        (["bully", "--nodes", "3", "--svg", "nowhere/x.svg"], "cannot write nowhere/x.svg"),
    ],
)
def test_bad_usage_is_said_in_one_line(electorate: Run, words: list[str], problem: str) -> None:
    ran = electorate("costs", *words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert problem in ran.err


def test_costs_that_are_declared_wrongly_are_told_in_one_line(
    electorate: Run, tmp_path: Path
) -> None:
    odd = 'COSTS = ({"name": "odd", "script": "settle", "formula": {}},)'
    ran = electorate("costs", file_of(tmp_path, WASTEFUL, odd))
    assert ran.code == 2
    assert ran.err == "electorate: COSTS of Wasteful: Object contains unknown field `formula`\n"


def test_a_script_that_makes_no_sense_is_told_in_one_line(electorate: Run, tmp_path: Path) -> None:
    odd = 'COSTS = ({"name": "odd", "script": "jump 3"},)'
    ran = electorate("costs", file_of(tmp_path, WASTEFUL, odd))
    assert ran.code == 2
    assert "unknown command 'jump'" in ran.err


def test_the_golden_picture_of_growth_is_that_of_today(
    electorate: Run, tmp_path: Path, rewrite: bool
) -> None:
    drawing = tmp_path / "growth.svg"
    assert electorate("costs", "bully", "--nodes", "3..64", "--svg", str(drawing)).code == 0
    compare(ROOT / "docs" / "pictures" / "bully_growth.svg", drawing, rewrite)


def test_a_mandate_over_an_election_is_measured_together_with_it(electorate: Run) -> None:
    ran = electorate("costs", "mandate-over-bully", "--nodes", "3,5", "--case", "comes into office")
    assert ran.code == 0
    assert ran.out == dedent("""\
        mandate-over-bully: what an election costs, every delay being exactly T

        somebody comes into office, from boot
          from boot: agree
                       formula  N=3  N=5
          Halt         -          2    4
          AreYouThere  -          3   10
          Yes          -          3   10
          NewLeader    -          2    4
          Poll         -          2    4
          Free         -          2    4
          Claim        -          2    4
          Grant        -          2    4
          messages     -         18   44
          multicasts   -         13   26
          rounds       -          6    6
          time         -         5T   5T

        Measured only: no formulas are declared.
        """)


def test_an_office_costs_a_round_per_period_and_is_filled_again(electorate: Run) -> None:
    ran = electorate("costs", "mandate-over-strongest-alive", "--nodes", "4", "--json")
    assert ran.code == 0
    rows = json.loads(ran.out)["rows"]
    kinds = [{name: row["measured"][name] for name in ("Claim", "Grant", "time")} for row in rows]
    assert kinds == [
        {"Claim": 3, "Grant": 3, "time": 4},
        {"Claim": 30, "Grant": 27, "time": 29},
        {"Claim": 3, "Grant": 2, "time": 12},
    ]
