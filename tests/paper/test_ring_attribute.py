"""The example of the ring of attributes: six processes named by their attribute.

I. Gupta, "Ring Leader Election": slides "Worst-Case Analysis", "Best Case?" and "Multiple
Initiators?".
"""

from collections.abc import Callable
from itertools import combinations

import pytest

from electorate.costs.play import Play, Tally
from electorate.costs.variant import Variant
from electorate.protocols.registry import REGISTRY
from electorate.protocols.ring_attribute import Elect, Elected
from electorate.simulate import settle, started
from electorate.trace import Delivered, Setting, Start

GUPTA = (3, 32, 5, 80, 6, 12)
N = len(GUPTA)
LETTER = "ring-attribute-to-the-letter"
NAMES = ("ring-attribute", "ring-attribute-as-printed", LETTER)


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


def elects(name: str, initiators: tuple[int, ...], *rules: str) -> bool:
    """Whether all follow N80 in the end, if these initiate the very first election at once."""
    setting = Setting(
        name,
        tuple(range(1, N + 1)),
        ("newcomers=wait", *rules),
        strongest="highest",
        start=Start.BOOT,
        attributes=GUPTA,
    )
    cluster, _ = started(setting, setting.machine(*REGISTRY[name]))
    for each in initiators:
        cluster.ask(GUPTA.index(each) + 1, Elect())
    settle(cluster)
    [leader] = {node.local.standing.leader for node in cluster.nodes.values() if node.local}
    assert leader in (None, GUPTA.index(80) + 1)
    return leader is not None


@pytest.mark.parametrize(
    ("name", "rules", "pairs"),
    [
        ("ring-attribute", (), 15),
        ("ring-attribute-as-printed", (), 10),
        (LETTER, ("initiators=rank",), 10),
        (LETTER, (), 7),
    ],
)
def test_with_two_initiators_at_once_so_many_of_the_15_pairs_elect(
    name: str, rules: tuple[str, ...], pairs: int
) -> None:
    """The slide has one run complete, whoever initiates. `rank` takes N80's name for its id."""
    assert sum(elects(name, pair, *rules) for pair in combinations(GUPTA, 2)) == pairs


@pytest.mark.parametrize("count", [2, 3, N])
@pytest.mark.parametrize(("rule", "order"), [("id", GUPTA.index), ("rank", int)])
def test_mended_only_the_run_of_the_highest_initiator_completes(
    rule: str, order: Callable[[int], int], count: int
) -> None:
    """As the slide says of ids, if initiators are compared by id."""
    setting = Setting(
        "ring-attribute",
        tuple(range(1, N + 1)),
        (f"initiators={rule}",),
        strongest="highest",
        attributes=GUPTA,
    )
    for initiators in combinations(GUPTA, count):
        cluster, _ = started(setting, setting.machine(*REGISTRY["ring-attribute"]))
        for each in initiators:
            cluster.ask(GUPTA.index(each) + 1, Elect())
        settle(cluster)
        said = (step.happening for step in cluster.steps)
        words = (each.message for each in said if isinstance(each, Delivered))
        runs = {word.run.initiator for word in words if isinstance(word, Elected)}
        assert runs == {GUPTA.index(max(initiators, key=order)) + 1}
