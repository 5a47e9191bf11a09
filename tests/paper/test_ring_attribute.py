"""The example of the ring of attributes: six processes named by their attribute.

I. Gupta, "Ring Leader Election": slides "Worst-Case Analysis" and "Best Case?".
"""

import pytest

from electorate.costs.play import Play, Tally
from electorate.costs.variant import Variant
from electorate.protocols.registry import REGISTRY
from electorate.simulate import started
from electorate.trace import Setting, Start

GUPTA = (3, 32, 5, 80, 6, 12)
N = len(GUPTA)
NAMES = ("ring-attribute", "ring-attribute-as-printed")


def cost(name: str, initiator: int) -> Tally:
    """What the very first election costs: as printed, only the first one is certain to end."""
    setting = Setting(
        name,
        tuple(range(1, N + 1)),
        ("newcomers=wait",),
        strongest="highest",
        start=Start.BOOT,
        attributes=GUPTA,
    )
    cluster, boots = started(setting, setting.machine(*REGISTRY[name]))
    play = Play(cluster, boots, Variant({"N": N, "i": GUPTA.index(initiator) + 1}, {}))
    tally = play.run("ask i Elect; settle")
    assert list(play.strays(str(GUPTA.index(80) + 1))) == []
    return tally


@pytest.mark.parametrize("name", NAMES)
def test_worst_case_the_initiator_is_the_successor_of_the_would_be_leader(name: str) -> None:
    """N6 initiates: N-1 messages to N80, N once round unchanged, N for Elected."""
    tally = cost(name, 6)
    assert tally.kinds.total() == tally.time == (N - 1) + N + N


@pytest.mark.parametrize("name", NAMES)
def test_best_case_the_initiator_is_the_would_be_leader(name: str) -> None:
    """N80 initiates: 2N messages and 2N message times."""
    tally = cost(name, 80)
    assert tally.kinds.total() == tally.time == 2 * N
