"""Which groups form where not everybody is linked to everybody, every delay being T.

P. F. Souto, "Elections", 2021, slides "Is the Invitation Algorithm Correct?" to "Solution", after
S. D. Stoller. A4: a largest set of nodes that are all linked ends as one group. A4', weaker: every
node is in the group of its leader, and there are no more groups than such sets are needed.
What no choice of delays can change is in tests/check/test_invitation_network.py.
"""

from collections.abc import Iterator
from itertools import product

import pytest

from electorate.claims import CLAIMS
from electorate.claims.connectivity import Connectivity
from electorate.claims.network import networks, row_of, way_to_keep_a4
from electorate.core import Timing
from electorate.protocols.invitation import Invitation
from electorate.simulate import Simulation
from electorate.simulate.settle import run_until
from electorate.trace import Setting, Start
from tests.paper.connectivity import shapes

T = 2
A4, A4_WEAKENED = CLAIMS["A4"], CLAIMS["A4p"]
PATH = Connectivity((1, 2, 3), frozenset({(1, 2), (2, 3)}))
RING = Connectivity((1, 2, 3, 4), frozenset({(1, 2), (2, 3), (3, 4), (1, 4)}))
PAIR = Connectivity((1, 2), frozenset({(1, 2)}))

BOOTS = [(0, 0, 0, 0), (5, 0, 9, 13), (13, 8, 5, 0)]
"""When each node boots: checks are in step, or out of step."""


def cluster_on(
    network: Connectivity, boots: tuple[int, ...], *rules: str, form: str = "sound"
) -> Simulation:
    """A cluster that has had 45T for it."""
    links = tuple(sorted(network.links))
    setting = Setting(
        "invitation", network.nodes, rules, timing=Timing(T), start=Start.DOWN, graph=links
    )
    cluster = Simulation(setting, setting.machine(Invitation, form))
    cluster.recording = False
    for time, node in sorted(zip(boots, network.nodes, strict=False)):
        run_until(cluster, time)
        cluster.recover(node)
    run_until(cluster, 45 * T)
    return cluster


def lacks(cluster: Simulation) -> Iterator[str]:
    """What is lacking of A4' at any time in the next 25T."""
    for time in range(cluster.now, cluster.now + 25 * T):
        run_until(cluster, time)
        witness = A4_WEAKENED.judge(cluster.row())
        if witness is not None:
            yield witness.text


def leaders(cluster: Simulation) -> dict[int, int]:
    return {node: view.leader for node, view in cluster.row().live() if view.leader is not None}


@pytest.mark.parametrize("boots", BOOTS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_sound_form_keeps_a4_weakened_on_every_network(n: int, boots: tuple[int, ...]) -> None:
    for network in networks(n):
        assert list(lacks(cluster_on(network, boots))) == [], network


@pytest.mark.slow
def test_it_does_so_on_every_network_of_five_nodes_too() -> None:
    for network in networks(5):
        assert list(lacks(cluster_on(network, (5, 0, 9, 13, 3)))) == [], network


def test_without_an_effective_delay_a4_weakened_fails_on_two_nodes() -> None:
    cluster = cluster_on(PAIR, (0, 0), "outranked=delay", "delay=0")
    assert "there are 2 groups where 1 would do: 1; 2" in lacks(cluster)


def test_as_printed_a4_weakened_fails_on_two_nodes_whose_checks_are_out_of_step() -> None:
    cluster = cluster_on(PAIR, (2 * T, 0), "delay=2T", "check=8T", form="printed")
    assert "there are 2 groups where 1 would do: 1; 2" in lacks(cluster)


def test_with_a_plain_probe_a4_weakened_fails_where_a_leader_restarts_unseen() -> None:
    cluster = cluster_on(PAIR, (0, 0), "probe=alive")
    assert list(lacks(cluster)) == []
    cluster.crash(1)
    cluster.recover(1)
    run_until(cluster, cluster.now + 45 * T)
    left_behind = "2 follows 1 in group (1, 2), but 1 follows 1 in group (1, 3)"
    assert set(lacks(cluster)) == {left_behind}


def test_a_ring_of_four_ends_in_two_groups_though_one_of_them_is_no_clique() -> None:
    cluster = cluster_on(RING, (0, 0, 0, 0))
    assert RING.cover() == 2
    assert leaders(cluster) == {1: 1, 2: 1, 4: 1, 3: 3}
    assert not RING.are_linked((1, 2, 4))


def test_on_the_path_of_three_nodes_a4_could_be_kept_and_is_not() -> None:
    """Slide "Problematic Scenario": not the claim is at odds with itself, but with the ranks."""
    assert A4.judge(row_of(PATH, (2, 2, 2))) is None
    assert leaders(cluster_on(PATH, (0, 0, 0))) == {1: 1, 2: 1, 3: 3}
    assert A4.judge(row_of(PATH, (1, 1, 3))) is not None


@pytest.mark.parametrize(("n", "kept", "of"), [(2, 2, 2), (3, 6, 8), (4, 26, 64)])
def test_on_how_many_networks_the_sound_form_keeps_a4(n: int, kept: int, of: int) -> None:
    held = [A4.judge(cluster_on(network, (0,) * n).row()) is None for network in networks(n)]
    assert (sum(held), len(held)) == (kept, of)


@pytest.mark.parametrize(
    ("n", "satisfiable", "of"), [(2, 2, 2), (3, 8, 8), (4, 49, 64), (5, 477, 1024)]
)
def test_a4_can_be_kept_where_every_connected_part_has_a_centre(
    n: int, satisfiable: int, of: int
) -> None:
    """Every way to follow each other is tried, on one network of each shape."""
    found = total = 0
    for network, count in shapes(n).items():
        ways = product(network.nodes, repeat=n)
        can_be_kept = any(A4.judge(row_of(network, way)) is None for way in ways)
        assert can_be_kept is (way_to_keep_a4(network) is not None)
        found, total = found + can_be_kept * count, total + count
    assert (found, total) == (satisfiable, of)
