"""One machine at one node: the rules of the driver's contract that need no network."""

import pytest

from electorate.core import Asked, ProtocolError, Received, Standing, Status
from tests.runtime.port import EVERYBODY, PuppetPort
from tests.runtime.puppet import Do, Promise, Say


def test_what_changed_is_saved_before_the_first_message_leaves() -> None:
    port = PuppetPort().boot(Promise())
    port.do("send 2 first", "promise 5", "send 3 second")
    assert port.acts == ["took Asked", "save 5", "send 2 first", "send 3 second"]


def test_what_did_not_change_is_not_saved() -> None:
    port = PuppetPort().boot(Promise(5))
    port.do("promise 5", "send 2 again")
    assert port.acts == ["took Asked", "send 2 again"]


def test_a_first_start_is_saved_even_if_there_is_nothing_to_keep() -> None:
    port = PuppetPort()
    port.instance.boot(None, EVERYBODY)
    assert port.acts == ["booted", "save 0", "took Viewed"]
    port = PuppetPort()
    port.instance.boot(Promise(), EVERYBODY)
    assert port.acts == ["booted", "took Viewed"]


def test_when_saving_fails_nothing_of_that_turn_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    port = PuppetPort().boot(Promise())
    before = port.instance.state

    def fail(name: str, record: bytes) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(port, "keep", fail)
    with pytest.raises(OSError, match="disk full"):
        port.do("promise 6", "send 2 promised", "set nap 5")
    assert port.acts == ["took Asked"]
    assert port.instance.state is before
    assert port.instance.next_deadline_ms is None


def test_a_timer_is_never_early_and_fires_once() -> None:
    port = PuppetPort().boot()
    port.do("set nap 50")
    port.wake_at(1049.999)
    assert "nap ran out" not in port.lived
    port.wake_at(1050.0)
    port.wake_at(1060.0)
    assert port.lived.count("nap ran out") == 1
    assert port.instance.next_deadline_ms is None


def test_timers_count_from_when_the_event_was_taken_up_and_not_from_the_end_of_the_save() -> None:
    port = PuppetPort().boot(Promise())
    port.save_takes_ms = 30.0
    port.do("promise 1", "set nap 50")
    assert port.instance.next_deadline_ms == 1050.0


def test_a_timer_that_is_set_again_forgets_its_earlier_setting() -> None:
    port = PuppetPort().boot()
    port.do("set nap 50")
    port.now = 1040.0
    port.do("set nap 50")
    port.wake_at(1060.0)
    assert "nap ran out" not in port.lived
    port.wake_at(1090.0)
    assert port.lived.count("nap ran out") == 1


def test_a_cancelled_timer_never_fires() -> None:
    port = PuppetPort().boot()
    port.do("set nap 50", "cancel nap", "cancel doze")
    port.wake_at(2000.0)
    assert port.lived == ["asked"]


def test_within_one_turn_the_last_order_to_a_timer_counts() -> None:
    port = PuppetPort().boot()
    port.do("cancel nap", "set nap 50", "set nap 20")
    assert port.instance.next_deadline_ms == 1020.0


def test_a_timer_that_another_timer_sets_again_waits_for_its_new_deadline() -> None:
    port = PuppetPort().boot()
    port.do("set nap 10", "set doze 10")
    port.now = 1020.0
    port.instance.wake()
    assert port.lived[-2:] == ["nap ran out", "doze ran out"]
    port.do("send 1 set nap 0")
    assert port.lived[-1] == "told myself set nap 0"
    assert port.instance.next_deadline_ms == 1020.0


def test_timers_that_ran_out_fire_in_the_order_of_their_deadlines() -> None:
    port = PuppetPort().boot()
    port.do("set nap 30", "set doze 20", "set lease 10")
    port.wake_at(1100.0)
    assert port.lived[1:] == ["lease ran out", "doze ran out", "nap ran out"]


def test_jitter_is_added_up_to_its_measure_and_never_taken_away() -> None:
    port = PuppetPort().boot()
    port.do("set nap 50 20", "set doze 50")
    assert port.jitters == [20]
    port.wake_at(1069.0)
    assert port.lived[1:] == ["doze ran out"]
    port.wake_at(1070.0)
    assert port.lived[-1] == "nap ran out"


def test_an_office_that_has_run_out_ends_before_a_message_is_taken() -> None:
    port = PuppetPort().boot()
    port.do("set lease 50", "lead lease")
    port.now = 1050.0
    port.instance.take(Received(2, Say("late")))
    assert port.lived[-2:] == ["lease ran out", "2 said late"]


def test_an_office_ends_before_timers_that_ran_out_earlier() -> None:
    port = PuppetPort().boot()
    port.do("set nap 10", "set lease 50", "lead lease")
    port.wake_at(1100.0)
    assert port.lived[-2:] == ["lease ran out", "nap ran out"]


def test_what_a_turn_said_to_its_node_belongs_to_it_even_if_the_office_ran_out_meanwhile() -> None:
    port = PuppetPort().boot(Promise())
    port.save_takes_ms = 60.0
    port.do("promise 1", "set lease 50", "lead lease", "send 1 go on")
    assert port.lived == ["asked", "told myself go on", "lease ran out"]


def test_an_office_whose_timer_ran_out_is_not_shown_even_before_it_fires() -> None:
    port = PuppetPort().boot()
    port.do("set lease 50", "lead lease")
    assert port.instance.standing == Standing(Status.NORMAL, 1, until="lease")
    port.now = 1050.0
    assert port.instance.standing == Standing(Status.ELECTION)


def test_an_office_without_a_timer_is_not_shown() -> None:
    port = PuppetPort().boot()
    port.do("lead lease")
    assert port.instance.standing == Standing(Status.ELECTION)


def test_what_a_node_says_to_itself_is_heard_after_the_turn_and_before_anything_else() -> None:
    port = PuppetPort().boot()
    port.do("send 1 send 1 deeper", "send 2 hello", "send 1 aside")
    heard = ["told myself send 1 deeper", "told myself aside", "told myself deeper"]
    assert port.lived == ["asked", *heard]
    assert port.acts[:2] == ["took Asked", "send 2 hello"]


def test_the_first_event_of_a_life_is_what_the_node_sees() -> None:
    port = PuppetPort().boot()
    state = port.instance.state
    assert getattr(state, "lived", None) == ("saw [1, 2, 3]",)


def test_a_life_that_ended_leaves_no_timers_and_no_memory() -> None:
    port = PuppetPort().boot()
    port.do("set nap 50")
    port.instance.halt()
    assert port.instance.standing is None
    assert port.instance.next_deadline_ms is None
    port.wake_at(2000.0)
    port.instance.take(Received(2, Say("hello")))
    assert port.instance.state is None
    port.instance.boot(Promise(3), EVERYBODY)
    port.wake_at(3000.0)
    assert port.lived == []


def test_a_node_that_never_stops_talking_to_itself_is_an_error_of_the_protocol() -> None:
    port = PuppetPort().boot()
    orders = ", ".join(["send 1 x"] * 2)
    with pytest.raises(ProtocolError, match="never stops talking to itself"):
        port.do(*[f"send 1 {orders}"] * 1001)


def test_a_handler_that_raises_leaves_the_state_as_it_was() -> None:
    port = PuppetPort().boot()
    before = port.instance.state
    with pytest.raises(ProtocolError, match="KeyError: 'fail'"):
        port.instance.take(Asked(Do(("promise 9", "fail"))))
    assert port.instance.state is before
    assert port.acts == []
