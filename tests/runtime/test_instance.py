"""One machine at one node: the rules of the driver's contract that need no network."""

import pytest

from electorate.core import Asked, ProtocolError, Received, Standing, Status
from tests.runtime.desk import EVERYBODY, Desk
from tests.runtime.puppet import Do, Promise, Say


def test_what_changed_is_saved_before_the_first_message_leaves() -> None:
    desk = Desk().boot(Promise())
    desk.do("send 2 first", "promise 5", "send 3 second")
    assert desk.acts == ["took Asked", "save 5", "send 2 first", "send 3 second"]


def test_what_did_not_change_is_not_saved() -> None:
    desk = Desk().boot(Promise(5))
    desk.do("promise 5", "send 2 again")
    assert desk.acts == ["took Asked", "send 2 again"]


def test_a_first_start_is_saved_even_if_there_is_nothing_to_keep() -> None:
    desk = Desk()
    desk.instance.boot(None, EVERYBODY)
    assert desk.acts == ["booted", "save 0", "took Viewed"]
    desk = Desk()
    desk.instance.boot(Promise(), EVERYBODY)
    assert desk.acts == ["booted", "took Viewed"]


def test_when_saving_fails_nothing_of_that_turn_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk().boot(Promise())
    before = desk.instance.state

    def fail(name: str, record: bytes) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(desk, "keep", fail)
    with pytest.raises(OSError, match="disk full"):
        desk.do("promise 6", "send 2 promised", "set nap 5")
    assert desk.acts == ["took Asked"]
    assert desk.instance.state is before
    assert desk.instance.next_deadline_ms is None


def test_a_timer_is_never_early_and_fires_once() -> None:
    desk = Desk().boot()
    desk.do("set nap 50")
    desk.wake_at(1049.999)
    assert "nap ran out" not in desk.lived
    desk.wake_at(1050.0)
    desk.wake_at(1060.0)
    assert desk.lived.count("nap ran out") == 1
    assert desk.instance.next_deadline_ms is None


def test_timers_count_from_when_the_event_was_taken_up_and_not_from_the_end_of_the_save() -> None:
    desk = Desk().boot(Promise())
    desk.save_takes_ms = 30.0
    desk.do("promise 1", "set nap 50")
    assert desk.instance.next_deadline_ms == 1050.0


def test_a_timer_that_is_set_again_forgets_its_earlier_setting() -> None:
    desk = Desk().boot()
    desk.do("set nap 50")
    desk.now = 1040.0
    desk.do("set nap 50")
    desk.wake_at(1060.0)
    assert "nap ran out" not in desk.lived
    desk.wake_at(1090.0)
    assert desk.lived.count("nap ran out") == 1


def test_a_cancelled_timer_never_fires() -> None:
    desk = Desk().boot()
    desk.do("set nap 50", "cancel nap", "cancel doze")
    desk.wake_at(2000.0)
    assert desk.lived == ["asked"]


def test_within_one_turn_the_last_order_to_a_timer_counts() -> None:
    desk = Desk().boot()
    desk.do("cancel nap", "set nap 50", "set nap 20")
    assert desk.instance.next_deadline_ms == 1020.0


def test_a_timer_that_another_timer_sets_again_waits_for_its_new_deadline() -> None:
    desk = Desk().boot()
    desk.do("set nap 10", "set doze 10")
    desk.now = 1020.0
    desk.instance.wake()
    assert desk.lived[-2:] == ["nap ran out", "doze ran out"]
    desk.do("send 1 set nap 0")
    assert desk.lived[-1] == "told myself set nap 0"
    assert desk.instance.next_deadline_ms == 1020.0


def test_timers_that_ran_out_fire_in_the_order_of_their_deadlines() -> None:
    desk = Desk().boot()
    desk.do("set nap 30", "set doze 20", "set lease 10")
    desk.wake_at(1100.0)
    assert desk.lived[1:] == ["lease ran out", "doze ran out", "nap ran out"]


def test_jitter_is_added_up_to_its_measure_and_never_taken_away() -> None:
    desk = Desk().boot()
    desk.do("set nap 50 20", "set doze 50")
    assert desk.jitters == [20]
    desk.wake_at(1069.0)
    assert desk.lived[1:] == ["doze ran out"]
    desk.wake_at(1070.0)
    assert desk.lived[-1] == "nap ran out"


def test_an_office_that_has_run_out_ends_before_a_message_is_taken() -> None:
    desk = Desk().boot()
    desk.do("set lease 50", "lead lease")
    desk.now = 1050.0
    desk.instance.take(Received(2, Say("late")))
    assert desk.lived[-2:] == ["lease ran out", "2 said late"]


def test_an_office_ends_before_timers_that_ran_out_earlier() -> None:
    desk = Desk().boot()
    desk.do("set nap 10", "set lease 50", "lead lease")
    desk.wake_at(1100.0)
    assert desk.lived[-2:] == ["lease ran out", "nap ran out"]


def test_what_a_turn_said_to_its_node_belongs_to_it_even_if_the_office_ran_out_meanwhile() -> None:
    desk = Desk().boot(Promise())
    desk.save_takes_ms = 60.0
    desk.do("promise 1", "set lease 50", "lead lease", "send 1 go on")
    assert desk.lived == ["asked", "told myself go on", "lease ran out"]


def test_an_office_whose_timer_ran_out_is_not_shown_even_before_it_fires() -> None:
    desk = Desk().boot()
    desk.do("set lease 50", "lead lease")
    assert desk.instance.standing == Standing(Status.NORMAL, 1, until="lease")
    desk.now = 1050.0
    assert desk.instance.standing == Standing(Status.ELECTION)


def test_an_office_without_a_timer_is_not_shown() -> None:
    desk = Desk().boot()
    desk.do("lead lease")
    assert desk.instance.standing == Standing(Status.ELECTION)


def test_what_a_node_says_to_itself_is_heard_after_the_turn_and_before_anything_else() -> None:
    desk = Desk().boot()
    desk.do("send 1 send 1 deeper", "send 2 hello", "send 1 aside")
    heard = ["told myself send 1 deeper", "told myself aside", "told myself deeper"]
    assert desk.lived == ["asked", *heard]
    assert desk.acts[:2] == ["took Asked", "send 2 hello"]


def test_the_first_event_of_a_life_is_what_the_node_sees() -> None:
    desk = Desk().boot()
    state = desk.instance.state
    assert getattr(state, "lived", None) == ("saw [1, 2, 3]",)


def test_a_life_that_ended_leaves_no_timers_and_no_memory() -> None:
    desk = Desk().boot()
    desk.do("set nap 50")
    desk.instance.halt()
    assert desk.instance.standing is None
    assert desk.instance.next_deadline_ms is None
    desk.wake_at(2000.0)
    desk.instance.take(Received(2, Say("hello")))
    assert desk.instance.state is None
    desk.instance.boot(Promise(3), EVERYBODY)
    desk.wake_at(3000.0)
    assert desk.lived == []


def test_a_node_that_never_stops_talking_to_itself_is_an_error_of_the_protocol() -> None:
    desk = Desk().boot()
    orders = ", ".join(["send 1 x"] * 2)
    with pytest.raises(ProtocolError, match="never stops talking to itself"):
        desk.do(*[f"send 1 {orders}"] * 1001)


def test_a_handler_that_raises_leaves_the_state_as_it_was() -> None:
    desk = Desk().boot()
    before = desk.instance.state
    with pytest.raises(ProtocolError, match="KeyError: 'fail'"):
        desk.instance.take(Asked(Do(("promise 9", "fail"))))
    assert desk.instance.state is before
    assert desk.acts == []
