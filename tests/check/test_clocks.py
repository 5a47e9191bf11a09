"""Bounded clocks and messages that take any time at all: what leases have to live with."""

from itertools import pairwise

import pytest

from electorate.check import Liveness, Result
from electorate.check.column import Row
from electorate.claims import CLAIMS
from electorate.trace import Clock, Connections, Order, Ties
from tests.check.claim import everybody_follows
from tests.check.probe import Probe

CLOCKS = Clock.CLOCKS
A, B, X = "heard a", "heard b", "fired x"
LETTER = {"1 boot": "send 2 a"}


def after(probe: Probe, row: Row, kind: str, where: int) -> Row:
    moves = probe.successors(row)
    return next(r for m, r in moves if (m.kind, m.where, m.torn) == (kind, where, None))


@pytest.mark.parametrize("least", [0, 2])
def test_a_message_takes_any_time_at_all(least: int) -> None:
    """Fails if a message is ever due or too young, or if time waits for one."""
    probe = Probe(LETTER, T=2, delay_min=least, clock=CLOCKS)
    assert probe.moments("deliver", 2, horizon=9) == set(range(10))
    assert probe.moments("tick", 1, horizon=9) == set(range(10))


def test_a_message_has_no_age() -> None:
    """Fails if states are told apart by how long a message has been on its way."""
    for longest in (1, 5):
        probe = Probe(LETTER, T=longest, clock=CLOCKS)
        # On its way and handed over; a hand-over, and a tick in either state.
        assert (len(probe.rows), probe.search.transitions) == (2, 3)


def test_timers_keep_their_bounds() -> None:
    """Fails if timers take any time, too, or time passes over one that is due."""
    probe = Probe({"1 boot": "set x 2 1"}, clock=CLOCKS)
    assert probe.moments("fire", 1) == {2, 3}
    assert Probe({"1 boot": "set x 1; set y 2"}, clock=CLOCKS).ends(1) == {(X, "fired y")}


@pytest.mark.parametrize("ties", list(Ties))
def test_no_timer_waits_for_a_message(ties: Ties) -> None:
    """Fails if closed bounds hold back a timer for a message that is never due."""
    orders = {"1 boot": "send 2 a", "2 boot": "set x 1"}
    assert Probe(orders, clock=CLOCKS, ties=ties).ends(2) == {(A, X), (X, A)}


def test_messages_keep_their_order_if_they_have_one() -> None:
    """Fails if messages without bounds overtake one another on a channel."""
    orders = {"1 boot": "send 2 a; set x 1", "1 fired x": "send 2 b"}
    assert Probe(orders, clock=CLOCKS).ends(2) == {(A, B)}
    assert Probe(orders, clock=CLOCKS, order=Order.BAG).ends(2) == {(A, B), (B, A)}


def test_periodic_timers_fire_for_ever_and_are_not_counted() -> None:
    """Fails if the bound on firings, which is for timers without bounds, cuts these."""
    orders = {"1 boot": "set beat 2", "1 fired beat": "quietly; set beat 2"}
    probe = Probe(orders, nodes=1, clock=CLOCKS, periodic=("beat",), firings=0)
    assert probe.moments("fire", 1, horizon=6) == {2, 4, 6}
    assert probe.check().cuts == {}


def test_a_message_waits_for_the_next_life_or_gets_lost() -> None:
    """Fails if time takes a message to a node that is down, or nothing else can."""
    probe = Probe({**LETTER, "any again": ""}, clock=CLOCKS, crashes=1, recoveries=1)
    down = after(probe, probe.rows[0], "crash", 1)
    assert probe.moments("deliver", 2, down, horizon=6) == set(range(7))
    assert probe.moments("lose", 2, down, horizon=6) == set(range(7))
    ends = {probe.diary(t.after, 2) for t in probe.walk(down) if probe.is_end(t.after)}
    assert ends == {None, ("again",), ("again", A)}
    dies = Probe(
        {**LETTER, "any again": ""},
        clock=CLOCKS,
        crashes=1,
        recoveries=1,
        connections=Connections.DIE,
    )
    assert ("again", A) not in dies.ends(2)


