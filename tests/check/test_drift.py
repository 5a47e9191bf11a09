"""Clocks that drift: how long a timer may take, and what that does to those who rely on it."""

import pytest

from electorate.check import Result
from electorate.claims import CLAIMS
from electorate.trace import Clock, Start
from tests.check.probe import Probe


@pytest.mark.parametrize(
    ("orders", "drift", "when"),
    [
        ("set x 4", 0.25, {3, 4, 5}),
        ("set x 3", 0.25, {3}),  # 2.25 to 3.75
        ("set x 5", 0.1, {5}),  # 4.5 to 5.5
        ("set x 2 2", 0.5, {1, 2, 3, 4, 5, 6}),
        ("set x 0 1", 0.5, {0, 1}),
        ("set x 0", 0.9, {0}),
        ("set x 10", 0.7, set(range(3, 18))),  # Not 4: numbers that are not exact would say so.
    ],
)
def test_a_timer_takes_as_long_as_a_slow_or_a_fast_clock_makes_it(
    orders: str, drift: float, when: set[int]
) -> None:
    """Fails if either end is rounded outwards, forgets the jitter, or is not exact."""
    probe = Probe({"1 boot": orders}, nodes=1, drift=drift)
    assert probe.moments("fire", 1, horizon=20) == when


def test_a_timer_that_is_set_again_drifts_anew() -> None:
    """Fails if a clock has one speed for ever, or if the drift of a first setting is kept."""
    orders = {"1 boot": "set x 4", "1 fired x": "quietly; set y 4", "1 fired y": "quietly"}
    probe = Probe(orders, nodes=1, drift=0.25)
    fired = {(t.now, t.move.what) for t in probe.walk(horizon=12) if t.move.kind == "fire"}
    assert fired == {(n, "x") for n in (3, 4, 5)} | {(n, "y") for n in range(6, 11)}


def test_clocks_of_two_nodes_drift_apart() -> None:
    """Fails if all clocks are off by the same."""
    orders = {
        "1 boot": "set x 4",
        "1 fired x": "send 3 a",
        "2 boot": "set x 5",
        "2 fired x": "send 3 b",
    }
    a_first, b_first = ("heard a", "heard b"), ("heard b", "heard a")
    assert Probe(orders, nodes=3, delay_min=1).ends(3) == {a_first}
    assert Probe(orders, nodes=3, delay_min=1, drift=0.25).ends(3) == {a_first, b_first}


def test_messages_and_detectors_do_not_drift() -> None:
    """Fails if drift stretches a delay or the detection bound."""
    orders = {"1 boot": "send 2 a"}
    assert Probe(orders, T=4, drift=0.5).moments("deliver", 2, horizon=9) == {0, 1, 2, 3, 4}
    probe = Probe({}, T=2, views=True, crashes=1, drift=0.5)
    moves = probe.successors(probe.rows[0])
    down = next(row for move, row in moves if (move.kind, move.where) == ("crash", 0))
    assert probe.moments("view", 2, down, horizon=9) == {0, 1, 2, 3, 4}


def test_without_bounds_drift_says_nothing() -> None:
    """Fails if a timer without bounds gets some by way of its drift."""
    orders = {"1 boot": "set x 4; send 2 a", "2 boot": "set x 2", "2 heard a": "set x 3"}
    probes = [Probe(orders, clock=Clock.UNBOUNDED, drift=drift) for drift in (0, 0.5)]
    counts = [(len(probe.rows), probe.search.transitions) for probe in probes]
    assert counts[0] == counts[1]


LEASE = 4
OFFICE = {
    "1 boot": f"follow 1 until x; set x {LEASE}",
    "1 fired x": "elect",
    "2 boot": "elect; set y WAIT",
    "2 fired y": "follow 2",
}


@pytest.mark.parametrize("wait", range(3, 9))
@pytest.mark.parametrize("drift", [0, 0.25, 0.4])
def test_a_successor_must_wait_for_the_slowest_holder_by_the_fastest_clock(
    wait: int, drift: float
) -> None:
    """Fails if an office ends by another clock than its holder's slowest, or a wait too late."""
    orders = {cause: text.replace("WAIT", str(wait)) for cause, text in OFFICE.items()}
    verdict = Probe(orders, drift=drift).check(CLAIMS["S2"])
    longest_lease, shortest_wait = LEASE * (1 + drift), wait * (1 - drift)
    # Both fall on ticks; a lease that runs out in the very tick of the claim has run out.
    is_safe = -(-shortest_wait // 1) >= longest_lease // 1
    assert (verdict.result is Result.HOLDS) is is_safe


@pytest.mark.parametrize("start", [Start.BOOT, Start.NORMAL])
def test_runs_on_drifting_clocks_are_retold(start: Start) -> None:
    """Fails if the simulator lets a timer drift otherwise, from the start or from any phase."""
    orders = {
        "1 boot": "set beat 4",
        "1 fired beat": "quietly; send 2 a; set beat 4",
        "2 heard a": "quietly; set x 2 1",
        "2 fired x": "quietly",
    }
    probe = Probe(orders, drift=0.25, periodic=("beat",), start=start, pauses=1)
    for row in probe.rows[:200]:
        assert probe.expect_retold(row).setting.drift == 0.25


def test_a_verdict_names_the_drift() -> None:
    """Fails if a verdict does not say how far the clocks may be off."""
    probe = Probe({}, drift=0.25)
    assert ", drift 0.25, " in probe.check().sentence("diary", probe.machine, probe.model)
