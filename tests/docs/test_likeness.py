"""Comparing what is shown with what is printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs.likeness import ELISION, is_like, rewritten

PRINTED = [
    "bully: A1 and A2 hold for N=3, bounded timing, T=1, delay 0..1.",
    "  A1 holds: any two normal nodes agree on the leader",
    "  A2 holds: every live node ends normal with the same live leader",
    "  liveness: live, τ = 8 ticks = 8T",
    "  60,521 states, 231,714 transitions, depth 39, 2.0 s (116,655 transitions/s)",
    "  281.9 MiB of memory, 20 bytes per state beyond the frontier, 19.7 s to compile before",
]


def is_true(*shown: str) -> bool:
    return rewritten(shown, PRINTED) == list(shown)


def test_what_is_printed_may_be_shown() -> None:
    assert is_true(*PRINTED)


def test_a_wrong_line_is_noticed() -> None:
    wrong = [line.replace("8T", "9T") for line in PRINTED]
    assert not is_true(*wrong)
    assert rewritten(wrong, PRINTED) == PRINTED


@pytest.mark.parametrize("place", range(len(PRINTED)))
def test_a_line_that_is_missing_is_noticed(place: int) -> None:
    shown = PRINTED[:place] + PRINTED[place + 1 :]
    assert not is_true(*shown)
    assert rewritten(shown, PRINTED) == PRINTED


@pytest.mark.parametrize("place", range(len(PRINTED) + 1))
def test_a_line_that_is_not_printed_is_noticed(place: int) -> None:
    shown = [*PRINTED[:place], "nobody ever prints this", *PRINTED[place:]]
    assert not is_true(*shown)
    assert rewritten(shown, PRINTED) == PRINTED


def test_to_show_nothing_is_to_say_that_nothing_is_printed() -> None:
    assert not is_true()
    assert rewritten([], []) == []


def test_an_elision_stands_for_any_lines_and_for_none() -> None:
    assert is_true(ELISION)
    assert is_true(PRINTED[0], ELISION)
    assert is_true(ELISION, PRINTED[-1])
    assert is_true(ELISION, PRINTED[2], ELISION)
    assert is_true(*PRINTED[:2], ELISION, *PRINTED[2:])


def test_lines_between_elisions_must_be_there_and_in_order() -> None:
    assert not is_true(ELISION, PRINTED[3], PRINTED[2], ELISION)
    assert not is_true(ELISION, "  A3 holds", ELISION)
    assert not is_true(PRINTED[1], ELISION)
    assert not is_true(ELISION, PRINTED[1])


def test_an_elision_within_a_line_stands_for_any_text_of_it() -> None:
    assert is_true("bully: A1 and A2 hold for N=3, …", ELISION)
    assert is_true("bully: … hold for …, delay 0..1.", ELISION)
    assert not is_true("bully: A1 and A3 hold for N=3, …", ELISION)


def test_what_varies_is_compared_by_its_kind() -> None:
    assert is_true(
        *PRINTED[:4],
        "  60,521 states, 231,714 transitions, depth 39, 0.3 s (1,234,567 transitions/s)",
        "  4.5 GiB of memory, 25 bytes per state beyond the frontier",
    )
    assert not is_like("60,520 states, 0.3 s", "60,521 states, 0.3 s")
    assert not is_like("took 3 s", "took 3 minutes")
    assert not is_like("4T", "5T")


def test_a_page_that_is_written_anew_keeps_its_elisions() -> None:
    shown = ["bully: A1 holds for N=3, …", "…", "  liveness: live, τ = 7 ticks = 7T", "  …"]
    assert rewritten(shown, PRINTED) == [
        "bully: A1 and A2 hold for N=3, …",
        "…",
        "  liveness: live, τ = 8 ticks = 8T",
        "  …",
    ]


def test_a_line_that_is_still_true_keeps_its_seconds() -> None:
    old = "  60,521 states, 231,714 transitions, depth 39, 0.3 s (1 transitions/s)"
    assert rewritten(["…", PRINTED[3].replace("8", "7"), old, "…"], PRINTED)[2] == old


LINES = st.lists(st.sampled_from(["a b c", "a b d", "x y", "x … y", "", "…", "1 … s"]), max_size=6)
OUTPUT = st.lists(st.sampled_from(["a b c", "a b d", "x y", "x z y", "", "1.5 s"]), max_size=6)


@given(LINES, OUTPUT)
def test_what_is_written_is_true_and_is_not_written_again(
    shown: list[str], printed: list[str]
) -> None:
    made = rewritten(shown, printed)
    assert rewritten(made, printed) == made


@given(OUTPUT)
def test_without_elisions_all_is_written(printed: list[str]) -> None:
    assert rewritten(["no such line"], printed) == printed
