"""What an election by remote calls costs, every delay being exactly T.

P. F. Souto, "Elections", 2021, slides "The Actual Bully Algorithm"; N counts the dead old leader,
and calls to it count. A call is a request and, if it is completed, an answer.
"""

from collections import Counter

import pytest

from electorate.core import Send
from electorate.protocols.bully_rpc import BullyRpc, BullyRpcState, Work
from electorate.simulate import Simulation, settle, started
from electorate.trace import Setting

SIZES = range(3, 9)
PATIENT = "silence=200T"
"""Nobody loses patience with a candidate that has many nodes to call."""

ANSWERS = {
    "AreYouThere": "Here",
    "AreYouNormal": "Report",
    "Halt": "Halted",
    "NewLeader": "Noted",
    "Ready": "Begun",
}


def cluster_of(n: int, form: str, *rules: str) -> Simulation:
    """N nodes that follow node 1."""
    setting = Setting("bully-rpc", tuple(range(1, n + 1)), (PATIENT, *rules))
    cluster = started(setting, setting.machine(BullyRpc, form))[0]
    settle(cluster)
    cluster.steps.clear()
    return cluster


def calls(cluster: Simulation) -> tuple[Counter[str], Counter[str]]:
    """The calls that were completed, and those that were not, by the name of the request."""
    sent = Counter(
        type(effect.message).__name__
        for step in cluster.steps
        for turn in step.turns
        for effect in turn.effects
        if isinstance(effect, Send)
    )
    completed = Counter({call: sent[answer] for call, answer in ANSWERS.items()})
    return +completed, Counter({call: sent[call] for call in ANSWERS}) - completed


def miss_leader(cluster: Simulation, node: int) -> int:
    """Let one node miss its leader, and all come to rest; returns how many T that takes."""
    cluster.phase(node, "silence", 1)
    cluster.tick(1)
    begun = cluster.now
    cluster.fire(node, "silence")
    settle(cluster)
    return cluster.now - begun


def state(cluster: Simulation, node: int) -> BullyRpcState:
    local = cluster.nodes[node].local
    assert local is not None
    assert isinstance(local.state, BullyRpcState)
    return local.state


@pytest.mark.parametrize(("form", "stages"), [("sound", 3), ("paper", 3), ("printed", 2)])
@pytest.mark.parametrize("n", SIZES)
def test_the_strongest_survivor_calls_everybody_three_times_or_twice_without_ready(
    n: int, form: str, stages: int
) -> None:
    """Two calls time out: the question to the leader that is missed, and the probe."""
    cluster = cluster_of(n, form)
    cluster.crash(1)
    time = miss_leader(cluster, 2)
    completed, timed_out = calls(cluster)
    names = ("Halt", "NewLeader", "Ready")[:stages]
    assert completed == Counter(dict.fromkeys(names, n - 2))
    assert completed.total() == stages * (n - 2)
    assert timed_out == Counter({"AreYouThere": 2})
    assert time == 2 * (2 + stages * (n - 2))


@pytest.mark.parametrize(("form", "stages"), [("paper", 3), ("printed", 2)])
@pytest.mark.parametrize("n", SIZES)
def test_an_election_that_is_called_at_once_has_one_probe_that_times_out(
    n: int, form: str, stages: int
) -> None:
    cluster = cluster_of(n, form)
    cluster.crash(1)
    cluster.crash(2)
    cluster.steps.clear()
    begun = cluster.now
    cluster.recover(2)
    settle(cluster)
    completed, timed_out = calls(cluster)
    assert completed.total() == stages * (n - 2)
    assert timed_out == Counter({"AreYouThere": 1})
    assert cluster.now - begun == 2 * (1 + stages * (n - 2))


@pytest.mark.parametrize("form", ["sound", "paper", "printed"])
@pytest.mark.parametrize("n", SIZES)
def test_a_check_is_one_call_to_everybody_else(n: int, form: str) -> None:
    cluster = cluster_of(n, form)
    cluster.tick(cluster.nodes[1].timers["check"].earliest - cluster.now)
    begun = cluster.now
    cluster.fire(1, "check")
    settle(cluster)
    assert calls(cluster) == (Counter({"AreYouNormal": n - 1}), Counter())
    # A check takes 2T, and the next one comes 2T after its end.
    assert cluster.now - begun == 2
    assert cluster.nodes[1].timers["check"].earliest - cluster.now == 2


@pytest.mark.parametrize("n", SIZES)
def test_the_weakest_survivor_finds_the_next_one_up_and_leaves_it_to_that(n: int) -> None:
    cluster = cluster_of(n, "sound")
    cluster.crash(1)
    time = miss_leader(cluster, n)
    assert calls(cluster) == (Counter({"AreYouThere": 1}), Counter({"AreYouThere": 1}))
    assert time == 4
    assert state(cluster, n).leader == 1


@pytest.mark.parametrize("n", SIZES)
def test_the_old_leader_fetches_the_task_and_calls_everybody_three_times(n: int) -> None:
    cluster = cluster_of(n, "sound", "check=100T")
    cluster.crash(1)
    miss_leader(cluster, 2)
    cluster.ask(2, Work())
    cluster.steps.clear()
    begun = cluster.now
    cluster.recover(1)
    settle(cluster)
    completed, timed_out = calls(cluster)
    names = ("AreYouNormal", "Halt", "NewLeader", "Ready")
    assert completed == Counter(dict.fromkeys(names, n - 1))
    assert not timed_out
    assert cluster.now - begun == 2 + 2 * 3 * (n - 1)
    assert {state(cluster, node).task for node in range(1, n + 1)} == {1}


@pytest.mark.parametrize(
    ("rules", "task"),
    [
        (("start=fetch", "resumes=own"), 1),
        (("start=elect", "resumes=own"), 0),
        (("start=elect", "resumes=freshest"), 1),
    ],
)
def test_without_fetching_the_old_leader_hands_out_an_old_task(
    rules: tuple[str, ...], task: int
) -> None:
    cluster = cluster_of(3, "sound", *rules)
    cluster.crash(1)
    miss_leader(cluster, 2)
    cluster.ask(2, Work())
    cluster.recover(1)
    settle(cluster)
    assert {state(cluster, node).task for node in (1, 2, 3)} == {task}


@pytest.mark.parametrize("n", SIZES)
def test_the_weakest_node_is_taken_in_by_a_check_and_an_election(n: int) -> None:
    cluster = cluster_of(n, "sound")
    cluster.crash(n)
    cluster.steps.clear()
    cluster.recover(n)
    settle(cluster)
    completed, timed_out = calls(cluster)
    # It fetches the task and finds somebody stronger; the leader checks and then elects.
    assert completed == Counter(
        {
            "AreYouNormal": 2 * (n - 1),
            "AreYouThere": 1,
            **dict.fromkeys(("Halt", "NewLeader", "Ready"), n - 1),
        }
    )
    assert not timed_out


def test_ready_hands_the_task_to_everybody_that_was_halted() -> None:
    cluster = cluster_of(4, "sound")
    cluster.ask(1, Work())
    cluster.crash(4)
    cluster.recover(4)
    settle(cluster)
    assert [state(cluster, node).task for node in (1, 2, 3, 4)] == [1, 1, 1, 1]
