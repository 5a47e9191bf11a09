"""Without faults a cluster comes to rest, and that is where runs begin."""

import pytest

from electorate.protocols.registry import REGISTRY
from electorate.simulate import IllegalStep, SimulationStartError, settle, started
from electorate.trace import Delivered, Fired, Lost, Recovered, Setting, Ticked
from tests.simulate.machines import Hold, Shout, Wait, heard, probes


def test_every_message_takes_its_longest_delay_and_comes_before_timers() -> None:
    cluster = probes("cluster probe 1 2 3 T=2 P=1")
    cluster.ask(1, Shout())
    cluster.tick(2)
    cluster.ask(2, Wait())
    cluster.tick(1)
    settle(cluster)
    happened = [step.happening for step in cluster.steps[4:]]
    assert [type(what) for what in happened] == [*[Delivered] * 4, Ticked, Fired, Fired]
    assert cluster.now == 2 + 3 * 2


def test_messages_of_the_same_moment_come_by_receiver_and_sender_and_timers_by_node() -> None:
    cluster = probes("cluster probe 1 2 3")
    for node in (3, 1):
        cluster.ask(node, Shout())
    for node in (2, 1):
        cluster.ask(node, Wait())
    settle(cluster)
    steps = [(step.at, step.happening) for step in cluster.steps]
    ways = [(at, what.to, what.sender) for at, what in steps if isinstance(what, Delivered)]
    rings = [(at, what.node) for at, what in steps if isinstance(what, Fired)]
    assert len(ways) == 8
    assert ways == sorted(ways)
    assert len(rings) >= 2
    assert rings == sorted(rings)


def test_a_cluster_at_rest_stays_as_it_is() -> None:
    cluster = probes()
    settle(cluster)
    assert cluster.steps == []


def test_messages_to_nobody_are_lost_on_the_way() -> None:
    cluster = probes("cluster probe 1 2 3 T=2")
    cluster.crash(3)
    cluster.ask(1, Shout())
    settle(cluster)
    assert heard(cluster, 2) == [(1, 0), (1, 1)]
    assert [step.at for step in cluster.steps if isinstance(step.happening, Lost)] == [3, 3]


def test_messages_to_nobody_are_lost_with_unbounded_clocks_too() -> None:
    cluster = probes("cluster probe 1 2 3 T=2 clock=unbounded")
    cluster.crash(3)
    cluster.ask(1, Shout())
    settle(cluster)
    assert not list(cluster.in_flight())


def test_paused_nodes_are_left_alone() -> None:
    cluster = probes("cluster probe 1 2 T=2")
    cluster.pause(2)
    cluster.ask(1, Shout())
    settle(cluster)
    assert len(cluster.channel(1, 2).waiting) == 2


def test_an_office_ends_before_a_message_that_comes_at_the_same_moment() -> None:
    cluster = probes("cluster probe 1 2 T=2")
    cluster.ask(1, Hold())
    cluster.tick(2)
    cluster.ask(2, Shout())
    settle(cluster)
    order = [type(step.happening) for step in cluster.steps if step.at == 4]
    assert order == [Ticked, Fired, Delivered, Delivered]


def test_periodic_timers_do_not_keep_a_cluster_from_settling() -> None:
    cluster = probes("cluster beat 1 2")
    cluster.tick(cluster.nodes[1].timers["beat"].earliest)
    cluster.fire(1, "beat")
    settle(cluster)
    assert not list(cluster.in_flight())


def test_a_cluster_that_never_rests_does_not_settle() -> None:
    cluster = probes("cluster beat 1 2 3")
    cluster.machine.timers = ()
    with pytest.raises(IllegalStep, match="within 1000T: node 1 has the timer beat, which"):
        settle(cluster)


def test_a_run_begins_where_the_goals_hold_and_nothing_happens() -> None:
    setting = Setting("bully", (1, 2, 3))
    cluster, boots = started(setting, setting.machine(*REGISTRY["bully"]))
    assert (cluster.now, cluster.steps, boots) == (0, [], ())
    assert [standing and standing.leader for standing in cluster.row().standings] == [1, 1, 1]
    assert not any(node.timers for node in cluster.nodes.values())


def test_a_run_can_begin_with_the_boots() -> None:
    setting = Setting.parse("cluster bully 1 2 3 start=boot")
    cluster, boots = started(setting, setting.machine(*REGISTRY["bully"]))
    assert [step.happening for step in boots] == [Recovered(n, first=True) for n in (1, 2, 3)]
    assert cluster.steps == []
    assert cluster.channel(3, 1).waiting


def test_first_words_reach_nodes_that_boot_at_the_same_moment() -> None:
    setting = Setting.parse("cluster bully 1 2 start=boot connections=die")
    cluster, _ = started(setting, setting.machine(*REGISTRY["bully"]))
    assert cluster.channel(1, 2).waiting


def test_a_machine_that_never_rests_begins_where_it_repeats_itself() -> None:
    cluster = probes("cluster beat 1 2 3 T=2")
    assert [standing and standing.leader for standing in cluster.row().standings] == [1, 1, 1]
    assert all(node.timers["beat"].earliest > 0 for node in cluster.nodes.values())


def test_a_protocol_that_misses_its_goal_cannot_be_started() -> None:
    with pytest.raises(SimulationStartError, match="without any fault deaf misses A2"):
        probes("cluster deaf 1 2")
