"""Graphs of numbered states, held against the naive way of asking who reaches whom."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from electorate.check.graph import Graph

Edges = list[list[tuple[int, bool]]]


@st.composite
def edges_of_a_graph(draw: st.DrawFn) -> Edges:
    size = draw(st.integers(1, 12))
    edge = st.tuples(st.integers(0, size - 1), st.booleans())
    return draw(st.lists(st.lists(edge, max_size=3), min_size=size, max_size=size))


def graph_of(edges: Edges) -> Graph:
    graph = Graph()
    for some in edges:
        graph.add(some)
    return graph


def reached(edges: Edges, start: int, allowed: set[int]) -> dict[int, int]:
    """How many edges it takes at least to get from here to each state, over allowed ones."""
    found: dict[int, int] = {}
    layer, steps = {start}, 0
    while layer:
        steps += 1
        layer = {t for state in layer for t, _ in edges[state]} & allowed - set(found)
        found |= dict.fromkeys(layer, steps)
    return found


@given(edges_of_a_graph())
def test_a_graph_keeps_its_edges_in_order(edges: Edges) -> None:
    graph = graph_of(edges)
    assert len(graph) == len(edges)
    assert [list(graph.edges(state)) for state in range(len(graph))] == edges


@given(edges_of_a_graph())
def test_components_hold_those_who_reach_each_other_and_come_after_where_they_lead(
    edges: Edges,
) -> None:
    every = set(range(len(edges)))
    reach = [set(reached(edges, state, every)) | {state} for state in every]
    components, member = graph_of(edges).components()
    assert sorted(state for component in components for state in component) == sorted(every)
    for number, component in enumerate(components):
        assert {member[state] for state in component} == {number}
    for one in every:
        for other in every:
            together = other in reach[one] and one in reach[other]
            assert (member[one] == member[other]) is together
            if other in reach[one]:
                assert member[other] <= member[one]


@given(edges_of_a_graph(), st.data())
def test_a_way_is_a_shortest_one_over_allowed_states(edges: Edges, data: st.DataObject) -> None:
    every = list(range(len(edges)))
    start = data.draw(st.sampled_from(every))
    allowed = data.draw(st.sets(st.sampled_from(every)))
    wanted = data.draw(st.sets(st.sampled_from(every)))
    steps = reached(edges, start, allowed)
    lengths = [steps[state] for state in wanted if state in steps]
    graph = graph_of(edges)
    if not lengths:
        with pytest.raises(LookupError):
            graph.way(start, wanted.__contains__, allowed.__contains__)
        return
    way = graph.way(start, wanted.__contains__, allowed.__contains__)
    assert (way[0], len(way)) == (start, min(lengths) + 1)
    assert way[-1] in wanted
    assert set(way[1:]) <= allowed
    assert all(b in [t for t, _ in edges[a]] for a, b in pairwise(way))


def test_a_way_back_to_the_start_goes_round() -> None:
    graph = graph_of([[(1, False)], [(2, True)], [(0, False), (2, False)]])
    assert graph.way(0, lambda state: state == 0, lambda state: True) == [0, 1, 2, 0]
    assert graph.way(2, lambda state: state == 2, lambda state: True) == [2, 2]


def test_a_long_chain_needs_no_deep_stack() -> None:
    size = 50_000
    graph = graph_of([[((state + 1) % size, False)] for state in range(size)])
    components, _ = graph.components()
    assert [len(component) for component in components] == [size]
