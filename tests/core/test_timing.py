"""Spans are read, printed and reckoned with; a Timing puts numbers to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from electorate.core import P, Span, T, Timing

counts = st.integers(-99, 99)
spans = st.builds(Span, counts, counts, counts)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("2T", 2 * T),
        ("T", T),
        ("2*T", 2 * T),
        ("2T+P", 2 * T + P),
        ("2T + P - 1", 2 * T + P - 1),
        (" 2 * T ", 2 * T),
        ("-T", -1 * T),
        ("T+T", 2 * T),
        ("7", Span(ticks=7)),
        ("0", Span()),
    ],
)
def test_a_span_is_read_as_people_write_it(text: str, span: Span) -> None:
    assert Span.parse(text) == span


@pytest.mark.parametrize(
    "text", ["", "T2", "2X", "2T+", "+", "2TP", "2 3", "2*3", "2**T", "1.5T", "2t", "T*2"]
)
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a span: write it like 2T"):
        Span.parse(text)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (2 * T, "2T"),
        (T, "T"),
        (P, "P"),
        (2 * T + P - 1, "2T+P-1"),
        (P - T, "-T+P"),
        (Span(ticks=3), "3"),
        (0 * T, "0"),
    ],
)
def test_a_span_is_printed_as_it_is_read(span: Span, text: str) -> None:
    assert str(span) == text


@given(spans)
def test_a_printed_span_reads_back(span: Span) -> None:
    assert Span.parse(str(span)) == span


@given(spans, spans, counts)
def test_spans_reckon_like_numbers(one: Span, other: Span, times: int) -> None:
    assert one + other == other + one
    assert one + other - other == one
    assert times * one == one * times
    assert 2 * one == one + one
    assert one + 1 - 1 == one


def test_a_timing_gives_a_span_its_length() -> None:
    timing = Timing(T=100, P=5)
    assert (2 * T + P + 1).of(timing) == 206
    assert (2 * T).of(Timing()) == 2


def test_a_length_is_never_below_zero() -> None:
    assert (T - 5).of(Timing(T=2)) == 0


@pytest.mark.parametrize(
    ("duration", "text"), [(0, "0"), (1, "1"), (2, "T"), (3, "T+1"), (4, "2T"), (7, "3T+1")]
)
def test_a_duration_is_told_in_whole_message_delays(duration: int, text: str) -> None:
    assert Timing(T=2).text(duration) == text


@pytest.mark.parametrize(("t", "p"), [(0, 0), (-1, 0), (1, -1)])
def test_a_timing_has_bounds_that_can_be_met(t: int, p: int) -> None:
    with pytest.raises(ValueError, match="T is at least 1 and P at least 0"):
        Timing(t, p)
