"""Runs are held against formulas, measure by measure."""

from collections import Counter
from fractions import Fraction
from math import sqrt
from statistics import stdev

import pytest

from electorate.costs import Case, CostRow, Figure
from electorate.costs.formula import ExpectedRange
from electorate.costs.measure import MeasuredRuns, formula_at, row_of
from electorate.costs.play import Tally


def bounds(least: int, most: int) -> ExpectedRange:
    return ExpectedRange(Fraction(least), Fraction(most))


def tally(time: int = 2, memories: int = 0, **kinds: int) -> Tally:
    return Tally(Counter(kinds), 1, memories, 3, time)


def row(formulas: dict[str, str], *tallies: Tally, **more: object) -> CostRow:
    """Runs with N = 3."""
    case = Case("example", "settle", formulas, **more)  # type: ignore[arg-type]
    return row_of(case, 3, [MeasuredRuns({"N": 3}, tallies)], complete=True, z=2.0)


def test_a_row_is_equal_if_all_of_its_figures_are() -> None:
    fitting = row({"Halt": "N", "messages": "N", "time": "2T"}, tally(Halt=3))
    assert fitting.equal
    assert fitting.figures["Halt"] == Figure(bounds(3, 3), None, 0.0, bounds(3, 3), True)
    assert row({"Halt": "N", "messages": "N", "time": "3T"}, tally(Halt=3)).equal is False
    assert row({"Halt": "N", "messages": "N+1"}, tally(Halt=3)).equal is False


def test_every_run_counts() -> None:
    assert row({"Halt": "N"}, tally(Halt=3), tally(Halt=3)).equal
    assert row({"Halt": "N"}, tally(Halt=3), tally(Halt=4)).equal is False


def test_a_message_that_no_formula_is_about_must_not_be_sent() -> None:
    surplus = row({"Halt": "N"}, tally(Halt=3, Yes=1))
    assert surplus.figures["Yes"].equal is False
    assert surplus.equal is False


def test_a_message_that_is_never_sent_is_missed() -> None:
    assert row({"Halt": "N", "Yes": "1"}, tally(Halt=3)).equal is False


def test_what_has_no_formula_is_measured_only() -> None:
    measured = row({}, tally(Halt=3), tally(Halt=5))
    assert measured.equal is None
    assert measured.figures["Halt"] == Figure(bounds(3, 5), None, 0.0, None, None)
    assert list(measured.figures) == ["Halt", "messages", "multicasts", "rounds", "time"]


def test_what_a_node_says_to_itself_is_shown_where_there_is_any() -> None:
    assert row({"to oneself": "1"}, tally(memories=1)).equal
    assert row({"messages": "0"}, tally(memories=1)).figures["to oneself"].equal is None


def test_kinds_can_be_counted_together_and_subtracted() -> None:
    tallies = {"completed": ("Here", "Noted"), "timed out": ("Call", "-Here", "-Noted")}
    formulas = {"Call": "4", "Here": "2", "Noted": "1", "completed": "N", "timed out": "1"}
    assert row(formulas, tally(Call=4, Here=2, Noted=1), tallies=tallies).equal
    assert (
        row({**formulas, "timed out": "2"}, tally(Call=4, Here=2, Noted=1), tallies=tallies).equal
        is False
    )


def test_each_batch_is_held_against_its_own_numbers() -> None:
    case = Case("distance", "settle", {"Vote": "N+d"}, numbers={"d": "0..1"})
    batches = [MeasuredRuns({"N": 3, "d": d}, [tally(Vote=3 + d)]) for d in (0, 1)]
    fitting = row_of(case, 3, batches, complete=True, z=2.0)
    assert fitting.equal
    assert fitting.figures["Vote"].measured == fitting.figures["Vote"].formula == bounds(3, 4)
    swapped = [MeasuredRuns({"N": 3, "d": 1 - d}, [tally(Vote=3 + d)]) for d in (0, 1)]
    assert row_of(case, 3, swapped, complete=True, z=2.0).equal is False
    assert formula_at(case, "Vote", 7) == bounds(7, 8)
    assert formula_at(case, "time", 7) is None


def test_the_mean_of_all_runs_is_exact_and_that_of_a_sample_has_a_margin() -> None:
    case = Case("mean", "settle", {"Vote": "mean N"})
    votes = [2, 3, 3, 5]
    played = [MeasuredRuns({"N": 3}, [tally(Vote=n) for n in votes])]
    whole = row_of(case, 3, played, complete=True, z=2.0).figures["Vote"]
    assert (whole.mean, whole.margin, whole.equal) == (Fraction(13, 4), 0.0, False)
    sample = row_of(case, 3, played, complete=False, z=2.0).figures["Vote"]
    assert sample.margin == pytest.approx(2 * stdev(votes) / sqrt(4))
    assert sample.equal
    assert row_of(case, 3, played, complete=False, z=0.1).figures["Vote"].equal is False


def test_a_case_that_could_not_be_played_is_not_equal() -> None:
    case = Case("odd", "settle", {"messages": "0"})
    assert CostRow(case, 3, 0, True, {}, "1 is down already").equal is False
