"""A cluster does what it is told, as far as the model of its setting allows."""

import pytest

from electorate.core import ProtocolError
from electorate.simulate import IllegalStep, Simulation, TornTurn
from electorate.trace import Lost
from tests.simulate.machines import Hold, Mutter, NoteStable, Shout, Wait, heard, probes


def shouting(line: str = "cluster probe 1 2 3 T=2") -> Simulation:
    """Node 1 has just said 0 and 1 to the others."""
    cluster = probes(line)
    cluster.ask(1, Shout())
    return cluster


def losses(cluster: Simulation) -> list[tuple[int, int, str]]:
    found = (step.happening for step in cluster.steps)
    return [(lost.sender, lost.to, lost.why) for lost in found if isinstance(lost, Lost)]


# --- messages ---


def test_messages_are_delivered_in_the_order_of_sending() -> None:
    cluster = shouting()
    cluster.deliver(1, 2)
    cluster.deliver(1, 2)
    assert heard(cluster, 2) == [(1, 0), (1, 1)]


def test_a_fifo_channel_lets_nothing_overtake() -> None:
    cluster = shouting()
    with pytest.raises(IllegalStep, match="would overtake 1->2 Note, and the order is fifo"):
        cluster.deliver(1, 2, place=1)


def test_a_global_order_holds_across_senders() -> None:
    cluster = shouting("cluster probe 1 2 3 T=2 order=global")
    cluster.ask(2, Shout())
    with pytest.raises(IllegalStep, match="2->3 Note would overtake 1->3 Note"):
        cluster.deliver(2, 3)
    cluster.deliver(1, 3)
    cluster.deliver(1, 3)
    cluster.deliver(2, 3)


def test_a_bag_hands_over_in_any_order() -> None:
    cluster = shouting("cluster probe 1 2 3 T=2 order=bag")
    cluster.deliver(1, 2, place=1)
    cluster.deliver(1, 2)
    assert heard(cluster, 2) == [(1, 1), (1, 0)]


def test_what_is_not_on_its_way_cannot_be_delivered() -> None:
    with pytest.raises(IllegalStep, match="2->1 #0 is not on its way"):
        shouting().deliver(2, 1)


def test_a_doubled_message_arrives_twice() -> None:
    cluster = shouting()
    cluster.double(1, 2)
    cluster.deliver(1, 2)
    cluster.deliver(1, 2)
    assert heard(cluster, 2) == [(1, 0), (1, 0), (1, 1)]


def test_a_lost_message_does_not_arrive() -> None:
    cluster = shouting()
    cluster.lose(1, 2)
    cluster.deliver(1, 2)
    assert heard(cluster, 2) == [(1, 1)]
    assert losses(cluster) == [(1, 2, "lost")]


# --- what a node says to itself ---


def test_words_to_oneself_are_heard_within_the_same_step() -> None:
    cluster = probes()
    cluster.ask(1, Mutter())
    assert heard(cluster, 1) == [(1, 3), (1, 2), (1, 1), (1, 0)]
    assert len(cluster.steps[-1].turns) == 5
    assert not list(cluster.in_flight())


def test_words_to_oneself_are_heard_without_a_record_too() -> None:
    cluster = probes()
    cluster.recording = False
    cluster.ask(1, Mutter())
    assert heard(cluster, 1) == [(1, 3), (1, 2), (1, 1), (1, 0)]
    assert not cluster.steps


def test_a_node_that_never_stops_answering_itself_breaks_the_contract() -> None:
    cluster = probes("cluster endless 1 2")
    with pytest.raises(ProtocolError, match="never stops answering itself"):
        cluster.ask(1, Mutter())


# --- crashes ---


def test_a_crash_leaves_what_is_stable_and_nothing_else() -> None:
    cluster = shouting()
    cluster.ask(1, Wait())
    cluster.crash(1)
    assert not cluster.nodes[1].timers
    assert cluster.nodes[1].stable == NoteStable(said=2)
    cluster.recover(1)
    assert heard(cluster, 1) == []
    assert cluster.nodes[1].view == {1, 2, 3}


