"""How far a search has come, and how it can be stopped."""

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """How far a search has come."""

    phase: str
    level: int
    frontier: int
    states: int
    transitions: int
    seconds: float


class LimitReached(Exception):
    """The search was stopped before its end."""


Report = Callable[[Progress], None]
