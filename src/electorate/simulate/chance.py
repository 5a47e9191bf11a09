"""Everything in a run that is left to chance, except its faults.

What is drawn depends only on the seed and on its purpose: the third message from 1 to 2 takes the
same time whether or not some fault elsewhere is left out. So a failing run can be shrunk.
"""

from typing import Protocol

from electorate.core import NodeId
from electorate.simulate.delay import Delay
from electorate.simulate.simulation import Channel, Envelope

MESSAGE, LAG, JITTER, LOSS, COPY, COPY_DELAY, ANSWER, OVERLOOK = range(8)
FLAGS = (LOSS, OVERLOOK)
"""These decide whether something happens; all others are lengths of time, or choices."""
OVERLOOKED = 0.5
"""The share of crashes that an incomplete failure detector never notices."""

Key = tuple[int, NodeId, NodeId, int]
"""The purpose of a number: what it is for, at which nodes, and how many came before it."""

_BITS = (1 << 64) - 1
UNIT = 2.0**-53
"""The upper 53 bits of a number, times this, are a share of one."""


class Parcel(Protocol):
    """Something that travels on a channel: a message, or a segment of a connection."""

    channel: Channel
    sender: NodeId
    to: NodeId
    ordinal: int
    """Counts what travels on this channel."""


class Chance(Protocol):
    """The source of a run's random numbers."""

    mishaps: bool
    """Whether messages may be lost or doubled at all."""

    def delay(self, envelope: Envelope) -> int:
        """How long this message takes."""

    def loses(self, envelope: Envelope) -> bool:
        """Whether it is lost instead."""

    def copy(self, envelope: Envelope) -> int | None:
        """How long a copy of it takes, if there is one."""

    def lag(self, node: NodeId, about: NodeId, longest: int) -> int:
        """How long a failure detector stays wrong about a node."""

    def overlooks(self, node: NodeId, about: NodeId) -> bool:
        """Whether a failure detector that is incomplete never notices that a node is gone."""

    def jitter(self, node: NodeId, longest: int) -> int:
        """How much later than its earliest time a timer fires."""

    def answer(self, node: NodeId, choices: int) -> int:
        """Which of so many requests an application makes if it owes one of them."""


def mixed(number: int) -> int:
    """Scatter 64 bits so that neighbours come out far apart (the finaliser of SplitMix64)."""
    number = (number + 0x9E3779B97F4A7C15) & _BITS
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _BITS
    return number ^ (number >> 31)


class Drawn:
    """Numbers drawn from a seed.

    Each is a function of its purpose, so there is no stream that one more draw would shift.
    """

    def __init__(
        self, seed: int, delay: Delay, loss: float = 0.0, duplication: float = 0.0
    ) -> None:
        self.mishaps = loss > 0 or duplication > 0
        self._seed = mixed(seed)
        self._delay = delay.of
        self._loss = loss
        self._duplication = duplication
        self._roots: dict[Channel, int] = {}
        self._asked: dict[tuple[int, NodeId, NodeId], int] = {}

    def _root(self, what: int, one: NodeId, other: NodeId) -> int:
        return mixed(self._seed ^ (what << 48) ^ (one << 24) ^ other)

    def _share(self, what: int, one: NodeId, other: NodeId, ordinal: int) -> float:
        return (mixed(self._root(what, one, other) ^ ordinal) >> 11) * UNIT

    def delay(self, envelope: Parcel) -> int:
        """How long this message takes."""
        channel = envelope.channel
        root = self._roots.get(channel)
        if root is None:
            root = self._root(MESSAGE, channel.sender, channel.to)
            self._roots[channel] = root
        # `mixed`, written out: every message comes by here.
        number = ((root ^ envelope.ordinal) + 0x9E3779B97F4A7C15) & _BITS
        number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
        number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _BITS
        return self._delay(((number ^ (number >> 31)) >> 11) * UNIT)

    def loses(self, envelope: Parcel) -> bool:
        """Whether it is lost instead."""
        drawn = self._share(LOSS, envelope.sender, envelope.to, envelope.ordinal)
        return drawn < self._loss

    def copy(self, envelope: Envelope) -> int | None:
        """How long a copy of it takes, if there is one."""
        place = envelope.sender, envelope.to, envelope.ordinal
        if self._share(COPY, *place) >= self._duplication:
            return None
        return self._delay(self._share(COPY_DELAY, *place))

    def lag(self, node: NodeId, about: NodeId, longest: int) -> int:
        """How long a failure detector stays wrong about a node."""
        drawn = self._share(*_next(self._asked, LAG, node, about))
        return int(drawn * (longest + 1))

    def overlooks(self, node: NodeId, about: NodeId) -> bool:
        """Whether a failure detector that is incomplete never notices that a node is gone."""
        return self._share(*_next(self._asked, OVERLOOK, node, about)) < OVERLOOKED

    def jitter(self, node: NodeId, longest: int) -> int:
        """How much later than its earliest time a timer fires."""
        drawn = self._share(*_next(self._asked, JITTER, node, 0))
        return int(drawn * (longest + 1))

    def answer(self, node: NodeId, choices: int) -> int:
        """Which of so many requests an application makes if it owes one of them."""
        return int(self._share(*_next(self._asked, ANSWER, node, choices)) * choices)