def test_a_torn_crash_lets_a_prefix_of_each_channel_leave_and_saves_what_is_stable() -> None:
    cluster = probes()
    cluster.ask(1, Shout(), TornTurn({2: 1, 3: 2}))
    assert cluster.nodes[1].local is None
    assert cluster.nodes[1].stable == NoteStable(said=2)
    assert len(cluster.channel(1, 2).waiting) == 1
    assert len(cluster.channel(1, 3).waiting) == 2
    (turn,) = cluster.steps[-1].turns
    assert turn.sent == ((2, 1), (3, 2))


def test_a_crash_can_tear_a_later_turn_of_a_step() -> None:
    cluster = probes()
    cluster.ask(1, Shout(), TornTurn({}, turn=1))
    assert len(cluster.channel(1, 2).waiting) == 2
    assert [turn.sent for turn in cluster.steps[-1].turns] == [None, ()]


def test_a_tear_cannot_let_more_leave_than_is_sent() -> None:
    with pytest.raises(IllegalStep, match="1 sends 2 messages to 2, not 3"):
        probes().ask(1, Shout(), TornTurn({2: 3}))


def test_a_tear_needs_the_turn_that_it_names() -> None:
    with pytest.raises(IllegalStep, match="has no turn #2"):
        probes().ask(1, Shout(), TornTurn({}, turn=2))


def test_a_recovery_can_be_torn() -> None:
    cluster = probes()
    cluster.crash(2)
    cluster.recover(2, TornTurn({}))
    assert cluster.nodes[2].local is None


@pytest.mark.parametrize("known", [0, 4])
def test_only_members_can_crash_or_recover(known: int) -> None:
    with pytest.raises(IllegalStep, match="is not a member"):
        probes().crash(known)


def test_nobody_crashes_or_recovers_twice() -> None:
    cluster = probes()
    with pytest.raises(IllegalStep, match="1 is up already"):
        cluster.recover(1)
    cluster.crash(1)
    with pytest.raises(IllegalStep, match="1 is down already"):
        cluster.crash(1)
    with pytest.raises(IllegalStep, match="1 is down"):
        cluster.ask(1, Wait())


# --- messages and crashes ---


def test_a_message_may_reach_the_next_life_within_its_bound() -> None:
    cluster = shouting()
    cluster.crash(2)
    with pytest.raises(IllegalStep, match="cannot arrive: 2 is down"):
        cluster.deliver(1, 2)
    cluster.tick()
    cluster.recover(2)
    cluster.deliver(1, 2)
    assert heard(cluster, 2) == [(1, 0)]


def test_a_message_that_is_due_at_a_node_that_is_down_is_lost() -> None:
    cluster = shouting()
    cluster.crash(2)
    cluster.crash(3)
    cluster.tick(2)
    assert losses(cluster) == []
    cluster.tick()
    assert losses(cluster) == 2 * [(1, 2, "2 is down")] + 2 * [(1, 3, "3 is down")]


def test_connections_that_die_take_their_messages_with_them() -> None:
    cluster = shouting("cluster probe 1 2 3 T=2 connections=die")
    cluster.crash(2)
    assert not cluster.channel(1, 2).waiting, "what was on its way to the node"
    cluster.ask(3, Shout())
    assert not cluster.channel(3, 2).waiting, "what is sent to it meanwhile"
    cluster.crash(1)
    assert cluster.channel(1, 3).waiting, "its own last words live on"
    cluster.recover(1)
    assert not cluster.channel(1, 3).waiting, "until it comes back"


# --- links and pauses ---


def test_a_message_sent_on_a_cut_link_is_lost_at_once() -> None:
    cluster = probes()
    cluster.cut(1, 2)
    cluster.ask(1, Shout())
    assert losses(cluster) == 2 * [(1, 2, "1->2 is cut")]
    assert len(cluster.channel(1, 3).waiting) == 2


def test_a_message_that_is_due_on_a_cut_link_is_lost() -> None:
    cluster = shouting()
    cluster.cut(1, 2)
    with pytest.raises(IllegalStep, match="cannot arrive: 1->2 is cut"):
        cluster.deliver(1, 2)
    cluster.tick(2)
    cluster.deliver(1, 3)
    cluster.deliver(1, 3)
    cluster.tick()
    assert losses(cluster) == 2 * [(1, 2, "1->2 is cut")]


def test_a_link_that_is_healed_in_time_delivers() -> None:
    cluster = shouting()
    cluster.cut(1, 2)
    cluster.tick()
    cluster.heal(1, 2)
    cluster.deliver(1, 2)
    assert heard(cluster, 2) == [(1, 0)]


