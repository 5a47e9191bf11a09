"""What is said about checks, and about the task that a leader hands over.

P. F. Souto, "Elections", 2021, slides "The Actual Bully Algorithm"; the Carnegie Mellon lecture
notes "Coordinator Election". What it all costs: src/electorate/costs/bully_rpc.py.
"""

import pytest

from electorate.protocols.bully_rpc import BullyRpc, BullyRpcState, Work
from electorate.simulate import Cluster, settle, started
from electorate.trace import Setting


def cluster_of(n: int, form: str, *rules: str) -> Cluster:
    """N nodes that follow node 1."""
    setting = Setting("bully-rpc", tuple(range(1, n + 1)), ("silence=200T", *rules))
    cluster = started(setting, setting.machine(BullyRpc, form))[0]
    settle(cluster)
    return cluster


def miss_leader(cluster: Cluster, node: int) -> None:
    """Let one node miss its leader, and all come to rest."""
    cluster.phase(node, "silence", 1)
    cluster.tick(1)
    cluster.fire(node, "silence")
    settle(cluster)


def state(cluster: Cluster, node: int) -> BullyRpcState:
    local = cluster.nodes[node].local
    assert local is not None
    assert isinstance(local.state, BullyRpcState)
    return local.state


@pytest.mark.parametrize("form", ["sound", "paper", "printed"])
def test_the_next_check_comes_2T_after_the_end_of_the_last(form: str) -> None:
    cluster = cluster_of(4, form)
    cluster.tick(cluster.nodes[1].timers["check"].earliest - cluster.now)
    cluster.fire(1, "check")
    settle(cluster)
    assert cluster.nodes[1].timers["check"].earliest - cluster.now == 2


@pytest.mark.parametrize(("start", "task"), [("fetch", 1), ("elect", 0)])
def test_without_fetching_the_old_leader_hands_out_an_old_task(start: str, task: int) -> None:
    cluster = cluster_of(3, "sound", f"start={start}")
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


def test_ready_hands_the_task_to_everybody_that_was_halted() -> None:
    cluster = cluster_of(4, "sound")
    cluster.ask(1, Work())
    cluster.crash(4)
    cluster.recover(4)
    settle(cluster)
    assert [state(cluster, node).task for node in (1, 2, 3, 4)] == [1, 1, 1, 1]
