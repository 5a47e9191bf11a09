"""Elections on a ring: who is asked to hold one, what it costs, and how long it takes."""

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any, NamedTuple

from electorate.core import (
    Asked,
    Machine,
    NodeId,
    Received,
    Send,
    Standing,
    State,
    Status,
    Viewed,
)
from electorate.protocols.registry import REGISTRY
from electorate.simulate import Cluster, settle, started
from electorate.trace import Delivered, Setting, Start


class Cost(NamedTuple):
    """How many messages an election takes, and when the last of them arrives, in T."""

    messages: int
    last: int


def placements(n: int) -> Iterable[tuple[int, ...]]:
    """Every way to place N ranks on a ring, the strongest at its last place."""
    return ((*others, n) for others in permutations(range(1, n)))


def setting_of(name: str, ranks: Sequence[int], rules: Sequence[str] = ()) -> Setting:
    """A ring whose first node has the first of these ranks; the highest is the strongest."""
    ids = tuple(range(1, len(ranks) + 1))
    return Setting(
        name,
        ids,
        tuple(rules),
        strongest="highest",
        start=Start.BOOT if "newcomers=wait" in rules else Start.NORMAL,
        attributes=tuple(ranks),
    )


def cost(
    name: str, ranks: Sequence[int], initiators: Iterable[NodeId], rules: Sequence[str] = ()
) -> Cost:
    """What it costs in the simulator, every delay being T; all must follow the strongest."""
    setting = setting_of(name, ranks, rules)
    cluster, _ = started(setting, setting.machine(*REGISTRY[name]))
    for node in initiators:
        cluster.ask(node, cluster.machine.requests[0]())
    settle(cluster)
    leads = Standing(Status.NORMAL, setting.members().strongest_of(setting.ids))
    assert {cluster.standing(node) for node in cluster.nodes.values()} == {leads}
    return Cost(sum(sent(cluster)), last_delivery(cluster))


def sent(cluster: Cluster) -> Iterable[int]:
    """One for each message."""
    for step in cluster.steps:
        for turn in step.turns:
            yield from (1 for effect in turn.effects if isinstance(effect, Send))


def last_delivery(cluster: Cluster) -> int:
    times = [step.at for step in cluster.steps if isinstance(step.happening, Delivered)]
    return max(times) // cluster.setting.timing.T


class Play:
    """The same without a simulator, for thousands of elections: each T, all messages arrive."""

    def __init__(self, name: str, ranks: Sequence[int]) -> None:
        setting = setting_of(name, ranks)
        self._machine: Machine[Any] = setting.machine(*REGISTRY[name])
        self._states: dict[NodeId, State] = {}
        self._under_way: list[tuple[NodeId, Send]] = []
        everybody = frozenset(setting.ids)
        for node in setting.ids:
            self._take(node, self._machine.boot(node, None))
        for node in setting.ids:
            self._event(node, Viewed(everybody))
        self._settle()

    def cost(self, initiators: Iterable[NodeId]) -> Cost:
        """What it costs if these nodes are asked at once."""
        for node in initiators:
            self._event(node, Asked(self._machine.requests[0]()))
        return self._settle()

    def _settle(self) -> Cost:
        messages = rounds = 0
        while self._under_way:
            arriving, self._under_way = self._under_way, []
            messages, rounds = messages + len(arriving), rounds + 1
            for sender, send in arriving:
                self._event(send.to, Received(sender, send.message))
        return Cost(messages, rounds)

    def _event(self, node: NodeId, event: Any) -> None:
        self._take(node, self._machine.step(self._states[node], event))

    def _take(self, node: NodeId, result: tuple[Any, list[Any]]) -> None:
        self._states[node], effects = result
        self._under_way += [(node, effect) for effect in effects if isinstance(effect, Send)]
