"""The driver's contract, rule by rule, held against every driver by what a probe lived in it."""

import pytest

from tests.conformance.clock_rule import (
    a_paused_node_takes_nothing,
    a_timer_fires_once_per_setting,
    a_timer_is_never_early,
    an_office_that_has_run_out_ends_first,
    the_last_order_to_a_timer_counts,
    timers_count_from_when_the_event_was_taken_up,
)
from tests.conformance.driver import DRIVERS, SCENES, Driver, driver_called, expect
from tests.conformance.record_rule import a_record_can_be_run_again, a_record_leaves_nothing_out
from tests.conformance.rule import (
    a_crash_leaves_what_was_saved_and_nothing_else,
    a_torn_turn_sends_a_prefix_on_each_channel,
    channels_keep_their_order,
    durable_before_the_first_effect,
    effects_in_order,
    messages_are_genuine,
    nothing_of_an_old_connection_arrives,
    one_event_at_a_time,
    self_sends_are_handled_next,
    the_first_event_is_a_view,
)
from tests.conformance.story import Run

RERUNS = 60
"""So many of a driver's runs are taken again; a checker has thousands."""


@pytest.fixture(scope="module", params=DRIVERS)
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return driver_called(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def runs(driver: Driver) -> list[Run]:
    return [run for scene in SCENES for run in driver.runs(scene)]


# --- the eight rules ---


def test_a_node_takes_one_event_at_a_time_to_its_end(runs: list[Run]) -> None:
    expect(one_event_at_a_time, runs, 100)


def test_what_changed_is_durable_before_the_first_effect_of_its_turn(runs: list[Run]) -> None:
    expect(durable_before_the_first_effect, runs, 30)


def test_effects_are_carried_out_in_order(runs: list[Run]) -> None:
    expect(effects_in_order, runs, 10)
    expect(the_last_order_to_a_timer_counts, runs, 5)


def test_a_timer_fires_once_per_setting_and_never_early(runs: list[Run]) -> None:
    expect(a_timer_fires_once_per_setting, runs, 5)
    expect(a_timer_is_never_early, runs, 5)


def test_messages_are_neither_altered_nor_forged_and_arrive_in_order(runs: list[Run]) -> None:
    expect(messages_are_genuine, runs, 20)
    expect(channels_keep_their_order, runs, 20)


def test_after_a_reconnect_nothing_of_the_old_connection_is_delivered(runs: list[Run]) -> None:
    expect(nothing_of_an_old_connection_arrives, runs, 20)


def test_after_a_crash_a_node_has_what_it_saved_and_nothing_else(runs: list[Run]) -> None:
    expect(a_crash_leaves_what_was_saved_and_nothing_else, runs, 10)


def test_a_crash_may_fall_between_the_sends_of_one_turn(driver: Driver, runs: list[Run]) -> None:
    expect(a_torn_turn_sends_a_prefix_on_each_channel, runs, 5)
    speeches = {left for run in runs for left in run.torn if len(left) == 2}
    assert len(speeches) >= driver.tears, speeches


def test_a_record_taken_again_gives_the_same_states(runs: list[Run]) -> None:
    expect(a_record_can_be_run_again, runs[:: 1 + len(runs) // RERUNS])
    expect(a_record_leaves_nothing_out, runs)


# --- what follows from them ---


def test_the_first_event_after_a_boot_is_a_view(driver: Driver, runs: list[Run]) -> None:
    if the_first_event_is_a_view in driver.exempt:
        pytest.skip(driver.exempt[the_first_event_is_a_view])
    expect(the_first_event_is_a_view, runs, 10)


def test_words_to_oneself_are_handled_next_or_never(runs: list[Run]) -> None:
    expect(self_sends_are_handled_next, runs, 50)


def test_an_office_that_has_run_out_ends_before_anything_else(runs: list[Run]) -> None:
    expect(an_office_that_has_run_out_ends_first, runs, 3)
    expect(a_paused_node_takes_nothing, runs, 3)


def test_timers_count_from_when_the_event_of_their_turn_was_taken_up(runs: list[Run]) -> None:
    expect(timers_count_from_when_the_event_was_taken_up, runs)