def test_links_are_cut_and_healed_in_turn() -> None:
    cluster = probes()
    with pytest.raises(IllegalStep, match="1->2 is not cut"):
        cluster.heal(1, 2)
    cluster.cut(1, 2)
    with pytest.raises(IllegalStep, match="1->2 is cut already"):
        cluster.cut(1, 2)
    with pytest.raises(IllegalStep, match="1 has no link to itself"):
        cluster.cut(1, 1)


def test_what_is_on_its_way_is_lost_with_its_connection_and_what_follows_is_not() -> None:
    cluster = shouting()
    cluster.reset(1, 2)
    with pytest.raises(IllegalStep, match="1->2 #0 is not on its way"):
        cluster.deliver(1, 2)
    cluster.deliver(1, 3)
    cluster.ask(1, Shout())
    cluster.deliver(1, 2)
    assert len(heard(cluster, 2)) == 1
    with pytest.raises(IllegalStep, match="1 has no link to itself"):
        cluster.reset(1, 1)


def test_a_paused_node_takes_nothing_and_its_timers_run_on() -> None:
    cluster = shouting()
    cluster.ask(2, Wait())
    cluster.pause(2)
    with pytest.raises(IllegalStep, match="2 is paused"):
        cluster.deliver(1, 2)
    cluster.tick(2)
    cluster.deliver(1, 3)
    cluster.deliver(1, 3)
    cluster.tick(10)
    cluster.resume(2)
    cluster.fire(2, "long")
    cluster.deliver(1, 2)
    assert heard(cluster, 2) == [(1, 0)]


def test_pauses_and_resumptions_take_turns() -> None:
    cluster = probes()
    with pytest.raises(IllegalStep, match="1 is not paused"):
        cluster.resume(1)
    cluster.pause(1)
    with pytest.raises(IllegalStep, match="1 is paused already"):
        cluster.pause(1)
    cluster.crash(1)
    with pytest.raises(IllegalStep, match="1 is down"):
        cluster.pause(1)


# --- views and requests ---


def test_a_view_names_members_and_the_node_itself() -> None:
    cluster = probes()
    with pytest.raises(IllegalStep, match="9 is not a member"):
        cluster.view(1, [1, 9])
    with pytest.raises(IllegalStep, match="1 must be in its own view"):
        cluster.view(1, [2, 3])
    cluster.view(1, [1, 2])
    assert cluster.nodes[1].view == {1, 2}


def test_a_machine_without_views_gets_none() -> None:
    with pytest.raises(IllegalStep, match="Endless uses no views"):
        probes("cluster endless 1 2").view(1, [1, 2])


def test_only_open_requests_can_be_made() -> None:
    with pytest.raises(IllegalStep, match=r"1 may be asked for Shout\(2\), Hold"):
        probes().ask(1, Shout(7))


# --- offices ---


def test_an_office_ends_with_its_timer_whether_or_not_the_node_notices() -> None:
    cluster = probes()
    cluster.ask(1, Hold())
    cluster.pause(1)
    cluster.tick(3)
    before, _, _ = cluster.row().standings
    assert before is not None
    assert before.leader == 1
    cluster.tick(1)
    after, _, _ = cluster.row().standings
    assert after is not None
    assert after.leader is None


def test_the_end_of_an_office_comes_before_any_other_event_of_its_node() -> None:
    cluster = probes()
    cluster.ask(1, Hold())
    cluster.tick(2)
    cluster.ask(2, Shout())
    cluster.tick(2)
    first = "1 lease has ended its office and must fire first"
    with pytest.raises(IllegalStep, match=first):
        cluster.deliver(2, 1)
    with pytest.raises(IllegalStep, match=first):
        cluster.ask(1, Shout())
    with pytest.raises(IllegalStep, match=first):
        cluster.view(1, [1])
    cluster.deliver(2, 3)
    cluster.fire(1, "lease")
    cluster.deliver(2, 1)


def test_a_copy_goes_its_own_way() -> None:
    cluster = shouting()
    twin = cluster.copy()
    twin.deliver(1, 2)
    twin.crash(3)
    assert heard(cluster, 2) == []
    assert len(cluster.channel(1, 2).waiting) == 2
    assert cluster.nodes[3].local is not None
