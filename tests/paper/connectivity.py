"""Networks in which not everybody is linked to everybody."""

from itertools import permutations

from electorate.claims.connectivity import Connectivity
from electorate.claims.network import networks


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