def test_a_message_outlasts_a_cut_or_gets_lost() -> None:
    """Fails if time takes a message on a cut link, or nothing else can."""
    probe = Probe(LETTER, clock=CLOCKS, cuts=1, heals=1)
    cut = after(probe, probe.rows[0], "cut", 0)
    assert probe.moments("deliver", 2, cut, horizon=6) == set(range(7))
    ends = {probe.diary(t.after, 2) for t in probe.walk(cut) if probe.is_end(t.after)}
    assert ends == {(), (A,)}


def test_detectors_keep_their_bound() -> None:
    """Fails if a correction may be put off for ever though clocks are bounded."""
    probe = Probe({}, views=True, crashes=1, clock=CLOCKS)
    down = after(probe, probe.rows[0], "crash", 0)
    assert probe.moments("view", 2, down) == {0, 1, 2}


def test_a_resumed_node_is_told_of_what_is_due_in_any_order() -> None:
    """Fails if a pause moves a timer, or a message has to wait for its end."""
    orders = {"1 boot": "send 2 a", "2 boot": "set x 2"}
    probe = Probe(orders, clock=CLOCKS, pauses=1)
    assert probe.moments("fire", 2) == set(range(2, 9))
    assert probe.ends(2) == {(A, X), (X, A)}


def test_each_clock_allows_all_that_a_stricter_one_does() -> None:
    """Fails if dropping a bound takes a run away."""
    orders = {
        "1 boot": "send 2 a; set x 2",
        "1 fired x": "send 2 b",
        "2 boot": "set y 3",
        "2 heard a": "send 1 c",
    }
    both = [
        {(probe.diary(row, 1), probe.diary(row, 2)) for row in probe.rows}
        for probe in (
            Probe(orders, clock=clock) for clock in (Clock.BOUNDED, CLOCKS, Clock.UNBOUNDED)
        )
    ]
    assert all(one < other for one, other in pairwise(both))


# A member grants for 3 and tells the holder, whose office counts from when it asked.
GRANT = {
    "1 boot": "set x 3; send 2 ask",
    "1 heard yes": "quietly; follow 1 until x",
    "1 fired x": "quietly; elect",
    "2 heard ask": "quietly; send 1 yes; set y 3",
    "2 fired y": "quietly; follow 2",
}


def test_a_lease_that_counts_from_its_request_is_safe_however_late_the_answer() -> None:
    """Fails if an office that has run out is held for one that lasts, or the other way round."""
    assert Probe(GRANT, clock=CLOCKS).check(CLAIMS["S2"]).result is Result.HOLDS
    late = {**GRANT, "1 boot": "send 2 ask", "1 heard yes": "quietly; follow 1 until x; set x 3"}
    assert Probe(late, clock=CLOCKS).check(CLAIMS["S2"]).result is Result.VIOLATED
    assert Probe(GRANT, clock=Clock.UNBOUNDED).check(CLAIMS["S2"]).result is Result.VIOLATED


def test_a_goal_that_needs_a_message_can_be_put_off_for_ever() -> None:
    """Fails if a message that need not come ever is counted on, or called lost."""
    orders = {"1 boot": "follow 1; send 2 a", "2 heard a": "quietly; follow 1"}
    verdict = Probe(orders, clock=CLOCKS).check(everybody_follows(1))
    assert (verdict.liveness, verdict.tau) == (Liveness.PREVENTABLE, None)
    timed = {"1 boot": "follow 1", "2 boot": "set x 3", "2 fired x": "quietly; follow 1"}
    verdict = Probe(timed, clock=CLOCKS).check(everybody_follows(1))
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, 3)


def test_runs_with_messages_of_any_delay_are_retold() -> None:
    """Fails if the simulator holds such a message to a bound."""
    orders = {"1 boot": "send 2 a; set x 3", "2 heard a": "quietly; set y 2", "2 fired y": ""}
    probe = Probe(orders, T=1, delay_min=1, clock=CLOCKS, crashes=1, recoveries=1)
    for row in probe.rows:
        probe.expect_retold(row)


def test_a_verdict_on_such_clocks_names_no_delay() -> None:
    """Fails if a verdict claims bounds that the search did not keep to."""
    probe = Probe({}, T=2, clock=CLOCKS)
    sentence = probe.check().sentence("diary", probe.machine, probe.model)
    assert "clocks timing, T=2, order fifo" in sentence
    assert "delay" not in sentence
