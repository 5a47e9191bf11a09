"""Pauses: a node that is up and does not react."""

import pytest

from electorate.check import Result
from electorate.check.interned import Pulse
from electorate.claims import CLAIMS
from electorate.core import Status
from electorate.trace import Clock, Paused, Resumed, script_of
from tests.check.claim import everybody_follows
from tests.check.probe import Probe, Taken

A = "heard a"
BUSY = {"1 boot": "send 2 a", "2 boot": "set x 1"}


def of_node(probe: Probe, taken: Taken, node: int) -> bool:
    return taken.move.kind != "tick" and probe.node_of(taken.move) == node - 1


def test_a_paused_node_takes_no_event() -> None:
    faults = dict.fromkeys(("pauses", "crashes", "losses", "doubles", "asks", "lies"), 1)
    probe = Probe(BUSY, wishes=("w",), views=True, detection=1, **faults)
    kinds = {
        taken.move.kind
        for taken in probe.moves()
        if probe.node(taken.before, 2).pulse is Pulse.PAUSED and of_node(probe, taken, 2)
    }
    assert kinds == {"resume", "crash", "lose"}


def test_time_does_not_wait_for_a_paused_node_and_its_messages_wait_for_it() -> None:
    probe = Probe(BUSY, pauses=1)
    assert probe.moments("deliver", 2) == set(range(9))
    assert Probe(BUSY).moments("deliver", 2) == {0, 1}


def test_the_timers_of_a_paused_node_run_on() -> None:
    probe = Probe({"2 boot": "set x 2"}, pauses=1)
    assert probe.moments("fire", 2) == {2, 3, 4, 5, 6, 7, 8}
    resumed = [t for t in probe.walk() if t.move.kind == "resume" and t.now == 4]
    assert {probe.space.locals.cards[t.after[1]].ready for t in resumed} == {("x",), ()}


def test_after_a_pause_all_that_is_due_is_handled_in_every_order() -> None:
    message_first, timer_first = (A, "fired x"), ("fired x", A)
    assert Probe(BUSY).ends(2) == {message_first}
    assert Probe(BUSY, pauses=1).ends(2) == {message_first, timer_first}


def test_the_freedom_of_order_ends_with_the_tick_of_the_resumption() -> None:
    orders = {"1 boot": "set y 3", "1 fired y": "send 2 a", "2 boot": "set x 4"}
    probe = Probe(orders, pauses=1, delay_min=1)
    before_the_tick = [
        taken.after for taken in probe.walk() if taken.move.kind == "resume" and taken.now < 4
    ]
    for row in before_the_tick:
        fired = (t.after for t in probe.walk(row) if t.move.kind == "fire" and t.move.where == 1)
        assert all((probe.diary(after, 2) or ())[-2:] == (A, "fired x") for after in fired)


def test_nobody_elses_timer_waits_for_what_a_resumed_node_has_missed() -> None:
    orders = {"1 boot": "send 2 a", "3 boot": "set x 2", "3 fired x": "send 2 b"}
    probe = Probe(orders, nodes=3, pauses=1)
    fires = [t for t in probe.moves() if t.move.kind == "fire"]
    pulses = {probe.node(t.before, 2).pulse for t in fires if probe.diary(t.before, 2) == ()}
    assert pulses == {Pulse.PAUSED, Pulse.WOKEN}


def test_the_timers_of_a_resumed_node_wait_for_nothing() -> None:
    orders = {"1 boot": "send 3 a", "2 boot": "set x 1", "2 fired x": "send 3 b"}
    assert Probe(orders, nodes=3).ends(3) == {("heard a", "heard b")}
    probe = Probe(orders, nodes=3, pauses=1)
    awake = {
        probe.node(taken.before, 3).pulse
        for taken in probe.moves()
        if probe.diary(taken.after, 3) == ("heard b",)
    }
    assert Pulse.AWAKE in awake


def test_a_paused_nodes_last_view_counts() -> None:
    orders = {
        "1 boot": "follow 1; set x 2",
        "1 fired x": "elect",
        "2 boot": "set y 2",
        "2 fired y": "follow 2",
    }
    assert Probe(orders).check(CLAIMS["S2"]).result is Result.VIOLATED
    after = {**orders, "2 boot": "set y 3"}
    assert Probe(after).check(CLAIMS["S2"]).result is Result.HOLDS
    assert Probe(after, pauses=1).check(CLAIMS["S2"]).result is Result.VIOLATED


@pytest.mark.parametrize("pauses", [0, 1, 2])
@pytest.mark.parametrize("clock", list(Clock))
def test_nodes_are_paused_as_often_as_the_budget_allows(pauses: int, clock: Clock) -> None:
    probe = Probe(BUSY, pauses=pauses, clock=clock)
    assert probe.most(lambda taken: taken.move.kind == "pause") == pauses
    assert probe.most(lambda taken: taken.move.kind == "resume") == pauses


def test_a_crash_ends_a_pause() -> None:
    probe = Probe({"any again": ""}, pauses=1, crashes=1, recoveries=1)
    lives = (row for row in probe.rows if probe.diary(row, 1) == ("again",))
    budgets = ((probe.node(row, 1).pulse, probe.space.budgets.cards[row[-1]]) for row in lives)
    assert {pulse for pulse, left in budgets if left.pauses == 0} >= {Pulse.AWAKE}


def test_the_stable_phase_resumes_whoever_is_paused_and_the_run_says_so() -> None:
    orders = {"1 boot": "elect; set x 2", "1 fired x": "follow 1", "2 boot": "follow 1"}
    probe = Probe(orders, pauses=1)
    verdict = probe.check(everybody_follows(1))
    assert (verdict.result, verdict.tau) == (Result.HOLDS, 2)
    # Only after a pause the timer goes before the message, and then the node is stuck.
    orders |= {"2 boot": "follow 1; send 1 a", "1 heard a": "follow 1; cancel x"}
    orders |= {"1 boot": "elect; set x 1", "1 fired x": "set z 2", "1 fired z": "elect"}
    assert Probe(orders).check(everybody_follows(1)).result is Result.HOLDS
    probe = Probe(orders, pauses=1)
    (violation,) = probe.check(everybody_follows(1)).violations
    happenings = [type(step.happening) for step in violation.trace.steps]
    assert (happenings.count(Paused), happenings.count(Resumed)) == (1, 1)
    assert happenings.index(Resumed) == (violation.calm_after or 0) - 1
    text = script_of(violation.trace)
    assert probe.retold(text) == text


def test_without_bounds_a_node_that_was_paused_is_like_any_other() -> None:
    plain = Probe(BUSY, clock=Clock.UNBOUNDED)
    paused = Probe(BUSY, clock=Clock.UNBOUNDED, pauses=1)
    # Each state of the plain search with the pause unspent, spent, or going on at either node.
    assert len(paused.rows) == 4 * len(plain.rows)


def test_a_node_is_paused_in_the_status_it_was_in() -> None:
    probe = Probe({"1 boot": "elect"}, pauses=1)
    for row in probe.rows:
        standing = probe.space.locals.cards[row[0]].standing
        assert standing is not None
        assert standing.status is Status.ELECTION
