"""What is compared: systems that elect a leader, each with its settings."""

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec

from electorate.pace import Pace

APPLICATIONS = "benchmarks.leadership.application"
FAULTS = ("kill", "stop", "partition", "hand-over", "cold")

TUNED = Pace(T=0.01, P=0.005, beat=0.02, timeout=0.15)
"""For machines in one room that have a core to spare."""

LEISURE = Pace(T=0.5, P=0.25, beat=1.0, timeout=8.0)
"""For many nodes on few cores: everything ten times as slow, and more."""


class Seat(NamedTuple):
    """One node of a cluster: where it is, and where it keeps what it keeps."""

    name: str
    number: int
    host: str
    ports: tuple[int, int, int]
    folder: Path


class Contender(ABC):
    """A system with its settings."""

    system: ClassVar[str]
    """By which word it is chosen."""
    faults: ClassVar[tuple[str, ...]] = FAULTS
    """What it can be put through."""
    rest_s: float = 2.0
    """How long it needs to be whole again after a fault."""

    @property
    @abstractmethod
    def title(self) -> str:
        """How the table calls it."""

    @abstractmethod
    def missing(self) -> str | None:
        """How to get what it needs, None if all is there."""

    @abstractmethod
    def version(self) -> str:
        """What exactly is measured."""

    @abstractmethod
    def commands(self, seat: Seat, seats: list[Seat]) -> list[list[str]]:
        """The processes of one node; the last is the application, the others are servers."""


@dataclass(frozen=True)
class Electorate(Contender):
    """This package: application and node are one process."""

    setting: str
    pace: Pace
    elections: int = 1

    system = "electorate"

    @property
    def rest_s(self) -> float:  # type: ignore[override]
        """Connections come back within a second; and news of a leader within a term."""
        return max(1.2, 2 * self.pace.lease)

    @property
    def title(self) -> str:
        """With the lengths that decide."""
        return f"electorate, {self.setting} (T {1000 * self.pace.T:g}, P {1000 * self.pace.P:g} ms)"

    def missing(self) -> str | None:
        """It is here."""
        return None

    def version(self) -> str:
        """Of the package."""
        return f"electorate {version('electorate')}"

    def commands(self, seat: Seat, seats: list[Seat]) -> list[list[str]]:
        """One process."""
        places = [f"{each.name}@{each.host}:{each.ports[0]}" for each in seats]
        pace = msgspec.json.encode(self.pace).decode()
        words = [seat.name, str(seat.folder), str(self.elections), pace, *places]
        return [application("electorate", *words)]


DEFAULTS = Electorate("defaults", Pace())
TRUSTING = Electorate("trust_close", Pace(trust_close=True))
FAST = Electorate("tuned", TUNED)
SLOW = Electorate("slow", LEISURE)


def application(name: str, *words: str) -> list[str]:
    """How to start an application."""
    return [sys.executable, "-m", f"{APPLICATIONS}.{name}", *words]
