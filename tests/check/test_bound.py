"""Unbounded timing, and the bounds that keep its searches finite."""

from typing import Any

import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Result, check
from electorate.claims import CLAIMS
from electorate.core import Machine
from electorate.trace import Clock, Setting, Start
from tests.check.claim import everybody_follows
from tests.check.diary import Diary
from tests.check.probe import Probe
from tests.core.lifted import OverTenure, Tenure

UNBOUNDED = Clock.UNBOUNDED
BEAT = {"1 boot": "set beat 2", "1 fired beat": "set beat 2"}
FIRED = "fired beat"


def test_without_bounds_timers_fire_in_any_order() -> None:
    orders = {"1 boot": "set x 1; set y 9 5"}
    assert Probe(orders).ends(1) == {("fired x", "fired y")}
    probe = Probe(orders, clock=UNBOUNDED)
    assert probe.ends(1) == {("fired x", "fired y"), ("fired y", "fired x")}


def test_without_bounds_a_timer_may_fire_before_a_message_that_was_sent_long_ago() -> None:
    orders = {"1 boot": "send 2 a", "2 boot": "set x 50"}
    probe = Probe(orders, clock=UNBOUNDED)
    assert probe.ends(2) == {("heard a", "fired x"), ("fired x", "heard a")}


@pytest.mark.parametrize("firings", [0, 1, 3])
def test_without_bounds_periodic_timers_fire_as_often_as_the_bound_says(firings: int) -> None:
    probe = Probe(BEAT, nodes=1, clock=UNBOUNDED, periodic=("beat",), firings=firings)
    assert probe.diaries(1) == {(FIRED,) * n for n in range(firings + 1)}
    verdict = probe.check()
    assert verdict.cuts == {"firings": 1}
    sentence = verdict.sentence("diary", probe.machine, probe.model)
    assert f"up to firings {firings} (cut 1 time)" in sentence


def test_other_timers_are_not_counted() -> None:
    orders = {"1 boot": "set x 1; set beat 2", "1 fired x": "set y 1"}
    probe = Probe(orders, nodes=1, clock=UNBOUNDED, periodic=("beat",), firings=1)
    assert probe.check().cuts == {}
    assert max(map(len, probe.diaries(1))) == 3


def test_each_node_has_its_own_bound_on_firings_in_each_life() -> None:
    orders = {"any boot": "set beat 1", "any fired beat": "set beat 1", "any again": "set beat 1"}
    probe = Probe(orders, clock=UNBOUNDED, periodic=("beat",), firings=1, crashes=1, recoveries=1)
    both = {(probe.diary(row, 1), probe.diary(row, 2)) for row in probe.rows}
    assert ((FIRED,), (FIRED,)) in both
    assert (("again", FIRED), (FIRED,)) in both


def test_with_bounds_periodic_timers_fire_for_ever() -> None:
    orders = {**BEAT, "1 fired beat": "quietly; set beat 2"}
    probe = Probe(orders, nodes=1, periodic=("beat",), firings=0)
    assert probe.moments("fire", 1, horizon=6) == {2, 4, 6}
    assert probe.check().cuts == {}


class Counting(Diary):
    growing = ("count",)


@pytest.mark.parametrize("clock", list(Clock))
def test_a_number_that_is_declared_to_grow_is_cut_at_its_bound(clock: Clock) -> None:
    orders = {"1 boot": "follow 1; set x 1", "1 fired x": "quietly; count; set x 1"}
    setting = Setting("counting", (1,), clock=clock, start=Start.BOOT)
    machine = Counting(setting.members(), setting.timing, orders)
    model = Model(setting, bounds=Bounds(counter=3))
    verdict = check(machine, model, [CLAIMS["S2"]])
    # Counts 0 to 3, with the timer at 1 and at 0 where there is time.
    assert verdict.states == (4 if clock is Clock.UNBOUNDED else 8)
    assert verdict.cuts == {"counter": 1}
    assert verdict.claims == {"S2": Result.WITHIN_BOUNDS}
    assert "up to counter 3 (cut 1 time)" in verdict.sentence("counting", machine, model)


COUNTS = {"1 fired x": "quietly; count; set x 1"}


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("counter", [3, 6])
def test_a_goal_that_was_not_reached_when_a_number_passed_its_bound_is_open(
    counter: int, engine: str
) -> None:
    """Fails if a loop in which a number grows is taken for a run that ends well."""
    setting = Setting("counting", (1,), start=Start.BOOT)
    orders = {"1 boot": "follow 1; set x 1", **COUNTS}
    machine = Counting(setting.members(), setting.timing, orders)
    model = Model(setting, bounds=Bounds(counter=counter))
    verdict = check(machine, model, [everybody_follows(2)], engine=engine)
    assert (verdict.liveness, verdict.tau) == (Liveness.UNDECIDED, counter + 1)
    assert verdict.result is Result.UNKNOWN
    assert verdict.reason == (
        f"some runs go beyond counter {counter}, and whether they reach follow-2 was not seen: "
        "raise --counter"
    )


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_goal_that_was_reached_before_is_open_too(engine: str) -> None:
    """Fails if a goal that is reached before a bound is taken for one that is never lost again."""
    setting = Setting("counting", (1,), start=Start.BOOT)
    orders = {"1 boot": "follow 1; set x 1", **COUNTS}
    machine = Counting(setting.members(), setting.timing, orders)
    model = Model(setting, bounds=Bounds(counter=3))
    verdict = check(machine, model, [everybody_follows(1)], engine=engine)
    assert (verdict.liveness, verdict.tau) == (Liveness.UNDECIDED, 0)
    assert verdict.result is Result.UNKNOWN
    assert verdict.cuts == {"counter": 2}


def test_to_tell_a_run_again_is_no_new_cut() -> None:
    orders = {
        "1 boot": "elect; set x 1 1; set y 1 1",
        "1 fired x": "send 2 a; send 2 b",
        "1 fired y": "follow 1; cancel x",
        "2 boot": "follow 1",
    }
    verdict = Probe(orders, capacity=1).check(everybody_follows(1))
    assert (verdict.liveness, verdict.tau) == (Liveness.UNDECIDED, 2)
    # At tick 1 and at tick 2, with faults and without.
    assert verdict.cuts == {"capacity": 4}


@pytest.mark.parametrize("kind", [Tenure, OverTenure])
def test_a_growing_number_may_lie_deep_in_the_state(kind: type[Machine[Any]]) -> None:
    setting = Setting("tenure", (1,), start=Start.BOOT)
    machine = kind(setting.members(), setting.timing)
    for counter, cut in ((2, True), (3, False)):
        model = Model(setting, Budget(crashes=2, recoveries=2), Bounds(counter=counter))
        verdict = check(machine, model, [CLAIMS["S2"]])
        assert ("counter" in verdict.cuts) is cut
