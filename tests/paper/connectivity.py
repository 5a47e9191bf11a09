"""Networks in which not everybody is linked to everybody."""

from collections.abc import Iterator
from itertools import combinations, permutations

from electorate.claims.connectivity import Connectivity


def networks(n: int) -> Iterator[Connectivity]:
    """Every network of the nodes 1 to n."""
    ids = tuple(range(1, n + 1))
    pairs = list(combinations(ids, 2))
    for size in range(len(pairs) + 1):
        for links in combinations(pairs, size):
            yield Connectivity(ids, frozenset(links))


def shapes(n: int) -> dict[Connectivity, int]:
    """One network of each shape, and how many networks of the nodes 1 to n have it."""
    ids = tuple(range(1, n + 1))
    found: dict[Connectivity, int] = {}
    known: dict[frozenset[tuple[int, int]], Connectivity] = {}
    for network in networks(n):
        if network.links not in known:
            for names in permutations(ids):
                renamed = {(names[a - 1], names[b - 1]) for a, b in network.links}
                known[frozenset((min(link), max(link)) for link in renamed)] = network
        found[known[network.links]] = found.get(known[network.links], 0) + 1
    return found
