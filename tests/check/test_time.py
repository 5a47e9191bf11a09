"""Bounded time: when messages are handled, when timers fire, and what time waits for."""

from electorate.trace import Ties
from tests.check.probe import Probe

LETTER = {"1 boot": "send 2 a"}


def test_a_message_is_handled_at_any_tick_from_min_to_T_and_never_later() -> None:
    assert Probe(LETTER, T=2).moments("deliver", 2) == {0, 1, 2}
    assert Probe(LETTER, T=2, delay_min=1).moments("deliver", 2) == {1, 2}
    assert Probe(LETTER, T=2, delay_min=2).moments("deliver", 2) == {2}
    assert Probe(LETTER, T=1, P=2).moments("deliver", 2) == {0, 1, 2, 3}


def test_one_message_makes_as_many_states_as_it_has_ages_and_one_when_it_is_gone() -> None:
    early = Probe(LETTER, T=2)
    # Ages 0, 1, 2 and handled; three hand-overs, two ticks of waiting, and the tick at rest.
    assert (len(early.rows), early.search.transitions) == (4, 6)
    late = Probe(LETTER, T=2, delay_min=2)
    assert (len(late.rows), late.search.transitions) == (4, 4)


def test_two_messages_to_two_nodes_age_together_and_are_handled_apart() -> None:
    both = Probe({"1 boot": "send 2 a; send 3 b"}, nodes=3)
    # Ages 0 and 1, each with both, either or none of them on its way; none of age 1 is none of 0.
    assert len(both.rows) == 2 * 4 - 1
    # Hand-overs: 2 + 1 + 1 at each age. Ticks: from age 0 three, and the one at rest.
    assert both.search.transitions == 2 * 4 + 3 + 1


def test_a_timer_fires_exactly_when_its_time_has_come() -> None:
    assert Probe({"1 boot": "set x 3"}).moments("fire", 1) == {3}
    assert Probe({"1 boot": "set x 0"}).moments("fire", 1) == {0}


def test_a_timer_with_jitter_fires_anywhere_in_its_range() -> None:
    assert Probe({"1 boot": "set x 2 2"}).moments("fire", 1) == {2, 3, 4}
    assert Probe({"1 boot": "set x 0 1"}).moments("fire", 1) == {0, 1}


def test_setting_a_timer_again_forgets_the_earlier_setting() -> None:
    probe = Probe({"1 boot": "set x 1; set y 2", "1 fired x": "set y 3"})
    assert probe.ends(1) == {("fired x", "fired y")}
    assert probe.moments("fire", 1) == {1, 4}


def test_a_cancelled_timer_never_fires() -> None:
    probe = Probe({"1 boot": "set x 1; set y 2", "1 fired x": "cancel y"})
    assert probe.ends(1) == {("fired x",)}


def test_orders_are_obeyed_in_their_order() -> None:
    assert Probe({"1 boot": "set x 1; cancel x"}).ends(1) == {()}
    assert Probe({"1 boot": "cancel x; set x 1"}).ends(1) == {("fired x",)}
    assert Probe({"1 boot": "set x 3; set x 1"}).moments("fire", 1) == {1}


def test_two_timers_of_one_moment_fire_in_both_orders() -> None:
    probe = Probe({"1 boot": "set x 1; set y 1"})
    assert probe.ends(1) == {("fired x", "fired y"), ("fired y", "fired x")}


def test_time_waits_for_whatever_is_due_at_a_live_node() -> None:
    for orders in (LETTER, {"2 boot": "set x 1"}, {"2 boot": "set x 0 1"}):
        probe = Probe(orders)
        for taken in probe.walk():
            if taken.move.kind == "tick" and taken.now > 0:
                assert probe.diary(taken.before, 2) != ()


def test_time_does_not_wait_for_a_node_that_is_down() -> None:
    probe = Probe(LETTER, crashes=1)
    down = next(t.after for t in probe.moves() if t.move.kind == "crash" and t.move.where == 1)
    assert probe.moments("tick", 1, down) == set(range(9))
    assert probe.moments("deliver", 2, down) == set()


def test_a_message_due_goes_before_a_timer_due_unless_both_orders_are_asked_for() -> None:
    orders = {"1 boot": "send 2 a", "2 boot": "set x 1"}
    message_first = ("heard a", "fired x")
    assert Probe(orders).ends(2) == {message_first}
    assert Probe(orders, ties=Ties.BOTH).ends(2) == {message_first, message_first[::-1]}


def test_no_timer_anywhere_goes_before_a_message_that_is_due_anywhere() -> None:
    orders = {"1 boot": "send 2 a", "3 boot": "set x 1", "3 fired x": "send 2 b"}
    in_order = ("heard a", "heard b")
    assert Probe(orders, nodes=3).ends(2) == {in_order}
    assert Probe(orders, nodes=3, ties=Ties.BOTH).ends(2) == {in_order, in_order[::-1]}


def test_a_message_that_is_not_due_yet_may_come_after_a_timer() -> None:
    orders = {"1 boot": "send 2 a", "2 boot": "set x 1"}
    assert Probe(orders, T=2).ends(2) == {("heard a", "fired x"), ("fired x", "heard a")}


def test_a_timer_at_a_node_need_not_wait_for_a_message_due_at_a_node_that_is_down() -> None:
    orders = {"1 boot": "send 2 a", "3 boot": "set x 1"}
    probe = Probe(orders, nodes=3, crashes=1)
    down = next(t.after for t in probe.moves() if t.move.kind == "crash" and t.move.where == 1)
    assert probe.moments("fire", 3, down) == {1}


def test_what_a_timer_sends_counts_from_when_it_fires() -> None:
    orders = {"1 boot": "set x 2 1", "1 fired x": "send 2 a"}
    assert Probe(orders, T=2).moments("deliver", 2) == {2, 3, 4, 5}


def test_a_lone_node_without_messages_or_timers_has_one_state() -> None:
    probe = Probe({}, nodes=1)
    assert (len(probe.rows), probe.search.transitions) == (1, 1)