class Fixed:
    """Numbers that are written down; where one is missing, another source gives it.

    A source notes what it is asked for if another source gives the numbers.
    """

    def __init__(self, numbers: dict[Key, int], usual: int, source: Chance | None = None) -> None:
        self.mishaps = source is not None or bool(numbers)
        self.numbers = numbers
        self._usual = usual
        self._source = source
        self._asked: dict[tuple[int, NodeId, NodeId], int] = {}

    def delay(self, envelope: Envelope) -> int:
        """How long this message takes."""
        key = (MESSAGE, envelope.sender, envelope.to, envelope.ordinal)
        if self._source:
            self.numbers[key] = self._source.delay(envelope)
        return self.numbers.get(key, self._usual)

    def loses(self, envelope: Envelope) -> bool:
        """Whether it is lost instead."""
        key = (LOSS, envelope.sender, envelope.to, envelope.ordinal)
        if self._source and self._source.mishaps and self._source.loses(envelope):
            self.numbers[key] = 1
        return key in self.numbers

    def copy(self, envelope: Envelope) -> int | None:
        """How long a copy of it takes, if there is one."""
        key = (COPY, envelope.sender, envelope.to, envelope.ordinal)
        if self._source and self._source.mishaps:
            delay = self._source.copy(envelope)
            if delay is not None:
                self.numbers[key] = delay
        return self.numbers.get(key)

    def lag(self, node: NodeId, about: NodeId, longest: int) -> int:
        """How long a failure detector stays wrong about a node."""
        key = _next(self._asked, LAG, node, about)
        if self._source:
            self.numbers[key] = self._source.lag(node, about, longest)
        return min(longest, self.numbers.get(key, 0))

    def overlooks(self, node: NodeId, about: NodeId) -> bool:
        """Whether a failure detector that is incomplete never notices that a node is gone."""
        key = _next(self._asked, OVERLOOK, node, about)
        if self._source and self._source.overlooks(node, about):
            self.numbers[key] = 1
        return key in self.numbers

    def jitter(self, node: NodeId, longest: int) -> int:
        """How much later than its earliest time a timer fires."""
        key = _next(self._asked, JITTER, node, 0)
        if self._source:
            self.numbers[key] = self._source.jitter(node, longest)
        return min(longest, self.numbers.get(key, 0))

    def answer(self, node: NodeId, choices: int) -> int:
        """Which of so many requests an application makes if it owes one of them."""
        key = _next(self._asked, ANSWER, node, choices)
        if self._source:
            self.numbers[key] = self._source.answer(node, choices)
        return min(choices - 1, self.numbers.get(key, 0))


def _next(asked: dict[tuple[int, NodeId, NodeId], int], what: int, one: int, other: int) -> Key:
    number = asked.get((what, one, other), 0)
    asked[what, one, other] = number + 1
    return what, one, other, number
