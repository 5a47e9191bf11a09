"""How much a search may take."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Where a search is given up, and how many processors it may use."""

    states: int
    memory: int | None = None
    """Bytes; None means most of what is free."""
    threads: int | None = None
    """For engines that can use several; None means all there are."""
    keep_going: bool = False
    """Whether to explore everything even when every claim that can break has."""
    tells_ways: bool = False
    """Whether to find a run for every way in which a goal is missed for ever."""
    lean: bool = False
    """Whether to see no state twice where only goals are asked for."""
