"""What the paper says of its algorithm, held against all three forms of it.

S. Park, "A Safe Election Protocol based on an Unreliable Failure Detector in Distributed Systems".
What a view of m nodes costs: src/electorate/protocols/park.toml.
"""

from collections import Counter
from collections.abc import Iterable
from typing import get_args

import pytest

from benchmarks.park_views import fare
from electorate.core import NodeId, Send, Strongest
from electorate.costs.play import Play
from electorate.costs.variant import Variant
from electorate.protocols.registry import REGISTRY
from electorate.simulate import Simulation, settle, started
from electorate.trace import Setting

SIZES = range(3, 9)
THAT_ELECT = ("park", "park-as-printed")


def cluster_of(
    name: str, n: int, strongest: Strongest = "lowest", rules: tuple[str, ...] = ()
) -> Simulation:
    """N nodes that follow the strongest."""
    setting = Setting(name, tuple(range(1, n + 1)), rules, strongest)
    return started(setting, setting.machine(*REGISTRY[name]))[0]


def lose_leader(cluster: Simulation) -> frozenset[NodeId]:
    """The leader dies and all notice at once, the strongest last; who is left."""
    members = cluster.members
    leader = members.strongest_of(members.ids)
    left = frozenset(members.others(leader))
    cluster.crash(leader)
    for node in sorted(left, key=members.rank):
        cluster.view(node, left)
    return left


def sent(cluster: Simulation, *, to_oneself: bool) -> Counter[str]:
    """How many messages of each kind were sent to others, or to oneself."""
    return Counter(
        type(effect.message).__name__
        for step in cluster.steps
        for turn in step.turns
        for effect in turn.effects
        if isinstance(effect, Send) and (effect.to == turn.node) is to_oneself
    )


def leaders(cluster: Simulation, nodes: Iterable[NodeId]) -> set[NodeId | None]:
    standings = dict(zip(cluster.members.ids, cluster.row().standings, strict=True))
    return {standing.leader for node in nodes if (standing := standings[node]) is not None}


@pytest.mark.parametrize("name", THAT_ELECT)
@pytest.mark.parametrize("n", SIZES)
def test_where_the_highest_rank_wins_an_election_costs_the_same(name: str, n: int) -> None:
    """A view of m costs three messages for every other node: src/electorate/protocols/park.toml."""
    lowest, highest = (
        Play(cluster_of(name, n, strongest), (), Variant({"N": n}, {}))
        for strongest in get_args(Strongest)
    )
    tally = lowest.run("crash 1; for i in 2..N: suspect i; settle")
    assert tally == highest.run("crash N; for i in 1..N-1: suspect i; settle")
    assert list(highest.strays("N-1")) == []
    assert tally.kinds.total() == 3 * (n - 2)


@pytest.mark.parametrize("name", THAT_ELECT)
def test_a_node_alone_leads_at_once(name: str) -> None:
    cluster = cluster_of(name, 2)
    lose_leader(cluster)
    assert leaders(cluster, [2]) == {2}
    assert not sent(cluster, to_oneself=False)


@pytest.mark.parametrize("missed", [1, 5, 20])
def test_a_node_that_missed_many_elections_is_rejected_once(missed: int) -> None:
    """The rejection of the paper sends back the proposed round, and nothing else."""
    waits = {}
    for learn in ("yes", "no"):
        cluster = cluster_of("park", 2, rules=(f"learn={learn}",))
        for _ in range(missed + 1):
            cluster.crash(2)
            cluster.recover(2)
            cluster.view(2, [2])
        cluster.view(2, [1, 2])
        settle(cluster)
        assert leaders(cluster, [1, 2]) == {1}
        waits[learn] = sent(cluster, to_oneself=False)["Reject"]
    assert waits == {"yes": 1, "no": missed}


def test_the_figure_as_printed_sends_nothing_but_proposals_and_rejections() -> None:
    """CurView is false whenever the guard asks for it, and PropIn is never assigned."""
    setting = Setting.parse("cluster park-literal 1 2 3 4 start=boot")
    cluster, boots = started(setting, setting.machine(*REGISTRY["park-literal"]))
    cluster.steps[:0] = boots
    settle(cluster)
    for view in ([2, 3, 4], [1, 2, 3, 4], [3, 4], [4]):
        for node in view:
            cluster.view(node, view)
        settle(cluster)
    words = sent(cluster, to_oneself=False) + sent(cluster, to_oneself=True)
    assert set(words) == {"Propose", "Reject"}
    assert words["Propose"] == words["Reject"]
    assert leaders(cluster, cluster.members.ids) == {None}


def test_with_the_comparison_of_the_text_a_proposer_rejects_itself() -> None:
    """Section 4.2: "and the proposed round greater than the current round"."""
    setting = Setting.parse("cluster park-as-printed 1 2 3 start=boot rule:compare=greater")
    cluster, boots = started(setting, setting.machine(*REGISTRY["park-as-printed"]))
    cluster.steps[:0] = boots
    settle(cluster)
    assert sent(cluster, to_oneself=True)["Reject"] == 1
    assert sent(cluster, to_oneself=False) == Counter({"Propose": 2, "Accept": 2, "Abort": 2})
    assert leaders(cluster, cluster.members.ids) == {None}


@pytest.mark.parametrize(
    ("rules", "undisturbed"), [((), True), (("unseen=accept", "release=promise"), False)]
)
def test_a_set_of_nodes_that_agree_on_their_view_needs_nothing_from_outside(
    rules: tuple[str, ...], undisturbed: bool
) -> None:
    """Section 3: progress where detectors agree, even if failures and recoveries continue."""
    cluster = cluster_of("park", 4, rules=rules)
    left = lose_leader(cluster)
    settle(cluster)
    for _ in range(3):
        cluster.recover(1)
        for node in sorted(left):
            cluster.deliver(1, node)
        assert leaders(cluster, left) == ({2} if undisturbed else {None})
        cluster.crash(1)


def test_the_rarer_the_suspicions_the_more_of_them_are_repaired_in_time() -> None:
    """Section 6: progress at every leader failure if they are rarer than the protocol is slow."""
    fares = [fare("park", 3, (), gap, seeds=2) for gap in (3, 12, 60)]
    repaired = [each.repaired for each in fares]
    assert repaired == sorted(repaired)
    assert repaired[0] < 0.3 < 0.8 < repaired[-1]
    assert all(each.split == 0 for each in fares)


def test_as_printed_wrong_suspicions_end_all_agreement() -> None:
    printed = fare("park-as-printed", 3, (), 12, seeds=2)
    assert printed.agreed < 0.05 < printed.split
