"""Liveness: toy machines whose fate and whose τ can be worked out by hand."""

import pytest

from electorate.check import Liveness, Result, Verdict, check
from electorate.trace import Clock, Ticked, Trace, is_consequence
from tests.check.claim import everybody_follows
from tests.check.probe import Probe

FOLLOW_1 = everybody_follows(1)
FOLLOW_2 = everybody_follows(2)


def fate(verdict: Verdict) -> tuple[Liveness | None, int | None]:
    return verdict.liveness, verdict.tau


def ticks_after(trace: Trace, moves: int | None) -> int:
    steps = [step for step in trace.steps if not is_consequence(step)]
    return sum(isinstance(step.happening, Ticked) for step in steps[moves:])


def test_a_goal_that_a_timer_brings_takes_as_long_as_the_timer() -> None:
    verdict = Probe({"1 boot": "elect; set x 3", "1 fired x": "follow 1"}, nodes=1).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.LIVE, 3)
    assert verdict.result is Result.HOLDS


def test_jitter_and_delays_are_at_their_longest_in_the_slowest_run() -> None:
    orders = {
        "1 boot": "follow 1; set x 2 3",
        "1 fired x": "quietly; send 2 a",
        "2 heard a": "quietly; follow 1",
    }
    verdict = Probe(orders, T=2).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.LIVE, 5 + 2)
    assert verdict.slowest is not None
    assert ticks_after(verdict.slowest, verdict.slowest_from) == 7


def test_a_goal_that_holds_from_the_start_takes_no_time() -> None:
    verdict = Probe({"any boot": "follow 1; set x 3"}).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.LIVE, 0)


def test_the_slowest_run_begins_after_the_last_fault_and_takes_tau() -> None:
    orders = {
        "any boot": "follow 1; set y 9",
        "1 again": "follow 1",
        "2 again": "set x 4; set y 6",
        "2 fired x": "follow 1",
    }
    verdict = Probe(orders, crashes=1, recoveries=1).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.LIVE, 4)
    assert verdict.slowest is not None
    assert verdict.slowest_from == 2
    assert ticks_after(verdict.slowest, verdict.slowest_from) == 4


def test_a_goal_lost_again_without_ever_resting_counts_until_it_is_kept() -> None:
    orders = {
        "1 boot": "follow 1; set x 1",
        "1 fired x": "elect; set y 2",
        "1 fired y": "follow 1",
    }
    assert fate(Probe(orders, nodes=1).check(FOLLOW_1)) == (Liveness.LIVE, 3)


def test_where_time_may_pass_or_not_on_the_same_way_the_slowest_run_lets_it_pass() -> None:
    orders = {
        "1 boot": "elect; set x 0 1; set y 1",
        "1 fired x": "quietly; set x 0; set y 0",
        "1 fired y": "follow 1; cancel x",
    }
    # To fire x at once leads to the very row to which a tick leads.
    verdict = Probe(orders, nodes=1).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.LIVE, 1)
    assert verdict.slowest is not None
    assert ticks_after(verdict.slowest, verdict.slowest_from) == 1


def test_a_loop_with_a_way_out_can_be_prevented_from_ending() -> None:
    orders = {
        "1 boot": "elect; send 2 a",
        "2 boot": "follow 1",
        "2 heard a": "quietly; send 1 b",
        "1 heard b": "quietly; send 2 a; set x 1 2",
        "1 fired x": "quietly; follow 1",
    }
    # As long as the answer comes before the timer fires, the timer is set anew.
    verdict = Probe(orders).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.PREVENTABLE, None)
    assert verdict.result is Result.VIOLATED
    (violation,) = verdict.violations
    assert violation.loop_after is not None
    assert violation.witness.nodes == (1,)
    assert ticks_after(violation.trace, violation.loop_after) > 0


def test_a_goal_held_for_any_time_and_then_lost_shows_the_loss_and_no_loop() -> None:
    # Node 1 ticks on in the goal for as long as it likes, and may then leave it for ever.
    orders = {
        "1 boot": "follow 1; set x 1 1",
        "1 fired x": "quietly; send 1 stay",
        "1 heard stay": "quietly; set x 1 1; set z 2",
        "1 fired z": "elect; cancel x; set w 1",
        "1 fired w": "follow 1",
    }
    verdict = Probe(orders, nodes=1).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.PREVENTABLE, None)
    (violation,) = verdict.violations
    assert violation.loop_after is None
    assert violation.witness.text == "not all follow 1"


