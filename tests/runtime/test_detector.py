"""Failure detectors against clocks that are set by hand."""

import random
import time

import pytest

from electorate.runtime.detector import FailureDetector, HeartbeatDetector, PhiDetector
from electorate.runtime.tcp import now_ms

BOTH = (HeartbeatDetector, PhiDetector)


def begun(kind: type[FailureDetector], at: float = 0.0) -> FailureDetector:
    detector = kind([2, 3], 400.0, 200.0)
    detector.begin(at)
    return detector


def beats(detector: FailureDetector, node: int, times: list[float]) -> float:
    """Let a node be heard at these times; the last of them."""
    for at in times:
        detector.heard(node, at)
    return times[-1]


def suspected_after(detector: FailureDetector, node: int, last: float) -> float:
    """How long after `last` the node becomes suspect."""
    return next(ms for ms in range(100_000) if node not in detector.alive(last + ms))


@pytest.mark.parametrize("kind", BOTH)
def test_everybody_is_trusted_for_a_while_at_first(kind: type[FailureDetector]) -> None:
    detector = begun(kind)
    assert detector.alive(399.9) == {2, 3}
    assert detector.alive(400.0) == frozenset()


@pytest.mark.parametrize("kind", BOTH)
def test_whoever_is_silent_becomes_suspect_and_nobody_else(kind: type[FailureDetector]) -> None:
    detector = begun(kind)
    beats(detector, 2, [300.0, 350.0])
    assert detector.alive(500.0) == {2}


@pytest.mark.parametrize("kind", BOTH)
def test_a_suspect_that_is_heard_again_is_trusted_again(kind: type[FailureDetector]) -> None:
    detector = begun(kind)
    assert detector.alive(1000.0) == frozenset()
    detector.heard(3, 1000.0)
    assert detector.alive(1000.0) == {3}


@pytest.mark.parametrize("kind", BOTH)
def test_a_broken_connection_leaves_the_time_of_one_probe(kind: type[FailureDetector]) -> None:
    detector = begun(kind)
    detector.hint(2, 10.0)
    assert detector.alive(209.9) == {2, 3}
    assert detector.alive(210.0) == {3}


@pytest.mark.parametrize("kind", BOTH)
def test_a_beat_takes_a_hint_back(kind: type[FailureDetector]) -> None:
    detector = begun(kind)
    detector.hint(2, 10.0)
    detector.heard(2, 100.0)
    assert 2 in detector.alive(499.9)


@pytest.mark.parametrize("kind", BOTH)
def test_a_hint_never_gives_more_time(kind: type[FailureDetector]) -> None:
    detector = begun(kind)
    detector.hint(2, 390.0)
    assert 2 not in detector.alive(400.0)
    detector.hint(2, 500.0)
    assert 2 not in detector.alive(500.0)


@pytest.mark.parametrize("kind", BOTH)
def test_after_a_pause_of_our_own_everybody_is_given_time(kind: type[FailureDetector]) -> None:
    detector = begun(kind)
    beats(detector, 2, [50.0 * n for n in range(1, 20)])
    detector.begin(10_000.0)
    assert detector.alive(10_399.9) == {2, 3}


def test_a_heartbeat_detector_waits_for_a_fixed_time() -> None:
    detector = begun(HeartbeatDetector)
    last = beats(detector, 2, [50.0 * n for n in range(1, 100)])
    assert suspected_after(detector, 2, last) == 400


def test_phi_gives_a_new_node_the_fixed_time() -> None:
    detector = begun(PhiDetector)
    last = beats(detector, 2, [50.0 * n for n in range(1, 9)])
    assert suspected_after(detector, 2, last) == 400


def test_phi_suspects_a_quick_and_regular_sender_sooner() -> None:
    detector = begun(PhiDetector)
    last = beats(detector, 2, [50.0 * n for n in range(1, 100)])
    assert 100 < suspected_after(detector, 2, last) < 150


def test_phi_learns_to_wait_for_a_slow_but_regular_sender() -> None:
    detector = begun(PhiDetector)
    last = beats(detector, 2, [600.0 * n for n in range(1, 100)])
    assert 700 < suspected_after(detector, 2, last) < 2000


def test_phi_gives_a_jittery_sender_more_time_than_a_regular_one() -> None:
    chance = random.Random(1)
    regular, jittery = begun(PhiDetector), begun(PhiDetector)
    last = beats(regular, 2, [50.0 * n for n in range(1, 100)])
    shaky = beats(jittery, 2, [50.0 * n + chance.uniform(0, 45) for n in range(1, 100)])
    assert suspected_after(jittery, 2, shaky) > suspected_after(regular, 2, last) + 20


def test_phi_does_not_take_the_time_that_a_node_was_dead_for_its_habit() -> None:
    detector = begun(PhiDetector)
    beats(detector, 2, [50.0 * n for n in range(1, 100)])
    last = beats(detector, 2, [60_000 + 50.0 * n for n in range(20)])
    assert suspected_after(detector, 2, last) < 600


def test_the_clock_counts_milliseconds_and_never_goes_back() -> None:
    times = [now_ms() for _ in range(1000)]
    assert times == sorted(times)
    before, mark = now_ms(), time.monotonic()
    while time.monotonic() - mark < 0.02:
        pass
    assert 19 < now_ms() - before < 2000
