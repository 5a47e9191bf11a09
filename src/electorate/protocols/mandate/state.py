"""What a node knows about mandates: its own office, and the holder to which it is bound."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import Meta

from electorate.core import NodeId, Stable, State, Value

Inner = TypeVar("Inner", bound=State)
Kept = TypeVar("Kept", bound=Stable)
Ids = tuple[NodeId, ...]
Memories = tuple[tuple[NodeId, str], ...]
MEMBERS_MAX, MEMORY_MAX = 255, 64
TOKEN_MAX = (1 << 63) - 1
"""Tokens are compared in databases, too, where numbers have 64 bits and a sign."""
Token = Annotated[int, Meta(ge=0, le=TOKEN_MAX)]
Count = Annotated[int, Meta(ge=0, le=TOKEN_MAX)]


class Wait(StrEnum):
    """The timers."""

    ANSWER = "answer"  # those that I asked would have answered by now
    RETRY = "retry"  # ask again
    RENEW = "renew"  # ask for more time
    EVEN = "even"  # one of the two leases: while one is in force, the other is asked for
    ODD = "odd"  # the other one
    GRANTED = "granted"  # the lease that I granted has run out for sure
    GRACE = "grace"  # the work has had time enough to end
    PREEMPT = "preempt"  # I have been fit for long enough to ask for the office
    SETTLE = "settle"  # I have been in office for long enough to change the members
    SHOW = "show"  # the node to which I leave the office should have it by now
    HEAR = "hear"  # all others that stand have told me by now


class Phase(StrEnum):
    """What a node does about an office of its own."""

    IDLE = "idle"  # nothing
    WAITING = "waiting"  # asks again in a while
    POLLING = "polling"  # asks whether it could claim
    CLAIMING = "claiming"  # has claimed, and waits for a majority
    HOLDING = "holding"  # is in office
    ENDING = "ending"  # is in office until its work has ended
    LAPSING = "lapsing"  # is in office until its lease ends, and asks for no more


ASKING = frozenset({Phase.CLAIMING, Phase.HOLDING, Phase.ENDING})
"""Phases in which grants count."""
OWN = ASKING | {Phase.LAPSING}
"""Phases in which a node's vote is its own."""
NOBODY: frozenset[NodeId] = frozenset()


class Roster(Value):
    """The members, and while a change is undecided those before it too."""

    version: tuple[Token, Count] = (0, 0)
    """The proposer's token, and a counter per proposer."""
    old: Ids = ()
    new: Ids = ()
    """Both empty: all nodes are members for ever."""

    @property
    def is_fixed(self) -> bool:
        """Whether there is nothing to change."""
        return not self.new

    @property
    def is_pending(self) -> bool:
        """Whether a change is not decided yet."""
        return self.old != self.new

    @property
    def everybody(self) -> Ids:
        """The voters under the old list or the new one."""
        return tuple(sorted({*self.old, *self.new}))

    @property
    def is_sound(self) -> bool:
        """Whether it can be a list of members at all: it may have been made up."""
        lists = (self.old, self.new)
        return all(len(each) <= MEMBERS_MAX and all(j > 0 for j in each) for each in lists)

    def is_newer(self, other: "Roster") -> bool:
        """Whether it was proposed later, or is the same and known to be decided."""
        mine, its = (self.version, not self.is_pending), (other.version, not other.is_pending)
        return mine > its

    def replaces(self, other: "Roster") -> bool:
        """Whether a node that uses the other list uses this one instead."""
        return self.is_newer(other) or (other.is_fixed and not self.is_fixed)

    def agreed(self, votes: Iterable[NodeId], needs: Literal["both", "new"]) -> bool:
        """Whether these are more than half of the new list, and of the old one."""
        lists = (self.old, self.new) if needs == "both" else (self.new,)
        return all(2 * len({*votes} & {*members}) > len(members) for members in lists)

    def changed(self, version: tuple[int, int], new: Iterable[NodeId]) -> "Roster":
        """A change of what this one leads to."""
        return Roster(version, self.new, tuple(sorted(new)))

    def decided(self) -> "Roster":
        """The same once its change is decided."""
        return Roster(self.version, self.new, self.new)


class Promise(Value):
    """The last epoch that a node granted, and its claimant. Its own claims are grants to itself."""

    epoch: int = 0
    holder: NodeId | None = None
    above: int = 0
    """A higher one that it has granted before; 0 if there is none."""

    @property
    def highest(self) -> int:
        """The epoch that a claim has to exceed."""
        return max(self.epoch, self.above)

    def is_of(self, epoch: int, holder: NodeId) -> bool:
        """Whether it is the promise of that epoch to that node."""
        return (self.epoch, self.holder) == (epoch, holder)

    def lets(self, epoch: int, holder: NodeId) -> bool:
        """Whether it may be granted without going back on anything that was granted before."""
        return epoch > self.highest or (self.is_of(epoch, holder) and epoch == self.highest)

    def yielded(self, epoch: int, holder: NodeId) -> "Promise":
        """What I have granted now, without forgetting what I have promised before."""
        return Promise(epoch, holder, self.highest if self.highest > epoch else 0)


class MandateStable(Stable, Generic[Kept]):
    """What survives a crash."""

    promise: Promise
    inner: Kept
    roster: Roster = Roster()
    granted: int = 0
    """How long what was granted binds: the next life may use shorter leases. 0: no longer than
    those."""


class MandateState(State, Generic[Inner, Kept]):
    """One node's part: as a voter, and as a candidate."""

    stable: MandateStable[Kept]
    inner: Inner
    bound: NodeId | None = None
    """The node whose lease I granted and take to be running; myself if I have just been made an
    heir."""
    phase: Phase = Phase.IDLE
    round: int = 0
    votes: frozenset[NodeId] = NOBODY
    """The nodes that are free for me, or have granted the present round; empty while none is
    open."""
    reached: frozenset[NodeId] = NOBODY
    """The nodes that have answered my poll, free or not."""
    heard: int = 0
    """The highest epoch in the answers to my poll."""
    office: Wait | None = None
    """The lease in force."""
    heir: NodeId | None = None
    joining: NodeId | None = None
    """The newcomer that was asked whether it is there."""
    settled: bool = False
    """Whether I have been in office for as long as a change of members has to wait."""
    silent: bool = False
    """Whether I reach no majority, and have left the election inside."""
    hushed: frozenset[NodeId] = NOBODY
    """The nodes that have told me that of themselves."""
    alive: frozenset[NodeId] = NOBODY
    wish: int = 0
    """The priority with which the application of this node wants to stand; 0: it only votes."""
    unheard: frozenset[NodeId] = NOBODY
    """The nodes that have not told me yet whether they stand; empty unless I am about to stand."""
    ranks: tuple[tuple[NodeId, int], ...] = ()
    """Which nodes stand with which priority, as far as I know; I do once I have heard the
    others."""


AnyState = MandateState[Any, Any]
