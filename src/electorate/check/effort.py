"""What a search may take and has taken, and how far it has come."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from electorate.core import Value


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


SHARE = 0.8
"""How much of the memory that is free a search may take unless it is told otherwise."""
PAGE = os.sysconf("SC_PAGE_SIZE")
STATM = Path("/proc/self/statm")
MEMINFO = Path("/proc/meminfo")


class Memory:
    """Watches what this process takes; where the system does not tell, nothing is bounded."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = _usual_limit() if limit is None else limit

    @staticmethod
    def used() -> int:
        """What this process takes now, in bytes; 0 where the system does not tell."""
        try:
            # What is mapped from files, as long lists of edges are, can be had back at any time.
            _, resident, of_files = map(int, STATM.read_text().split()[:3])
            return (resident - of_files) * PAGE
        except (OSError, ValueError, IndexError):
            return 0

    def expect(self, more: int = 0) -> None:
        """Stop the search if it has, or with so many more bytes will have, taken too much."""
        if self._limit is not None and self.used() + more > self._limit:
            raise LimitReached(f"more than {text_of(self._limit)} of memory (--memory)")


def _usual_limit() -> int | None:
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    free = next((int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), None)
    return None if free is None else Memory.used() + int(SHARE * 1024 * free)


UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def text_of(size: float) -> str:
    """A number of bytes for people: 1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def parse(text: str) -> int:
    """Read a number of bytes, as in 800M or 4G; raises ValueError."""
    number, unit = (text, "") if text[-1:].isdigit() else (text[:-1], text[-1:].upper())
    if unit not in UNITS or not number.replace(".", "", 1).isdigit() or not float(number):
        raise ValueError(f"must be an amount of memory like 800M or 4G, not {text}")
    return int(float(number) * UNITS[unit])
