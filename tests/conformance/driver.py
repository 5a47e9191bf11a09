"""The drivers that are held against their contract, and how a rule is held against them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from tests.conformance.checker import Checker
from tests.conformance.network import Network
from tests.conformance.rule import Rule
from tests.conformance.simulator import Simulator
from tests.conformance.story import Run

SCENES = ("speech", "clock", "office")
USES = ("network", "leadership", "transactions")
"""The ways in which the runtime is used: by `electorate node`, and by both interfaces."""
DRIVERS = ("simulator", "checker", *USES)


class Driver(Protocol):
    """Whatever runs probes."""

    name: str
    tears: int
    """In how many ways, at least, it lets a crash fall into a speech to two nodes."""
    exempt: Mapping[Rule, str]
    """Rules that cannot be held against it, each with the reason."""

    def runs(self, scene: str) -> Iterator[Run]:
        """Runs in which the probes speak, wind their timers, or hold offices, and suffer."""


def driver_called(name: str, folder: Path) -> Driver:
    """The driver of that name; it may use the folder."""
    match name:
        case "simulator":
            return Simulator()
        case "checker":
            return Checker()
        case "network" | "leadership" | "transactions":
            return Network(folder, name)
    raise ValueError(f"no driver is called {name}")


def breaches(rule: Rule, runs: Iterable[Run]) -> Iterator[str]:
    """How a rule was broken."""
    for run in runs:
        for case in rule(run):
            if case is not None:
                yield f"{rule.__name__}: {case}"


def expect(rule: Rule, runs: Iterable[Run], cases: int = 1) -> None:
    """A rule is kept, and there were so many cases in which it could have been broken."""
    shown = 0
    for run in runs:
        for case in rule(run):
            assert case is None, f"{rule.__name__}: {case}"
            shown += 1
    assert shown >= cases, f"{rule.__name__} was put to the test {shown} times only"