def test_a_dead_end_is_stuck() -> None:
    verdict = Probe({"1 boot": "elect"}, nodes=1).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.STUCK, None)
    (violation,) = verdict.violations
    assert (violation.calm_after, violation.loop_after) == (0, 0)
    # At rest time still passes: the loop is one tick.
    assert [type(step.happening) for step in violation.trace.steps] == [Ticked]


def test_without_bounds_a_dead_end_has_no_loop() -> None:
    verdict = Probe({"1 boot": "elect; set x 1"}, nodes=1, clock=Clock.UNBOUNDED).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.STUCK, None)
    (violation,) = verdict.violations
    assert (violation.length, violation.loop_after) == (1, None)


def test_a_loop_without_a_way_out_is_stuck() -> None:
    orders = {"1 boot": "elect; set x 2", "1 fired x": "quietly; set x 2"}
    verdict = Probe(orders, nodes=1).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.STUCK, None)
    (violation,) = verdict.violations
    assert ticks_after(violation.trace, violation.loop_after) == 2


def test_a_goal_that_comes_and_goes_for_ever_is_stuck() -> None:
    orders = {
        "1 boot": "follow 1; set x 1",
        "1 fired x": "quietly; elect; set y 1",
        "1 fired y": "quietly; follow 1; set x 1",
    }
    assert fate(Probe(orders, nodes=1).check(FOLLOW_1)) == (Liveness.STUCK, None)


def test_of_several_goals_the_worst_fate_is_told() -> None:
    orders = {"1 boot": "elect; set x 3", "1 fired x": "follow 1"}
    both = Probe(orders, nodes=1).check(FOLLOW_1, FOLLOW_2)
    assert both.liveness is Liveness.STUCK
    assert both.claims == {"follow-1": Result.HOLDS, "follow-2": Result.VIOLATED}
    assert [violation.claim for violation in both.violations] == ["follow-2"]


def test_of_several_goals_that_are_reached_the_slowest_gives_tau() -> None:
    orders = {"1 boot": "elect; set x 2", "1 fired x": "follow 1"}
    trivial = everybody_follows(1)._replace(name="also", judge=lambda row: None)
    verdict = Probe(orders, nodes=1).check(trivial, FOLLOW_1)
    assert fate(verdict) == (Liveness.LIVE, 2)


@pytest.mark.parametrize("held", [True, False])
def test_a_loop_that_takes_no_time_and_has_no_way_out_is_reported_as_such(held: bool) -> None:
    first = "follow 1" if held else "elect"
    orders = {"1 boot": f"{first}; set x 0", "1 fired x": "quietly; set x 0"}
    verdict = Probe(orders, nodes=1).check(FOLLOW_1)
    assert fate(verdict) == (Liveness.STUCK, None)
    (violation,) = verdict.violations
    assert "time stands still" in violation.witness.text
    assert ticks_after(violation.trace, violation.loop_after) == 0


def test_a_loop_that_takes_no_time_does_no_harm_if_time_can_pass() -> None:
    orders = {
        "1 boot": "elect; send 2 a; set x 2",
        "2 boot": "follow 1",
        "2 heard a": "quietly; send 1 a",
        "1 heard a": "quietly; send 2 a",
        "1 fired x": "quietly; follow 1",
    }
    # A token goes round in no time, and the timer fires nevertheless.
    assert fate(Probe(orders).check(FOLLOW_1)) == (Liveness.LIVE, 2)


def test_states_beyond_a_bound_are_not_called_stuck() -> None:
    orders = {"1 boot": "elect; send 2 a; send 2 b", "2 boot": "follow 1", "2 heard b": "send 1 c"}
    orders |= {"1 heard c": "follow 1; send 2 d; send 2 e; send 2 f"}
    orders |= {"3 boot": "follow 3; set x 1", "3 fired x": "quietly; follow 1"}
    probe = Probe(orders, nodes=3, capacity=2)
    verdict = probe.check(FOLLOW_1)
    assert verdict.liveness is Liveness.UNDECIDED
    assert verdict.cuts["capacity"] > 0
    assert "up to capacity 2" in verdict.sentence("diary", probe.machine, probe.model)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_run_that_goes_round_in_no_time_until_a_bound_cuts_it_is_told(engine: str) -> None:
    """Fails if the slowest run is followed to an end that only lies beyond the bound."""
    orders = {
        "1 boot": "elect; set x 0; set y 0",
        "1 fired x": "quietly; set x 0",
        "1 fired y": "send 2 a; send 2 b",
        "2 boot": "follow 2",
    }
    probe = Probe(orders, capacity=1)
    verdict = check(probe.machine, probe.model, [FOLLOW_2], engine=engine)
    assert (verdict.liveness, verdict.tau) == (Liveness.UNDECIDED, 0)
