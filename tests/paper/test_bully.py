"""What an election costs, every delay being exactly T and one node being the initiator.

P. F. Souto, "Elections", 2021, slides "The Bully Election Algorithm" and "Example Execution";
N counts the dead old leader, and messages to it count.
"""

from collections import Counter

import pytest

from electorate.core import Send
from electorate.protocols.bully import Bully
from electorate.simulate import Cluster, settle, started
from electorate.trace import Delivered, Setting

SIZES = range(3, 9)
FORMS = ("sound", "printed")


def cluster_of(n: int, form: str) -> Cluster:
    """N nodes that follow node 1."""
    setting = Setting("bully", tuple(range(1, n + 1)))
    return started(setting, setting.machine(Bully, form))[0]


def cost(cluster: Cluster) -> tuple[Counter[str], int]:
    """How many messages of each kind were sent, and when the last one was delivered."""
    sent: Counter[str] = Counter()
    last = 0
    for step in cluster.steps:
        sent.update(
            type(effect.message).__name__
            for turn in step.turns
            for effect in turn.effects
            if isinstance(effect, Send)
        )
        if isinstance(step.happening, Delivered):
            last = step.at
    return sent, last - cluster.steps[0].at


def suspect_leader(cluster: Cluster, *nodes: int) -> None:
    for node in nodes:
        cluster.view(node, cluster.everybody - {1})


def expect(cluster: Cluster, probes: int, answers: int, halts: int, total: int, last: int) -> None:
    """`halts` is also the number of announcements."""
    sent, time = cost(cluster)
    named = {"AreYouThere": probes, "Yes": answers, "Halt": halts, "NewLeader": halts}
    assert sent == Counter(named)
    assert sent.total() == total
    assert time == last * cluster.setting.timing.T


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_the_strongest_survivor_starts(n: int, form: str) -> None:
    cluster = cluster_of(n, form)
    cluster.crash(1)
    suspect_leader(cluster, 2)
    settle(cluster)
    expect(cluster, 1, 0, n - 2, total=2 * n - 3, last=4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_the_weakest_survivor_starts(n: int, form: str) -> None:
    cluster = cluster_of(n, form)
    cluster.crash(1)
    suspect_leader(cluster, n)
    settle(cluster)
    total = (n - 1) ** 2 + 2 * (n - 2)
    expect(cluster, n * (n - 1) // 2, (n - 1) * (n - 2) // 2, n - 2, total=total, last=5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_all_survivors_start_at_once(n: int, form: str) -> None:
    cluster = cluster_of(n, form)
    cluster.crash(1)
    suspect_leader(cluster, *range(2, n + 1))
    settle(cluster)
    total = (n - 1) ** 2 + 2 * (n - 2)
    expect(cluster, n * (n - 1) // 2, (n - 1) * (n - 2) // 2, n - 2, total=total, last=4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_the_old_leader_recovers(n: int, form: str) -> None:
    """Its HALTs arrive before anybody's detector has noticed that it is back."""
    cluster = cluster_of(n, form)
    cluster.crash(1)
    suspect_leader(cluster, *range(2, n + 1))
    settle(cluster)
    cluster.steps.clear()
    cluster.recover(1)
    cluster.tick(cluster.setting.timing.T)
    for node in range(2, n + 1):
        cluster.deliver(1, node)
        cluster.view(node, cluster.everybody)
    settle(cluster)
    expect(cluster, 0, 0, n - 1, total=2 * (n - 1), last=2)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_the_weakest_node_recovers(n: int, form: str) -> None:
    cluster = cluster_of(n, form)
    cluster.crash(n)
    cluster.steps.clear()
    cluster.recover(n)
    settle(cluster)
    pairs = n * (n - 1) // 2
    expect(cluster, pairs, pairs, n - 1, total=(n - 1) * (n + 2), last=3)
