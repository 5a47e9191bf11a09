"""The network: in which orders messages come, how many get lost or doubled, how many fit."""

import pytest

from electorate.trace import Clock, Connections, Order
from tests.check.probe import Probe

AB = {"1 boot": "send 2 a; send 2 b"}
A, B = "heard a", "heard b"
PASSING = [order for order in Order if order is not Order.SET]
"""Where a message that was handed over is gone; the others are in test_growing_set.py."""


def test_fifo_keeps_the_order_of_a_channel() -> None:
    assert Probe(AB, T=2).ends(2) == {(A, B)}


def test_a_bag_knows_no_order() -> None:
    assert Probe(AB, T=2, order=Order.BAG).ends(2) == {(A, B), (B, A)}


def test_fifo_says_nothing_about_two_senders() -> None:
    orders = {"1 boot": "send 2 a", "3 boot": "send 2 b"}
    assert Probe(orders, nodes=3).ends(2) == {(A, B), (B, A)}


def test_a_global_order_keeps_the_order_of_sending_at_each_receiver() -> None:
    orders = {
        "1 boot": "send 2 a; send 4 a",
        "3 boot": "set x 1",
        "3 fired x": "send 2 b; send 4 b",
    }
    for node in (2, 4):
        assert Probe(orders, nodes=4, T=2, order=Order.GLOBAL).ends(node) == {(A, B)}
        assert Probe(orders, nodes=4, T=2).ends(node) == {(A, B), (B, A)}


def test_a_global_order_does_not_bind_two_receivers_to_each_other() -> None:
    orders = {"1 boot": "send 2 a; send 3 b", "2 heard a": "send 1 a", "3 heard b": "send 1 b"}
    probe = Probe(orders, nodes=3, order=Order.GLOBAL)
    assert probe.ends(1) == {(A, B), (B, A)}


def test_equal_messages_in_a_bag_are_one_choice() -> None:
    orders = {"1 boot": "send 2 a; send 2 a"}
    # Two, one and none left, at either age; none of age 1 is none of age 0.
    assert len(Probe(orders, order=Order.BAG).rows) == 2 * 3 - 1
    assert Probe(orders, order=Order.BAG).search.transitions == 2 * 2 + 2 + 1


def test_a_channel_is_taken_by_age_also_where_min_is_above_zero() -> None:
    orders = {"1 boot": "send 2 a; set x 1", "1 fired x": "send 2 b"}
    probe = Probe(orders, T=2, delay_min=1)
    assert probe.ends(2) == {(A, B)}
    assert probe.moments("deliver", 2) == {1, 2, 3}


@pytest.mark.parametrize(
    ("losses", "heard"), [(0, {(A, B)}), (1, {(A, B), (A,), (B,)}), (2, {(A, B), (A,), (B,), ()})]
)
def test_as_many_messages_get_lost_as_the_budget_allows(
    losses: int, heard: set[tuple[str, ...]]
) -> None:
    for order in PASSING:
        probe = Probe(AB, losses=losses, order=order)
        ends = {end for end in probe.ends(2) if order is not Order.BAG or end != (B, A)}
        assert ends == heard
        assert probe.most(lambda taken: taken.move.kind == "lose") == losses


def test_a_message_that_cannot_have_arrived_yet_is_not_lost_yet() -> None:
    assert Probe(AB, T=2, delay_min=1, losses=1).moments("lose", 2) == {1, 2}


@pytest.mark.parametrize("doubles", [0, 1, 2])
def test_as_many_messages_are_doubled_as_the_budget_allows(doubles: int) -> None:
    probe = Probe({"1 boot": "send 2 a"}, doubles=doubles)
    assert probe.ends(2) == {(A,) * (n + 1) for n in range(doubles + 1)}
    assert probe.most(lambda taken: taken.move.kind == "double") == doubles


def test_a_copy_stays_where_the_message_was_and_keeps_its_bound() -> None:
    fifo = Probe(AB, doubles=1)
    assert fifo.ends(2) == {(A, B), (A, A, B), (A, B, B)}
    bag = Probe(AB, doubles=1, order=Order.BAG)
    assert (A, B, A) in bag.ends(2)
    assert bag.moments("deliver", 2) == fifo.moments("deliver", 2) == {0, 1}


def test_what_does_not_fit_on_a_channel_cuts_the_search_and_is_counted() -> None:
    orders = {"1 boot": "send 2 a; set x 1", "1 fired x": "send 2 b"}
    roomy = Probe(orders, T=2, capacity=2).check()
    assert roomy.cuts == {}
    tight = Probe(orders, T=2, capacity=1)
    # Only where the first message is still on its way at tick 1 the second one does not fit.
    assert tight.check().cuts == {"capacity": 1}
    assert tight.ends(2) == {(A, B)}
    sentence = tight.check().sentence("diary", tight.machine, tight.model)
    assert sentence.endswith(", up to capacity 1 (cut 1 time).")


def test_in_a_global_order_the_capacity_is_the_receivers() -> None:
    orders = {"1 boot": "send 2 a", "3 boot": "set x 1", "3 fired x": "send 2 b"}
    assert Probe(orders, nodes=3, T=2, capacity=1).check().cuts == {}
    assert Probe(orders, nodes=3, T=2, capacity=1, order=Order.GLOBAL).check().cuts


def test_connections_die_takes_nothing_from_those_who_boot_together() -> None:
    orders = {"any boot": "", "1 boot": "send 2 a; send 3 a", "3 boot": "send 1 b; send 2 b"}
    probe = Probe(orders, nodes=3, connections=Connections.DIE)
    assert probe.ends(1) == {(B,)}
    assert probe.ends(2) == {(A, B), (B, A)}
    assert probe.ends(3) == {(A,)}


def test_without_bounds_a_message_takes_any_time_at_all() -> None:
    orders = {"1 boot": "send 2 a; set x 1", "1 fired x": "send 2 b", "2 boot": "set y 1"}
    probe = Probe(orders, clock=Clock.UNBOUNDED, order=Order.BAG)
    orders_of_three = {
        ("fired y", A, B),
        ("fired y", B, A),
        (A, "fired y", B),
        (B, "fired y", A),
        (A, B, "fired y"),
        (B, A, "fired y"),
    }
    assert probe.ends(2) == orders_of_three
    assert "tick" not in probe.kinds()
