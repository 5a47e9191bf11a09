"""With bounded clocks a cluster refuses whatever the bounds rule out."""

import pytest

from electorate.simulate import IllegalStep, Simulation
from tests.simulate.machines import Hold, Shout, Wait, heard, probes


def shouting(settings: str = "") -> Simulation:
    """Node 1 has just said 0 and 1 to node 2."""
    cluster = probes(f"cluster probe 1 2 T=2 {settings}")
    cluster.ask(1, Shout())
    return cluster


def deliver_all(cluster: Simulation) -> None:
    cluster.deliver(1, 2)
    cluster.deliver(1, 2)


def test_no_message_arrives_before_its_least_delay() -> None:
    cluster = shouting("min=1")
    with pytest.raises(IllegalStep, match="1->2 Note is 0 old, and takes at least 1"):
        cluster.deliver(1, 2)
    cluster.tick()
    cluster.deliver(1, 2)


def test_time_does_not_pass_over_a_message_that_is_due() -> None:
    cluster = shouting()
    with pytest.raises(IllegalStep, match="time cannot pass by 3: 1->2 Note is due in 2"):
        cluster.tick(3)
    cluster.tick(2)
    with pytest.raises(IllegalStep, match="time cannot pass by 1: 1->2 Note is due now"):
        cluster.tick()
    deliver_all(cluster)
    cluster.tick()


def test_handling_takes_part_of_the_bound() -> None:
    cluster = shouting("P=1")
    cluster.tick(3)
    with pytest.raises(IllegalStep, match="due now"):
        cluster.tick()


def test_time_passes_over_what_a_paused_node_ought_to_do() -> None:
    cluster = shouting()
    cluster.ask(2, Wait())
    cluster.pause(2)
    cluster.tick(20)
    cluster.resume(2)
    with pytest.raises(IllegalStep, match="1->2 Note is due now"):
        cluster.tick()
    deliver_all(cluster)
    with pytest.raises(IllegalStep, match="2 long is due now"):
        cluster.tick()


def test_time_does_not_pass_over_a_timer_that_is_due() -> None:
    cluster = probes("cluster probe 1 2 T=2")
    cluster.ask(1, Wait())
    with pytest.raises(IllegalStep, match="time cannot pass by 7: 1 long is due in 6"):
        cluster.tick(7)
    cluster.tick(6)
    with pytest.raises(IllegalStep, match="1 long is due now"):
        cluster.tick()


def test_time_passes_by_at_least_one() -> None:
    with pytest.raises(IllegalStep, match="at least 1, not 0"):
        probes().tick(0)


def test_no_timer_fires_early() -> None:
    cluster = probes("cluster probe 1 2 T=2")
    cluster.ask(1, Wait())
    cluster.tick(5)
    with pytest.raises(IllegalStep, match="1 long has 1 left"):
        cluster.fire(1, "long")
    cluster.tick()
    cluster.fire(1, "long")


def test_a_timer_with_jitter_fires_within_it() -> None:
    cluster = probes("cluster probe 1 2 T=2")
    cluster.ask(1, Wait())
    cluster.tick(6)
    cluster.fire(1, "long")
    cluster.tick(2)
    with pytest.raises(IllegalStep, match="1 loose is due now"):
        cluster.tick()
    cluster.fire(1, "loose")


def test_a_timer_fires_once_per_setting_and_never_after_it_is_cancelled() -> None:
    cluster = probes("cluster probe 1 2 T=2")
    cluster.ask(1, Wait())
    cluster.tick(6)
    cluster.fire(1, "long")
    with pytest.raises(IllegalStep, match="1 long is not armed"):
        cluster.fire(1, "long")
    twice = probes("cluster probe 1 2 T=2")
    twice.ask(1, Wait())
    twice.ask(1, Wait())
    twice.tick(6)
    with pytest.raises(IllegalStep, match="1 long is not armed"):
        twice.fire(1, "long")


def test_setting_a_timer_again_forgets_the_earlier_setting() -> None:
    cluster = probes("cluster probe 1 2 T=2")
    cluster.ask(1, Hold())
    cluster.tick(3)
    cluster.ask(1, Hold())
    cluster.tick(3)
    with pytest.raises(IllegalStep, match="1 lease has 1 left"):
        cluster.fire(1, "lease")


def tie(settings: str = "") -> Simulation:
    """A message to node 2 and the timer of node 1 are due at the same moment."""
    cluster = probes(f"cluster probe 1 2 3 T=2 {settings}")
    cluster.ask(1, Wait())
    cluster.tick(4)
    cluster.ask(3, Shout())
    cluster.tick(2)
    return cluster


def test_no_timer_fires_while_a_message_that_is_due_waits_anywhere() -> None:
    cluster = tie()
    with pytest.raises(IllegalStep, match="1 long cannot fire before 3->1 Note, which is due"):
        cluster.fire(1, "long")
    for node in (1, 1, 2, 2):
        cluster.deliver(3, node)
    cluster.fire(1, "long")


def test_either_comes_first_if_ties_go_both_ways() -> None:
    tie("ties=both").fire(1, "long")


def test_messages_to_paused_nodes_keep_no_timer_waiting() -> None:
    cluster = tie()
    cluster.deliver(3, 1)
    cluster.deliver(3, 1)
    cluster.pause(2)
    cluster.fire(1, "long")


def test_after_a_pause_what_is_due_comes_in_any_order() -> None:
    cluster = tie()
    cluster.deliver(3, 2)
    cluster.deliver(3, 2)
    cluster.pause(1)
    cluster.resume(1)
    cluster.fire(1, "long")
    assert heard(cluster, 1) == []


def test_the_end_of_an_office_waits_for_no_message() -> None:
    cluster = probes("cluster probe 1 2 3 T=2")
    cluster.ask(1, Hold())
    cluster.tick(2)
    cluster.ask(3, Shout())
    cluster.tick(2)
    cluster.fire(1, "lease")


def test_a_phase_shifts_a_timer() -> None:
    cluster = probes("cluster probe 1 2 T=2")
    with pytest.raises(IllegalStep, match="1 long is not armed"):
        cluster.phase(1, "long", 1)
    cluster.ask(1, Wait())
    cluster.phase(1, "long", 1)
    cluster.tick()
    cluster.fire(1, "long")


def test_with_unbounded_clocks_only_the_order_counts() -> None:
    cluster = shouting("clock=unbounded min=1")
    cluster.ask(1, Wait())
    cluster.fire(1, "long")
    cluster.tick(100)
    cluster.deliver(1, 2)
    cluster.crash(2)
    cluster.tick(100)
    assert len(cluster.channel(1, 2).waiting) == 1, "nothing is ever due"
    with pytest.raises(IllegalStep, match="1 long is not armed"):
        cluster.fire(1, "long")
