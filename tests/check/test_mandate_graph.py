"""Whatever links there are: if some node reaches a majority, somebody comes into office (M5), and
all whom it reaches come to know it (M7).

On every graph of labelled nodes, from boot. Where the strongest node of a neighbourhood reaches no
majority, it falls silent, and the next one stands.
"""

import pytest

from electorate.check import Budget, Liveness, Verdict
from electorate.claims.connectivity import Connectivity
from electorate.claims.network import networks
from electorate.trace import Clock
from tests.check.leading import Case as Leading
from tests.check.leading import judged as leading
from tests.check.mandate import Case, judged

NOTHING = Budget()


def reaches_a_majority(network: Connectivity) -> bool:
    """Whether some node and its neighbours are more than half of all."""
    nodes = network.nodes
    return any(2 * (1 + len(network.neighbours(node))) > len(nodes) for node in nodes)


def graphs_of(nodes: int) -> list[Connectivity]:
    """Those on which somebody could be in office."""
    return [network for network in networks(nodes) if reaches_a_majority(network)]


def verdicts(
    inner: str,
    nodes: int,
    rules: str = "rounds=2",
    delay_min: int = 1,
    budget: Budget = NOTHING,
    claims: str = "M5 M7",
) -> list[Verdict]:
    """One for every graph on which somebody could be in office."""
    engine = "python" if delay_min and budget == NOTHING else "numba"
    cases = [
        Case(
            rules,
            nodes,
            budget,
            claims,
            inner,
            Clock.BOUNDED,
            delay_min=delay_min,
            counter=8,
            graph=tuple(sorted(network.links)),
        )
        for network in graphs_of(nodes)
    ]
    return [judged(case, engine=engine) for case in cases]


def expect_live(found: list[Verdict], graphs: int, worst: int) -> None:
    assert len(found) == graphs
    assert all(verdict.liveness is Liveness.LIVE and not verdict.cuts for verdict in found)
    assert max(verdict.tau or 0 for verdict in found) == worst


@pytest.mark.parametrize(
    ("inner", "nodes", "graphs", "worst"),
    [("strongest-alive", 3, 7, 4), ("strongest-alive", 4, 54, 10), ("bully", 3, 7, 7)],
)
def test_somebody_comes_into_office_if_every_delay_is_t(
    inner: str, nodes: int, graphs: int, worst: int
) -> None:
    expect_live(verdicts(inner, nodes), graphs, worst)


@pytest.mark.parametrize(("inner", "worst"), [("strongest-alive", 4), ("bully", 7)])
def test_somebody_does_on_three_nodes_whatever_the_delays(inner: str, worst: int) -> None:
    expect_live(verdicts(inner, 3, delay_min=0), 7, worst)


@pytest.mark.slow
@pytest.mark.parametrize(("inner", "worst"), [("strongest-alive", 13), ("bully", 17)])
def test_somebody_does_on_four_nodes_whatever_the_delays(inner: str, worst: int) -> None:
    expect_live(verdicts(inner, 4, delay_min=0), 54, worst)


@pytest.mark.slow
@pytest.mark.parametrize(("inner", "worst"), [("strongest-alive", 17), ("bully", 20)])
def test_somebody_does_on_five_nodes_if_every_delay_is_t(inner: str, worst: int) -> None:
    expect_live(verdicts(inner, 5), 998, worst)


@pytest.mark.parametrize("silence", [pytest.param("never", marks=pytest.mark.slow), "untold"])
def test_without_silence_or_a_word_of_it_sixteen_graphs_of_four_have_no_office(
    silence: str,
) -> None:
    found = verdicts("strongest-alive", 4, f"rounds=2 silence={silence}")
    assert sum(verdict.liveness is Liveness.STUCK for verdict in found) == 16
    assert sum(verdict.liveness is Liveness.LIVE for verdict in found) == 38


@pytest.mark.parametrize(
    ("base", "nodes", "asks", "graphs", "worst"),
    [
        (2, 3, 1, 7, 15),
        (3, 3, 1, 7, 46),
        pytest.param(3, 3, 2, 7, 46, marks=pytest.mark.slow),
        pytest.param(3, 4, 1, 54, 46, marks=pytest.mark.slow),
        pytest.param(4, 4, 1, 54, 36, marks=pytest.mark.slow),
    ],
)
def test_members_change_whatever_links_there_are(
    base: int, nodes: int, asks: int, graphs: int, worst: int
) -> None:
    """And what is begun is decided (M6)."""
    rules = f"rounds=2 base={base}"
    found = verdicts("strongest-alive", nodes, rules, budget=Budget(asks=asks), claims="M5 M6 M7")
    # Where the first members do not reach each other nobody can be asked for a change.
    idle = [verdict for verdict in found if verdict.unspent]
    assert len(idle) == sum(not begins(network, base) for network in graphs_of(nodes))
    assert {verdict.reason for verdict in idle} <= {
        "the search says nothing: none of the faults that a run may spend could happen"
    }
    assert len(found) == graphs
    expect_live([v for v in found if v not in idle], graphs - len(idle), worst)


def begins(network: Connectivity, base: int) -> bool:
    """Whether some of the first members and its neighbours are more than half of them."""
    first = set(network.nodes[:base])
    return any(2 * (1 + len(first & set(network.neighbours(n)))) > base for n in first)


STAR = ((1, 2), (2, 3), (2, 4))


def test_who_should_lead_but_reaches_no_majority_leaves_the_office_alone() -> None:
    """Node 4 has the highest priority, and reaches only the middle of the star."""
    case = Case(
        "rounds=2 base=4",
        4,
        Budget(),
        "M5 M7",
        "strongest-alive",
        Clock.BOUNDED,
        delay_min=1,
        counter=6,
        graph=STAR,
        attributes=(1, 1, 1, 2),
        form="application",
        strongest="highest",
    )
    expect_live([judged(case, engine="python")], 1, 9)


@pytest.mark.parametrize(
    ("nodes", "graphs", "worst", "delay_min"),
    [(3, 7, 5, 1), (3, 7, 5, 0), pytest.param(4, 54, 11, 1, marks=pytest.mark.slow)],
)
def test_so_it_is_for_what_a_node_of_an_application_runs(
    nodes: int, graphs: int, worst: int, delay_min: int
) -> None:
    cases = (
        Leading(
            nodes,
            NOTHING,
            delay_min=delay_min,
            claims="M5 M7 M8",
            graph=tuple(sorted(network.links)),
        )
        for network in graphs_of(nodes)
    )
    expect_live([leading(case) for case in cases], graphs, worst)


def test_a_change_of_members_is_decided_whatever_links_there_are() -> None:
    """Node 1 is asked to go on without node 3, whether the two see each other or not."""
    asked = ("1:members.request(Change(3",)
    cases = (
        Leading(3, Budget(asks=1), asked=asked, graph=tuple(sorted(network.links)))
        for network in graphs_of(3)
    )
    expect_live([leading(case) for case in cases], 7, 37)
