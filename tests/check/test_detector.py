"""Failure detectors: what a node is told about the others, when, and how wrong that may be."""

import pytest

from electorate.check import Detector, Liveness
from electorate.check.column import ModelError, Row
from electorate.trace import Clock
from tests.check.claim import everybody_follows
from tests.check.probe import Probe

ALL, BOTH = "saw 1 2 3", "saw 1 2"


def after(probe: Probe, kind: str, node: int, row: Row | None = None) -> Row:
    """The row after this move, made at once and as a whole."""
    moves = probe.successors(probe.rows[0] if row is None else row)
    found = (r for m, r in moves if (m.kind, m.where, m.torn) == (kind, node - 1, None))
    return next(found)


def test_a_machine_that_uses_views_begins_with_everybody_in_view() -> None:
    probe = Probe({}, nodes=3, views=True)
    assert {probe.diary(probe.rows[0], node) for node in (1, 2, 3)} == {(ALL,)}


def test_a_node_that_comes_back_trusts_everybody_at_first() -> None:
    probe = Probe({}, nodes=3, views=True, crashes=2, recoveries=1)
    row = after(probe, "crash", 2, after(probe, "crash", 1))
    row = after(probe, "recover", 1, row)
    assert probe.diary(row, 1) == ("again", ALL)
    assert probe.moments("view", 1, row) == {0, 1, 2}


def test_a_view_comes_before_what_a_node_tells_itself_at_its_boot() -> None:
    probe = Probe({"1 boot": "send 1 m"}, views=True)
    assert probe.diary(probe.rows[0], 1) == (BOTH, "heard m")


def test_a_machine_that_uses_no_views_is_told_nothing() -> None:
    probe = Probe({}, nodes=3, crashes=1, recoveries=1, lies=1, detector=Detector.UNRELIABLE)
    assert probe.kinds() == {"crash", "recover", "tick"}
    assert all("saw" not in entry for diary in probe.diaries(1) for entry in diary)
    slow = Probe({}, nodes=3, crashes=1, recoveries=1, lies=1, detection=7)
    assert len(slow.rows) == len(probe.rows)


@pytest.mark.parametrize(("given", "within"), [(None, 2), (0, 0), (1, 1), (3, 3)])
def test_a_crash_is_seen_within_the_detection_bound_and_not_later(
    given: int | None, within: int
) -> None:
    probe = Probe({}, views=True, crashes=1, detection=given)
    down = after(probe, "crash", 1)
    assert probe.moments("view", 2, down) == set(range(within + 1))


def test_the_usual_detection_bound_is_two_T() -> None:
    assert Probe({}, T=2, views=True).model.detection_ticks == 4


def test_wrong_opinions_are_corrected_in_any_set() -> None:
    probe = Probe({}, nodes=3, views=True, crashes=2)
    row = after(probe, "crash", 2, after(probe, "crash", 1))
    ends = {probe.diary(t.after, 3) for t in probe.walk(row) if probe.is_end(t.after)}
    assert ends == {
        (ALL, "saw 3"),
        (ALL, "saw 2 3", "saw 3"),
        (ALL, "saw 1 3", "saw 3"),
    }


def test_a_crash_and_a_restart_within_the_bound_may_go_unseen() -> None:
    probe = Probe({}, views=True, crashes=1, recoveries=1)
    back = after(probe, "recover", 1, after(probe, "crash", 1))
    ends = {probe.diary(t.after, 2) for t in probe.walk(back)}
    assert ends == {(BOTH,)}


def test_a_detector_that_notices_restarts_shows_the_absence_first() -> None:
    probe = Probe({}, views=True, crashes=1, recoveries=1, notices_restarts=True)
    back = after(probe, "recover", 1, after(probe, "crash", 1))
    assert probe.moments("view", 2, back, horizon=9) == {0, 1, 2, 3, 4}
    ends = {probe.diary(t.after, 2) for t in probe.walk(back) if probe.is_end(t.after)}
    assert ends == {(BOTH, "saw 2", BOTH)}


