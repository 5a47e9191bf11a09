"""Where runs begin: at the first boots, or wherever a fault-free run goes round."""

import pytest

from electorate.check import Liveness, Result
from electorate.check.explain import trace_of
from electorate.check.model import Normal
from electorate.check.start import StartError
from electorate.trace import Clock, Delivered, Fired, Phased, Requested, Start, Ticked, script_of
from tests.check.claim import everybody_follows, nobody_follows
from tests.check.probe import Probe

NORMAL = Start.NORMAL
BEAT = {
    "1 boot": "follow 1; set beat 3",
    "1 fired beat": "quietly; send 2 a; set beat 3",
    "2 heard a": "quietly; follow 1",
}


def lefts(probe: Probe, node: int) -> list[dict[str, int]]:
    """The timers of the node in the rows that the search began with."""
    first = [
        row for row, depth in zip(probe.rows, probe.search.engine.depths, strict=True) if not depth
    ]
    return [{t.timer: t.latest for t in probe.node(row, node).timers} for row in first]


def test_a_machine_at_rest_begins_at_rest() -> None:
    orders = {"1 boot": "send 2 a; set x 3", "2 heard a": "follow 1"}
    probe = Probe(orders, T=2, start=NORMAL)
    assert len(probe.rows) == 1
    assert probe.diaries(1) == {("fired x",)}
    assert probe.diaries(2) == {("heard a",)}


def test_the_first_fault_free_run_has_every_delay_at_its_longest_and_messages_first() -> None:
    orders = {"1 boot": "send 2 a", "2 boot": "set x 1; set y 2"}
    assert Probe(orders, start=NORMAL).diaries(2) == {("heard a", "fired x", "fired y")}
    probe = Probe(orders, T=2, start=NORMAL)
    assert probe.diary(probe.rows[0], 2) == ("fired x", "heard a", "fired y")
    # The other end is that of a message which comes as soon as the timer.
    assert probe.diaries(2) == {
        ("fired x", "heard a", "fired y"),
        ("heard a", "fired x", "fired y"),
    }


def test_from_boot_a_search_begins_with_the_first_words_on_their_way() -> None:
    probe = Probe({"1 boot": "send 2 a"}, start=Start.BOOT)
    first = probe.rows[0]
    assert probe.space.channels.cards[first[probe.columns.of_channel[0, 1]]].value[0].age == 0
    assert probe.diary(first, 2) == ()


def test_a_periodic_timer_begins_at_every_phase() -> None:
    orders = {"1 boot": "set beat 3", "1 fired beat": "quietly; set beat 3"}
    probe = Probe(orders, nodes=1, periodic=("beat",), start=NORMAL)
    assert sorted(left["beat"] for left in lefts(probe, 1)) == [1, 2, 3]


def test_two_periodic_timers_begin_at_every_pair_of_phases() -> None:
    orders = {
        "1 boot": "set beat 3",
        "2 boot": "set beat 2",
        "1 fired beat": "quietly; set beat 3",
        "2 fired beat": "quietly; set beat 2",
    }
    probe = Probe(orders, periodic=("beat",), start=NORMAL)
    pairs = zip(lefts(probe, 1), lefts(probe, 2), strict=True)
    found = sorted((one["beat"], other["beat"]) for one, other in pairs)
    assert found == [(one, other) for one in (1, 2, 3) for other in (1, 2)]


def test_a_timer_that_is_not_periodic_begins_where_the_run_has_it() -> None:
    probe = Probe(BEAT, start=NORMAL)
    assert {left["beat"] for left in lefts(probe, 1)} == {0, 1, 2, 3}
    first = [
        row for row, depth in zip(probe.rows, probe.search.engine.depths, strict=True) if not depth
    ]
    # Three ticks, the timer and the message: the run goes round in five moves.
    assert len(first) == 5


@pytest.mark.parametrize("periodic", ["beat", "other"])
@pytest.mark.parametrize("clock", list(Clock))
def test_a_run_from_anywhere_in_the_loop_tells_how_to_get_there(
    periodic: str, clock: Clock
) -> None:
    orders = {**BEAT, "2 asked w": "follow 2; set other 1"}
    probe = Probe(
        orders, T=2, periodic=(periodic,), start=NORMAL, clock=clock, asks=1, wishes=("w",)
    )
    kinds = set()
    for place, depth in enumerate(probe.search.engine.depths):
        if depth <= 1:
            trace = trace_of(probe.search.moves, probe.search.path(place))
            kinds |= {type(step.happening) for step in trace.steps}
            assert probe.retold(script_of(trace)) == script_of(trace)
    assert kinds >= {Fired, Requested}
    assert (Phased in kinds) is (periodic == "beat")
    # Without time the loop is back at its beginning once the message was handed over.
    assert (Delivered in kinds) is (periodic == "other" and clock is not Clock.UNBOUNDED)


