"""Formulas mean what they say."""

import re
from fractions import Fraction

import pytest

from electorate.costs.formula import Expectation, Formula


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("N", 5),
        ("2N-3", 7),
        ("N - 2 - 1", 2),
        ("(N-1)²+2(N-2)", 22),
        ("(N-1)(N-2)/2", 6),
        ("N(7N-3)/2", 80),
        ("N²-N-1", 19),
        ("2N·T", 10),
        ("4T+6(N-2)T", 22),
        ("(2N+d)T", 13),
        ("2N+kN-k(k+1)/2", 10 + 10 - 3),
        ("N/2", Fraction(5, 2)),
        ("12/N/2", Fraction(6, 5)),
        (
            "N·H_N+N",
            5 * (1 + Fraction(1, 2) + Fraction(1, 3) + Fraction(1, 4) + Fraction(1, 5)) + 5,
        ),
    ],
)
def test_a_formula_has_the_value_that_a_reader_expects(text: str, value: Fraction | int) -> None:
    assert Formula(text).of({"N": 5, "d": 3, "k": 2}) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "ends too soon"),
        ("N+", "ends too soon"),
        ("(N-1", "lacks a closing bracket"),
        ("N-1)", "makes no sense from ')' on"),
        ("N % 2", "makes no sense at '%'"),
        ("-N", "makes no sense at '-'"),
    ],
)
def test_what_is_no_formula_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{text!r} {problem}")):
        Formula(text)


def test_a_letter_that_stands_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="'N\\+k' has no value: 'k'"):
        Formula("N+k").of({"N": 3})


@pytest.mark.parametrize(
    ("text", "values", "met"),
    [
        ("2N", (6, 6), True),
        ("2N", (6, 7), False),
        ("N..2N", (3, 6, 5), True),
        ("N..2N", (4, 6), False),
        ("N..2N", (3, 7), False),
        ("mean N+1", (3, 5), True),
        ("mean N+1", (3, 4), False),
    ],
)
def test_an_expectation_is_about_each_run_their_bounds_or_their_mean(
    text: str, values: tuple[int, ...], met: bool
) -> None:
    assert Expectation(text).is_met(values, {"N": 3}, margin=0.0) is met


def test_a_mean_may_be_off_by_a_margin_and_no_more() -> None:
    assert Expectation("mean N").is_met((4, 5), {"N": 3}, margin=1.5)
    assert not Expectation("mean N").is_met((4, 5), {"N": 3}, margin=1.4)


def test_a_mean_has_no_bounds() -> None:
    with pytest.raises(ValueError, match="neither a mean nor two bounds"):
        Expectation("mean N..2N")
