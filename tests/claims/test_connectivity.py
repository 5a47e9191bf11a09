"""Cliques, covers and parts, held against the naive way of finding them."""

from collections.abc import Iterable, Iterator
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from electorate.claims import Row
from electorate.claims.connectivity import Connectivity
from electorate.core import Members, Standing, Status

UP = Standing(Status.ELECTION)


def graph(nodes: Iterable[int], *links: tuple[int, int]) -> Connectivity:
    return Connectivity(tuple(nodes), frozenset(links))


def graphs(n: int) -> Iterator[Connectivity]:
    """Every graph on the nodes 1 to n."""
    pairs = list(combinations(range(1, n + 1), 2))
    for chosen in product((False, True), repeat=len(pairs)):
        links = (pair for pair, is_there in zip(pairs, chosen, strict=True) if is_there)
        yield graph(range(1, n + 1), *links)


@st.composite
def larger_graphs(draw: st.DrawFn) -> Connectivity:
    nodes = draw(st.lists(st.integers(1, 30), min_size=5, max_size=6, unique=True))
    pairs = list(combinations(sorted(nodes), 2))
    return graph(sorted(nodes), *draw(st.sets(st.sampled_from(pairs))))


def naive_cliques(it: Connectivity) -> list[set[int]]:
    """Every set of nodes that are all linked, but not those that are part of a larger one."""
    sets = [set(s) for size in range(1, 7) for s in combinations(it.nodes, size)]
    cliques = [s for s in sets if all(pair in it.links for pair in combinations(sorted(s), 2))]
    return [s for s in cliques if not any(s < other for other in cliques)]


def naive_cover(it: Connectivity) -> int:
    """The fewest colours, where nodes of one colour must be linked."""
    for count in range(len(it.nodes) + 1):
        for colours in product(range(count), repeat=len(it.nodes)):
            coloured = zip(combinations(it.nodes, 2), combinations(colours, 2), strict=True)
            if all(pair in it.links for pair, (one, other) in coloured if one == other):
                return count
    raise AssertionError(it)


def naive_reach(it: Connectivity, start: int) -> set[int]:
    reached = {start}
    for _ in it.nodes:
        reached |= {node for link in it.links if reached & set(link) for node in link}
    return reached


def expect_the_naive_answers(it: Connectivity) -> None:
    cliques = it.cliques()
    assert sorted(map(sorted, cliques)) == sorted(map(sorted, naive_cliques(it)))
    assert list(cliques) == sorted(cliques)
    assert all(it.are_linked(clique) for clique in cliques)
    assert it.cover() == naive_cover(it)
    assert it.parts() == tuple(dict.fromkeys(tuple(sorted(naive_reach(it, n))) for n in it.nodes))
    for one, other in product(it.nodes, repeat=2):
        assert it.reach(one, other) is (other in naive_reach(it, one))
    for part in it.parts():
        linked = {
            n: {m for m in part if n == m or (min(n, m), max(n, m)) in it.links} for n in part
        }
        assert it.centres(part) == tuple(n for n in part if linked[n] == set(part))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_small_graphs_have_the_cliques_covers_and_parts_that_brute_force_finds(n: int) -> None:
    for it in graphs(n):
        expect_the_naive_answers(it)


@given(larger_graphs())
def test_so_do_larger_ones(it: Connectivity) -> None:
    expect_the_naive_answers(it)


@pytest.mark.parametrize(
    ("it", "cliques", "cover"),
    [
        (graph([1, 2, 3], (1, 2), (2, 3)), ((1, 2), (2, 3)), 2),
        (graph([1, 2, 3, 4], (1, 2), (2, 3), (3, 4)), ((1, 2), (2, 3), (3, 4)), 2),
        (graph([1, 2, 3, 4], (1, 2), (2, 3), (3, 4), (1, 4)), ((1, 2), (1, 4), (2, 3), (3, 4)), 2),
        (graph([1, 2, 3, 4], (1, 2), (1, 3), (1, 4)), ((1, 2), (1, 3), (1, 4)), 3),
        (graph([1, 2, 3], (1, 2), (2, 3), (1, 3)), ((1, 2, 3),), 1),
        (graph([3, 7]), ((3,), (7,)), 2),
        (graph([]), (), 0),
    ],
)
def test_paths_rings_stars_and_lone_nodes(
    it: Connectivity, cliques: tuple[tuple[int, ...], ...], cover: int
) -> None:
    assert (it.cliques(), it.cover()) == (cliques, cover)


def test_a_cover_may_need_cliques_that_are_not_among_the_largest() -> None:
    """A triangle with a tail at each corner: the triangle itself is of no use."""
    sun = graph(range(1, 7), (1, 2), (2, 3), (1, 3), (1, 4), (2, 5), (3, 6))
    assert (1, 2, 3) in sun.cliques()
    assert sun.cover() == 3


def test_many_nodes_take_no_time() -> None:
    """Fails if the search does not look at the narrowest choice first: 2^40 sets and more."""
    nodes = range(1, 41)
    two = [pair for pair in combinations(nodes, 2) if (pair[0] > 20) is (pair[1] > 20)]
    assert graph(nodes, *two).cover() == 2
    assert graph(nodes, *two, (1, 40)).cover() == 2
    assert len(graph(nodes, *two, (1, 40)).cliques()) == 3


def test_the_graph_of_a_row_has_its_live_nodes_and_the_links_that_are_there() -> None:
    members = Members.of(range(1, 5))
    row = Row(members, (UP, None, UP, UP), frozenset({(1, 4), (2, 3)}))
    assert Connectivity.of(row) == graph([1, 3, 4], (1, 3), (3, 4))