def test_a_machine_that_misses_the_goal_without_faults_is_judged_where_it_ends() -> None:
    orders = {"1 boot": "elect; set x 1; set y 2", "1 fired x": "follow 1", "1 fired y": "follow 2"}
    probe = Probe({**orders, "2 boot": "follow 2"}, start=NORMAL)
    verdict = probe.check(everybody_follows(1))
    assert (verdict.result, verdict.liveness) == (Result.VIOLATED, Liveness.STUCK)
    assert verdict.normal == Normal(ends=1, missing=1, missed=("follow-1",))
    (violation,) = verdict.violations
    # The simulator does not begin there by itself: it is told all.
    assert violation.trace.setting.start is Start.BOOT
    fired = [s.happening.timer for s in violation.trace.steps if isinstance(s.happening, Fired)]
    assert fired == ["x", "y"]
    assert probe.retold(script_of(violation.trace)) == script_of(violation.trace)
    assert probe.check(everybody_follows(2)).normal == Normal(ends=1)


def test_a_loop_that_misses_the_goal_anywhere_is_said_to_miss_it() -> None:
    orders = {
        "1 boot": "follow 1; set x 1",
        "1 fired x": "quietly; follow 2; set y 1",
        "1 fired y": "quietly; follow 1; set x 1",
        "2 boot": "follow 1",
    }
    probe = Probe(orders, start=NORMAL)
    verdict = probe.check(everybody_follows(1))
    assert verdict.result is Result.VIOLATED
    assert verdict.normal == Normal(ends=1, missing=1, missed=("follow-1",))
    (violation,) = verdict.violations
    # The loop begins at the first boots: it is told once round, so that it is told at all.
    assert violation.trace.setting.start is Start.BOOT
    assert probe.retold(script_of(violation.trace)) == script_of(violation.trace)


def test_only_goals_can_be_missed_at_the_start() -> None:
    probe = Probe({"1 boot": "follow 1"}, start=NORMAL)
    assert probe.check(nobody_follows(1)).result is Result.VIOLATED


def test_a_start_that_a_bound_cuts_is_refused_with_the_bound() -> None:
    many = "; ".join(["send 1 b"] * 9)
    orders = {"1 boot": "send 2 a", "2 heard a": many}
    with pytest.raises(StartError, match="cut by a bound: capacity 8") as refusal:
        Probe(orders, start=NORMAL, capacity=1)
    assert [type(step.happening) for step in refusal.value.trace.steps] == [Ticked]
    with pytest.raises(StartError, match="cut by a bound: capacity 1"):
        Probe({"1 boot": "send 2 a; send 2 b"}, capacity=1)


def test_where_a_bound_cuts_some_fault_free_runs_a_search_begins_where_others_end() -> None:
    """However narrow the search is, the way to where it begins has room for eight messages."""
    many = "; ".join(["send 2 a"] * 9)
    orders = {"1 boot": "set x 1; set y 1", "1 fired x": many}
    probe = Probe({**orders, "1 fired y": "cancel x"}, start=NORMAL, capacity=1)
    assert probe.diaries(1) == {("fired y",)}
    assert probe.check(nobody_follows(1)).cuts == {"capacity": 1}
    trace = probe.expect_retold(probe.rows[0])
    assert trace.setting.start is Start.BOOT


def test_without_bounds_no_office_runs_out_on_the_way_to_a_beginning() -> None:
    orders = {
        "1 boot": "set beat 2",
        "1 fired beat": "quietly; send 2 a; set beat 2",
        "2 boot": "follow 2 until x; set x 2",
        "2 fired x": "quietly; follow 2 until x; set x 2",
        "2 heard a": "quietly",
    }
    probe = Probe(orders, start=NORMAL, clock=Clock.UNBOUNDED, periodic=("beat",), firings=1)
    for row in probe.rows:
        probe.expect_retold(row)


def test_without_bounds_a_search_from_normal_begins_where_the_bounded_run_ends() -> None:
    orders = {"1 boot": "send 2 a; set x 3", "2 boot": "set y 2"}
    probe = Probe(orders, start=NORMAL, clock=Clock.UNBOUNDED)
    assert len(probe.rows) == 1
    assert probe.diaries(2) == {("heard a", "fired y")}
    beat = Probe(BEAT, start=NORMAL, clock=Clock.UNBOUNDED, periodic=("beat",), firings=1)
    first = [
        row for row, depth in zip(beat.rows, beat.search.engine.depths, strict=True) if not depth
    ]
    # Without time all phases are one; the message is on its way or not.
    assert len(first) == 2
    assert {t.timer for t in beat.node(first[0], 1).timers} == {"beat"}
