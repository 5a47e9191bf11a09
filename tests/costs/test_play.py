"""A case's script does what it says, and everything that is sent is counted once."""

from collections import Counter

import pytest

from electorate.costs.play import Play, Tally
from electorate.costs.variant import Variant
from electorate.protocols.registry import REGISTRY
from electorate.simulate import IllegalStep, Simulation, started
from electorate.trace import Crashed, Recovered, Saw, Setting, Start


def cluster_of(
    name: str, nodes: int = 3, start: Start = Start.NORMAL, rules: tuple[str, ...] = ()
) -> Play:
    setting = Setting(name, tuple(range(1, nodes + 1)), rules, start=start)
    cluster, boots = started(setting, setting.machine(*REGISTRY[name]))
    return Play(cluster, boots, Variant({"N": nodes}, {"S": (1, 3)}))


def happened(cluster: Simulation, kind: type) -> list[object]:
    return [step.happening for step in cluster.steps if isinstance(step.happening, kind)]


def test_messages_are_counted_by_kind_with_their_time_and_rounds() -> None:
    """Node 3 asks both, node 2 answers and asks; 1 is down; then node 2 halts and announces."""
    tally = cluster_of("bully", rules=("doubt=0",)).run("crash 1; suspect 3; settle")
    sent = Counter({"AreYouThere": 3, "Yes": 1, "Halt": 1, "NewLeader": 1})
    assert tally == Tally(sent, multicasts=5, memories=0, rounds=6, time=5)


def test_the_same_words_to_several_nodes_are_one_multicast() -> None:
    tally = cluster_of("bully", 5, rules=("doubt=0",)).run("crash 1; suspect 2; settle")
    assert (tally.kinds["Halt"], tally.kinds["NewLeader"], tally.multicasts) == (3, 3, 3)


def test_what_a_node_says_to_itself_is_no_message() -> None:
    tally = cluster_of("park", start=Start.BOOT).run("settle")
    assert tally.kinds == Counter({"Propose": 2, "Accept": 2, "Commit": 2})
    assert tally.memories == 3


def test_boots_count_where_a_run_begins_with_them() -> None:
    play = cluster_of("bully", start=Start.BOOT)
    assert play.run("count").kinds.total() == 0
    play = cluster_of("bully", start=Start.BOOT)
    # Two probes of node 3, one of node 2, and the two halts of node 1.
    assert play.run("tick T").kinds == Counter({"AreYouThere": 3, "Halt": 2})


def test_counting_begins_anew_after_count() -> None:
    tally = cluster_of("bully").run("crash 3; tick 5T; count; recover 3; settle")
    assert tally.time == 3
    assert tally.kinds["Halt"] == 2


def test_a_loop_repeats_its_command_for_each_number_or_member() -> None:
    play = cluster_of("bully", 4)
    play.run("crash 1; for i in 2..N: suspect i")
    assert [saw.node for saw in happened(play.cluster, Saw) if isinstance(saw, Saw)] == [2, 3, 4]
    play = cluster_of("bully", 4)
    play.run("for j in S: crash j")
    assert happened(play.cluster, Crashed) == [Crashed(1), Crashed(3)]


def test_numbers_ranges_and_sets_are_filled_in() -> None:
    play = cluster_of("bully", 4)
    play.run("view N-1 2..N; view N S N; crash 1\n  tick T; suspect N/2")
    views = [saw.alive for saw in happened(play.cluster, Saw) if isinstance(saw, Saw)]
    assert views == [{2, 3, 4}, {1, 3, 4}, {2, 3, 4}]


def test_the_leader_can_be_named_and_so_can_the_node_that_is_down() -> None:
    play = cluster_of("bully")
    play.run("crash leader; notice; agree; recover down; notice; agree")
    assert happened(play.cluster, Crashed) == [Crashed(1)]
    assert happened(play.cluster, Recovered) == [Recovered(1)]
    assert list(play.strays("1")) == []
    assert list(play.strays("N")) == [f"{n} is normal and follows 1, not 3" for n in (1, 2, 3)]


def test_a_machine_without_views_has_nothing_to_notice() -> None:
    play = cluster_of("invitation")
    play.run("crash leader; notice; agree")
    assert happened(play.cluster, Saw) == []
    assert list(play.strays("2")) == []


def test_run_lets_happen_what_is_due_by_then() -> None:
    play = cluster_of("invitation")
    play.run("run 7T")
    assert play.cluster.now == 7


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("crash 1; crash 1", "1 is down already"),
        ("jump", "unknown command 'jump'"),
        ("crash leader; crash 2; crash leader", "1 is down already"),
        (
            "crash 1; suspect 2; crash leader",
            r"follow the same one: 2 is .* and follows",
        ),
        ("crash N/2", "which is no whole number"),
    ],
)
def test_what_cannot_be_played_says_why(script: str, problem: str) -> None:
    with pytest.raises((IllegalStep, ValueError), match=problem):
        cluster_of("bully").run(script)


def test_nodes_that_never_agree_are_given_up() -> None:
    with pytest.raises(
        IllegalStep, match="the nodes do not agree within 1000T: 1 is election and follows"
    ):
        cluster_of("park-literal", start=Start.BOOT).run("agree")