@pytest.mark.parametrize("notices", [False, True])
@pytest.mark.parametrize("clock", list(Clock))
def test_in_the_end_every_view_is_right_whatever_crashed_came_back_or_was_lied_about(
    notices: bool, clock: Clock
) -> None:
    orders = {"any saw 1 2": "quietly", "any saw 1": "quietly", "any saw 2": "quietly"}
    probe = Probe(
        {**orders, "any again": "quietly"},
        views=True,
        crashes=3,
        recoveries=2,
        lies=1,
        detection=1,
        notices_restarts=notices,
        clock=clock,
    )
    ends = [row for row in probe.rows if probe.is_end(row)]
    for row in ends:
        up = frozenset(node for node in (1, 2) if probe.node(row, node).state is not None)
        for node in up:
            watch = probe.space.detectors.pool.cards[row[probe.columns.watch_column + node - 1]]
            assert watch.alive == up
    assert {sum(probe.node(row, node).state is None for node in (1, 2)) for row in ends} == {
        0,
        1,
        2,
    }


def test_a_second_crash_before_the_first_was_missed_stays_known_once_it_is_seen() -> None:
    probe = Probe({}, views=True, crashes=2, recoveries=1, notices_restarts=True)
    back = after(probe, "recover", 1, after(probe, "crash", 1))
    down = after(probe, "crash", 1, back)
    ends = {probe.diary(t.after, 2) for t in probe.walk(down) if probe.is_end(t.after)}
    assert ends == {(BOTH, "saw 2")}
    assert probe.moments("view", 2, down) == {0, 1, 2}


@pytest.mark.parametrize("lies", [0, 1, 2])
def test_detectors_lie_as_often_as_the_budget_allows(lies: int) -> None:
    orders = {"any saw 1 2": "quietly", "any saw 1": "quietly", "any saw 2": "quietly"}
    probe = Probe(orders, views=True, lies=lies, detection=1)
    assert probe.most(lambda taken: taken.move.kind == "lie") == lies


def test_a_lie_is_about_one_other_node_and_corrected_within_the_bound() -> None:
    probe = Probe({}, nodes=3, views=True, lies=1)
    told = {taken.move.what for taken in probe.walk() if taken.move.kind == "lie"}
    assert told == {frozenset(pair) for pair in ([1, 2], [2, 3], [1, 3])}
    lied = after(probe, "lie", 1)
    assert probe.moments("view", 1, lied) == {0, 1, 2}
    assert {probe.diary(t.after, 1) for t in probe.walk(lied) if probe.is_end(t.after)} == {
        (ALL, "saw 1 3", ALL)
    }


def test_a_lie_may_also_trust_a_node_that_is_down() -> None:
    probe = Probe({}, views=True, crashes=1, lies=1)
    row = after(probe, "view", 2, after(probe, "crash", 1))
    lied = after(probe, "lie", 2, row)
    assert probe.diary(lied, 2) == (BOTH, "saw 2", BOTH)
    assert probe.moments("view", 2, lied) == {0, 1, 2}


def test_a_lie_that_comes_true_needs_no_correction() -> None:
    probe = Probe({}, views=True, crashes=1, lies=1)
    row = after(probe, "crash", 1, after(probe, "lie", 2))
    assert probe.moments("view", 2, row) == set()


GIDDY = {
    "1 saw 1 2": "quietly; follow 1",
    "1 saw 1": "quietly; elect",
    "2 boot": "follow 1",
    "any saw 2": "quietly",
    "any saw 1 2": "quietly",
}


