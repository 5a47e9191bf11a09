"""How far a search has come, what it has taken, and how it can be stopped."""

from collections.abc import Callable
from typing import NamedTuple

from electorate.core import Value


class Effort(Value):
    """What a search has taken."""

    seconds: float = 0.0
    """Without the time it took to compile."""
    compile_seconds: float = 0.0
    memory: int = 0
    """Bytes that the process takes."""
    bytes_per_state: float | None = None
    """For a visited state, beyond the frontier."""
    tables: int | None = None
    """How many entries the tables have."""
    hit_rate: float | None = None
    """How many of the look-ups of moves found their entry."""


class Progress(NamedTuple):
    """How far a search has come."""

    phase: str
    level: int
    frontier: int
    states: int
    transitions: int
    effort: Effort


class LimitReached(Exception):
    """The search was stopped before its end."""


Report = Callable[[Progress], None]
