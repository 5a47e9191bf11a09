"""Lists of members: who has a vote, also while a change of that is not decided yet."""

from collections.abc import Iterable
from typing import Literal

from electorate.core import NodeId, Value

Ids = tuple[NodeId, ...]


class Roster(Value):
    """The members, and while a change is undecided those before it too."""

    version: tuple[int, int] = (0, 0)
    """The token of the holder that proposed it, and the how-manieth it proposed."""
    old: Ids = ()
    new: Ids = ()
    """Both empty: everybody is a member for ever."""

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
        """Who has a vote under the old list or the new one."""
        return tuple(sorted({*self.old, *self.new}))

    def is_newer(self, other: "Roster") -> bool:
        """Whether it was proposed later, or is the same and known to be decided."""
        mine, its = (self.version, not self.is_pending), (other.version, not other.is_pending)
        return mine > its

    def replaces(self, other: "Roster") -> bool:
        """Whether a node that goes by the other goes by this one instead."""
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