def test_lies_end_with_the_faults_unless_the_detector_is_unreliable() -> None:
    goal = everybody_follows(1)
    finite = Probe(GIDDY, views=True, lies=2).check(goal)
    assert (finite.liveness, finite.tau) == (Liveness.LIVE, 2)
    endless = Probe(GIDDY, views=True, detector=Detector.UNRELIABLE).check(goal)
    # Lies and corrections take turns for ever, and no way leads out of that.
    assert (endless.liveness, endless.tau) == (Liveness.STUCK, None)


def test_an_unreliable_detector_lies_without_a_budget() -> None:
    probe = Probe(GIDDY, views=True, detector=Detector.UNRELIABLE)
    budget = Probe(GIDDY, views=True, detector=Detector.UNRELIABLE, lies=1)
    assert len(probe.rows) == len(budget.rows)
    assert {row[-1] for row in probe.rows} == {probe.rows[0][-1]}


def test_a_paused_node_learns_after_its_pause_what_happened_meanwhile() -> None:
    orders = {"any again": "quietly"}
    probe = Probe(orders, views=True, crashes=1, recoveries=1, pauses=1, notices_restarts=True)
    row = after(probe, "crash", 1, after(probe, "pause", 2))
    for _ in range(5):
        row = next(r for m, r in probe.successors(row) if m.kind == "tick")
    row = after(probe, "recover", 1, row)
    resumed = after(probe, "resume", 2, row)
    assert probe.moments("view", 2, resumed) == {0, 1, 2}
    ends = {probe.diary(t.after, 2) for t in probe.walk(resumed) if probe.is_end(t.after)}
    assert ends == {(BOTH, "saw 2", BOTH)}


def test_without_bounds_a_correction_takes_any_time_and_comes_at_last() -> None:
    probe = Probe({"2 boot": "set x 1"}, views=True, crashes=1, clock=Clock.UNBOUNDED)
    down = after(probe, "crash", 1)
    ends = {probe.diary(t.after, 2) for t in probe.walk(down) if probe.is_end(t.after)}
    assert ends == {(BOTH, "saw 2", "fired x"), (BOTH, "fired x", "saw 2")}


@pytest.mark.parametrize("clock", [Clock.BOUNDED, Clock.CLOCKS])
def test_an_incomplete_detector_notices_a_crash_at_any_time_or_never(clock: Clock) -> None:
    probe = Probe({}, views=True, crashes=1, detector=Detector.INCOMPLETE, clock=clock)
    down = after(probe, "crash", 1)
    assert probe.moments("view", 2, down, horizon=9) == set(range(10))
    ends = {probe.diary(t.after, 2) for t in probe.walk(down)}
    assert ends == {(BOTH,), (BOTH, "saw 2")}


def test_an_incomplete_detector_corrects_a_wrong_suspicion_within_its_bound() -> None:
    probe = Probe({}, views=True, lies=1, detector=Detector.INCOMPLETE)
    lied = after(probe, "lie", 1)
    assert probe.moments("view", 1, lied, horizon=9) == {0, 1, 2}


def test_a_lie_of_an_incomplete_detector_that_trusts_the_dead_is_never_due() -> None:
    probe = Probe({}, views=True, crashes=1, lies=1, detector=Detector.INCOMPLETE)
    row = after(probe, "view", 2, after(probe, "crash", 1))
    assert probe.moments("view", 2, after(probe, "lie", 2, row), horizon=9) == set(range(10))


def test_what_an_incomplete_detector_overlooked_is_past_when_the_node_is_back() -> None:
    probe = Probe({}, views=True, crashes=1, recoveries=1, detector=Detector.INCOMPLETE)
    back = after(probe, "recover", 1, after(probe, "crash", 1))
    assert {probe.diary(t.after, 2) for t in probe.walk(back)} == {(BOTH,)}


def test_without_bounds_on_time_a_detector_cannot_be_incomplete() -> None:
    with pytest.raises(ModelError, match="needs --timing bounded or clocks"):
        Probe({}, views=True, crashes=1, detector=Detector.INCOMPLETE, clock=Clock.UNBOUNDED)
