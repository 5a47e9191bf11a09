"""Messages to a node that is down, and messages of a life that has ended."""

import pytest

from electorate.check.column import Row
from electorate.trace import Clock, Connections, Order
from tests.check.probe import Probe

A, B = "heard a", "heard b"
LETTER = {"1 boot": "send 2 a", "any again": ""}
DIE = Connections.DIE
PASSING = [order for order in Order if order is not Order.SET]
"""Where a message that was handed over is gone; the others are in test_growing_set.py."""


def down(probe: Probe, node: int) -> Row:
    """The row in which the node crashes at once."""
    moves = probe.successors(probe.rows[0])
    return next(row for move, row in moves if (move.kind, move.where) == ("crash", node - 1))


def second_lives(probe: Probe, node: int) -> set[tuple[str, ...]]:
    return {diary for diary in probe.diaries(node) if diary and diary[0] == "again"}


def test_a_message_due_at_a_node_that_is_down_is_lost() -> None:
    probe = Probe(LETTER, T=2, crashes=1, recoveries=1)
    column = probe.columns.of_channel[0, 1]
    walk = [t for t in probe.walk(down(probe, 2)) if probe.node(t.before, 2).state is None]
    assert {taken.now for taken in walk} == set(range(9))
    waiting = {taken.now for taken in walk if taken.before[column] != probe.space.empty}
    assert waiting == {0, 1, 2}


def test_a_message_to_a_node_that_is_down_for_good_is_dropped_at_once() -> None:
    probe = Probe(LETTER, T=2, crashes=1)
    column = probe.columns.of_channel[0, 1]
    after = {taken.before[column] for taken in probe.walk(down(probe, 2))}
    assert after == {probe.space.empty}


def test_a_message_reaches_the_next_life_within_its_bound_and_no_later() -> None:
    probe = Probe(LETTER, T=2, crashes=1, recoveries=1)
    assert probe.moments("recover", 2, down(probe, 2), horizon=5) == {0, 1, 2, 3, 4, 5}
    assert probe.moments("deliver", 2, down(probe, 2)) == {0, 1, 2}
    assert second_lives(probe, 2) == {("again",), ("again", A)}


def test_a_message_that_arrives_while_nobody_is_there_is_lost_before_it_is_due() -> None:
    probe = Probe(LETTER, T=2, crashes=1, recoveries=1)
    back = {taken.after for taken in probe.walk(down(probe, 2)) if taken.move.kind == "recover"}
    silent = [row for row in back if row[probe.columns.of_channel[0, 1]] == probe.space.empty]
    assert probe.moments("lose", 2, down(probe, 2)) == {0, 1, 2}
    assert silent
    late = Probe(LETTER, T=2, delay_min=1, crashes=1, recoveries=1)
    assert late.moments("lose", 2, down(late, 2)) == {1, 2}


def test_a_loss_at_a_node_that_is_down_costs_nothing_and_needs_a_next_life() -> None:
    assert "lose" not in Probe(LETTER, crashes=1, losses=0).kinds()
    probe = Probe(LETTER, crashes=1, recoveries=1)
    lost = [taken for taken in probe.moves() if taken.move.kind == "lose"]
    assert lost
    assert all(taken.before[-1] == taken.after[-1] for taken in lost)


@pytest.mark.parametrize("order", PASSING)
@pytest.mark.parametrize("clock", list(Clock))
def test_connections_that_outlive_a_receiver_allow_all_that_connections_that_die_do(
    order: Order, clock: Clock
) -> None:
    orders = {"1 boot": "send 2 a; set x 1", "1 fired x": "send 2 b", "3 boot": "send 2 c"}

    def all_diaries(connections: Connections) -> set[tuple[tuple[str, ...] | None, ...]]:
        probe = Probe(
            orders,
            nodes=3,
            crashes=1,
            recoveries=1,
            order=order,
            clock=clock,
            connections=connections,
        )
        ends = (row for row in probe.rows if probe.is_end(row))
        told = {tuple(probe.diary(row, node) for node in (1, 2, 3)) for row in ends}
        return {(one, two, three) for one, two, three in told if not {("again",)} & {one, three}}

    assert all_diaries(DIE) < all_diaries(Connections.OUTLIVE)


def test_with_connections_that_die_nothing_reaches_the_next_life() -> None:
    probe = Probe(LETTER, T=2, crashes=1, recoveries=1, connections=DIE)
    assert second_lives(probe, 2) == {("again",)}
    assert down(probe, 2)[probe.columns.of_channel[0, 1]] == probe.space.empty


def test_with_connections_that_die_what_is_sent_to_a_node_that_is_down_is_lost_at_once() -> None:
    orders = {"1 boot": "set x 1", "1 fired x": "send 2 a; send 3 a"}
    probe = Probe(orders, nodes=3, T=2, crashes=1, recoveries=1, connections=DIE)
    fired = [t for t in probe.walk(down(probe, 2)) if t.move.kind == "fire" and not t.move.torn]
    to_second, to_third = probe.columns.of_channel[0, 1], probe.columns.of_channel[0, 2]
    sent = {
        (probe.node(t.before, 2).state is None, t.after[to_second] == probe.space.empty)
        for t in fired
    }
    assert sent == {(True, True), (False, False)}
    assert all(taken.after[to_third] != probe.space.empty for taken in fired)


def test_messages_of_the_last_life_arrive_while_the_sender_is_down() -> None:
    for connections in Connections:
        probe = Probe(LETTER, T=2, crashes=1, connections=connections)
        assert probe.moments("deliver", 2, down(probe, 1)) == {0, 1, 2}


def test_messages_of_the_last_life_meet_those_of_the_next_in_the_order_of_sending() -> None:
    orders = {"1 boot": "send 2 a", "1 again": "send 2 b"}
    outlive = Probe(orders, T=2, crashes=1, recoveries=1)
    ends = {outlive.diary(r, 2) for r in outlive.rows if outlive.diary(r, 1) == ("again",)}
    assert ends == {(), (A,), (A, B)}
    bag = Probe(orders, T=2, crashes=1, recoveries=1, order=Order.BAG)
    assert (B, A) in bag.diaries(2)


def test_with_connections_that_die_a_recovery_ends_the_last_lifes_messages() -> None:
    orders = {"1 boot": "send 2 a; send 3 a", "1 again": "send 2 b", "3 boot": "send 2 c"}
    for order in PASSING:
        probe = Probe(orders, nodes=3, T=2, crashes=1, recoveries=1, order=order, connections=DIE)
        back = [taken for taken in probe.moves() if taken.move.kind == "recover"]
        for taken in back:
            if taken.move.where == 0:
                senders = {
                    (item.sender, item.message)
                    for column, _ in probe.columns.channels
                    for item in probe.space.channels.cards[taken.after[column]].value
                }
                texts = {getattr(message, "text", "") for sender, message in senders if sender == 1}
                assert texts <= {"b"}
        assert any(diary[-1:] == (B,) and A not in diary for diary in probe.diaries(2))


def test_without_bounds_a_message_waits_for_the_next_life_or_gets_lost() -> None:
    orders = {"1 boot": "set x 1", "1 fired x": "send 2 a", "any again": ""}
    probe = Probe(orders, crashes=1, recoveries=1, clock=Clock.UNBOUNDED)
    assert second_lives(probe, 2) == {("again",), ("again", A)}
    two = {"1 boot": "send 2 a; set x 1", "1 fired x": "send 2 b", "any again": ""}
    probe = Probe(two, crashes=1, recoveries=1, clock=Clock.UNBOUNDED)
    assert ("again", B) in probe.ends(2)
