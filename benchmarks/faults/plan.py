"""What is to be done to the workers, drawn by lot: the same seed gives the same plan."""

import json
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple, get_args

Kind = Literal[
    "kill",
    "stop",
    "cut",
    "partial",
    "delay",
    "reorder",
    "loss",
    "reset",
    "bandwidth",
    "full",
    "readonly",
    "slow",
    "power",
    "clock",
    "members",
]
"""Kinds of faults that the promises allow for."""
OutsideKind = Literal["standstill", "jump", "fast", "wiped", "restored", "copied", "lying"]
"""Kinds that they do not."""
Whom = Literal["leader", "other"]
Change = Literal["remove", "add", "replace"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OUTSIDE: tuple[OutsideKind, ...] = get_args(OutsideKind)
NETWORK = frozenset[str]({"cut", "partial", "delay", "reorder", "loss", "reset", "bandwidth"})
"""What needs namespaces and the relay."""
CUT = frozenset[str]({"jump", "fast", "copied"})
"""Outside kinds during which a node is cut off: they need the network, too."""
MOUNTED = frozenset[str]({"full"})
"""What needs a small disk for every node."""
SHIMMED = frozenset[str](
    {"readonly", "slow", "power", "clock", "standstill", "jump", "fast", "lying"}
)
"""What needs a library before that of the system."""

LASTS_S: dict[Kind, tuple[float, float]] = {
    "kill": (0.0, 1.0),
    "stop": (0.05, 2.0),
    "cut": (0.2, 3.0),
    "partial": (0.5, 4.0),
    "delay": (0.5, 3.0),
    "reorder": (0.5, 3.0),
    "loss": (0.5, 3.0),
    "reset": (0.2, 2.0),
    "bandwidth": (0.5, 3.0),
    "full": (0.2, 2.0),
    "readonly": (0.2, 2.0),
    "slow": (0.5, 3.0),
    "power": (0.0, 1.0),
    "clock": (0.5, 3.0),
    "members": (0.0, 0.0),
}
WAYS: dict[Kind, tuple[str, ...]] = {
    # What is cut: all that goes to a node and comes from it, one of these, or half of the nodes.
    "cut": ("both", "both", "to", "from", "half"),
    # The three of the paper on OmniPaxos.
    "partial": ("quorum-loss", "constrained", "chain"),
    # What a power cut leaves of writes that were not synced.
    "power": ("nothing", "some"),
    # What time it is changes; how fast it passes, within the drift that is allowed.
    "clock": ("wall", "quick", "tardy"),
}
AMOUNTS: dict[Kind, tuple[float, float]] = {
    "delay": (0.005, 0.15),
    "reorder": (0.01, 0.1),
    "loss": (0.02, 0.4),
    "reset": (0.05, 0.5),
    "bandwidth": (2_000, 30_000),
    "slow": (0.01, 0.5),
    "clock": (0.0, 1.0),
}
"""Seconds, a part of all packets, bytes per second, or a part of the most that is allowed."""
OFTEN: dict[str, int] = {"kill": 1, "power": 1}
"""How often a kind comes, relative to the others, which come twice."""


class Fault(NamedTuple):
    """Something is done to a process, and undone after a while."""

    kind: Kind
    whom: Whom
    lasts_s: float
    rest_s: float
    """How long until the next fault; if that is shorter, two processes are hurt at once."""
    way: str = ""
    amount: float = 0.0
    lot: int = 0
    """What is left to chance while it happens is drawn by this."""

    @property
    def called(self) -> str:
        """Under which words it is counted."""
        return " ".join(filter(None, (self.kind, self.whom, self.way)))

    def text(self) -> str:
        """As a line of a plan."""
        return json.dumps(self._asdict())


def planned(seed: int, number: int, kinds: Collection[str] = ("kill", "stop")) -> Iterator[Fault]:
    """So many faults, by lot."""
    chance = Random(seed)
    drawn = [kind for kind in KINDS if kind in kinds for _ in range(OFTEN.get(kind, 2))]
    for _ in range(number):
        kind = chance.choice(drawn)
        lasts_s = _drawn(chance, LASTS_S[kind])
        whom: Whom = chance.choice(("leader", "leader", "other"))
        rest_s = _drawn(chance, (0, lasts_s + 0.6))
        way = chance.choice(WAYS.get(kind, ("",)))
        amount = _drawn(chance, AMOUNTS.get(kind, (0.0, 0.0)))
        yield Fault(kind, whom, lasts_s, rest_s, way, amount, chance.getrandbits(30))


class OutsideFault(NamedTuple):
    """Something that no promise allows for, done to a cluster of its own."""

    kind: OutsideKind
    way: str
    amount: float
    lot: int

    @property
    def called(self) -> str:
        """Under which words it is counted."""
        return f"{self.kind}: {self.way}"

    def text(self) -> str:
        """As a line of a plan."""
        return json.dumps(self._asdict())


OUTSIDE_WAYS: dict[OutsideKind, tuple[str, ...]] = {
    "standstill": ("wall clock put right", "wall clock still"),
    "jump": ("leader back", "leader ahead", "voters ahead"),
    "fast": ("voters fast", "leader slow"),
    "wiped": ("leader", "other", "majority"),
    "restored": ("leader", "majority"),
    "copied": ("beside the original", "across a cut"),
    "lying": ("leader", "majority"),
}
OUTSIDE_AMOUNTS: dict[OutsideKind, tuple[float, float]] = {
    "standstill": (0.7, 3.0),
    "jump": (0.2, 3.0),
    "fast": (2.0, 20.0),
}
"""Seconds; or how many times as fast."""


def planned_outside(
    seed: int, number: int, kinds: Sequence[OutsideKind] = OUTSIDE
) -> Iterator[OutsideFault]:
    """So many of them: every way of every kind before any comes twice."""
    chance = Random(seed)
    ways = [(kind, way) for kind in OUTSIDE if kind in kinds for way in OUTSIDE_WAYS[kind]]
    order: list[tuple[OutsideKind, str]] = []
    for _ in range(number):
        order = order or chance.sample(ways, len(ways))
        kind, way = order.pop()
        amount = _drawn(chance, OUTSIDE_AMOUNTS.get(kind, (0.0, 0.0)))
        yield OutsideFault(kind, way, amount, chance.getrandbits(30))


def _drawn(chance: Random, between: tuple[float, float]) -> float:
    """Rounded: a plan that is read is the plan that is carried out."""
    return round(chance.uniform(*between), 3)
