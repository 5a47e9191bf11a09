"""Which groups form where not everybody is linked to everybody.

P. F. Souto, "Elections", 2021, slides "Is the Invitation Algorithm Correct?" to "Solution", after
S. D. Stoller. A4: a largest set of nodes that are all linked ends as one group. A4', weaker: every
node is in the group of its leader, and there are no more groups than such sets are needed.
"""

from collections.abc import Iterator
from itertools import product

import pytest

from electorate.core import Timing
from electorate.protocols.invitation import Invitation
from electorate.simulate import Cluster
from electorate.simulate.settle import run_until
from electorate.trace import Setting, Start
from tests.paper.connectivity import Graph, graphs

T = 2
PATH = Graph((1, 2, 3), frozenset({(1, 2), (2, 3)}))
RING = Graph((1, 2, 3, 4), frozenset({(1, 2), (2, 3), (3, 4), (1, 4)}))
PAIR = Graph((1, 2), frozenset({(1, 2)}))

BOOTS = [(0, 0, 0, 0), (5, 0, 9, 13), (13, 8, 5, 0)]
"""When each node boots: checks are in step, or out of step."""


def cluster_on(graph: Graph, boots: tuple[int, ...], *rules: str, form: str = "sound") -> Cluster:
    """A cluster that has had 45T for it."""
    setting = Setting("invitation", graph.ids, rules, timing=Timing(T), start=Start.DOWN)
    cluster = Cluster(setting, setting.machine(Invitation, form))
    cluster.recording = False
    for a, b in graph.missing():
        cluster.cut(a, b)
        cluster.cut(b, a)
    for time, node in sorted(zip(boots, graph.ids, strict=False)):
        run_until(cluster, time)
        cluster.recover(node)
    run_until(cluster, 45 * T)
    return cluster


def lacks(graph: Graph, cluster: Cluster) -> Iterator[str]:
    """What is lacking of A4' at any time in the next 25T."""
    cover = graph.cover()
    for time in range(cluster.now, cluster.now + 25 * T):
        run_until(cluster, time)
        yield from graph.lacks_of_a4_weakened(cluster.row(), cover)


def leaders(cluster: Cluster) -> dict[int, int]:
    return {node: view.leader for node, view in cluster.row().live() if view.leader is not None}


@pytest.mark.parametrize("boots", BOOTS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_sound_form_keeps_a4_weakened_on_every_network(n: int, boots: tuple[int, ...]) -> None:
    for graph in graphs(n):
        assert list(lacks(graph, cluster_on(graph, boots))) == [], graph


def test_without_an_effective_delay_a4_weakened_fails_on_two_nodes() -> None:
    cluster = cluster_on(PAIR, (0, 0), "outranked=delay", "delay=0")
    assert "there are 2 groups where 1 would do" in lacks(PAIR, cluster)


def test_as_printed_a4_weakened_fails_on_two_nodes_whose_checks_are_out_of_step() -> None:
    cluster = cluster_on(PAIR, (2 * T, 0), "delay=2T", "check=8T", form="printed")
    assert "there are 2 groups where 1 would do" in lacks(PAIR, cluster)


def test_with_a_plain_probe_a4_weakened_fails_where_a_leader_restarts_unseen() -> None:
    cluster = cluster_on(PAIR, (0, 0), "probe=alive")
    assert list(lacks(PAIR, cluster)) == []
    cluster.crash(1)
    cluster.recover(1)
    run_until(cluster, cluster.now + 45 * T)
    assert "2 is not in the group of its leader 1" in lacks(PAIR, cluster)


def test_a_ring_of_four_ends_in_two_groups_though_one_of_them_is_no_clique() -> None:
    cluster = cluster_on(RING, (0, 0, 0, 0))
    assert RING.cover() == 2
    assert leaders(cluster) == {1: 1, 2: 1, 4: 1, 3: 3}
    assert not RING.linked(1, 2, 4)


def test_on_the_path_of_three_nodes_a4_could_be_kept_and_is_not() -> None:
    """Slide "Problematic Scenario": not the claim is at odds with itself, but with the ranks."""
    assert PATH.a4({1: 2, 2: 2, 3: 2})
    assert leaders(cluster_on(PATH, (0, 0, 0))) == {1: 1, 2: 1, 3: 3}
    assert not PATH.a4({1: 1, 2: 1, 3: 3})


@pytest.mark.parametrize(("n", "kept", "of"), [(2, 2, 2), (3, 6, 8), (4, 26, 64)])
def test_on_how_many_networks_the_sound_form_keeps_a4(n: int, kept: int, of: int) -> None:
    held = [graph.a4(leaders(cluster_on(graph, (0,) * n))) for graph in graphs(n)]
    assert (sum(held), len(held)) == (kept, of)


def has_centres(graph: Graph) -> bool:
    """Whether every connected part has a node that is linked to all others of it."""
    parts = {graph.reached_from(node) for node in graph.ids}
    return all(any(all(graph.linked(i, j) for j in p if j != i) for i in p) for p in parts)


@pytest.mark.parametrize(("n", "satisfiable", "of"), [(2, 2, 2), (3, 8, 8), (4, 49, 64)])
def test_a4_can_be_kept_where_every_connected_part_has_a_centre(
    n: int, satisfiable: int, of: int
) -> None:
    found = 0
    for graph in graphs(n):
        choices = (dict(zip(graph.ids, c, strict=True)) for c in product(graph.ids, repeat=n))
        can_be_kept = any(map(graph.a4, choices))
        assert can_be_kept is has_centres(graph)
        found += can_be_kept
    assert (found, sum(1 for _ in graphs(n))) == (satisfiable, of)


def test_of_all_networks_of_five_nodes_not_half_allow_a4() -> None:
    assert sum(map(has_centres, graphs(5))) == 477
    assert sum(1 for _ in graphs(5)) == 1024
