"""What is measured: two models, each written for three tools, the same state for state."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.models.async_bully import AsyncBully
from benchmarks.models.ring import Ring
from electorate.check import Bounds, Budget, Model
from electorate.core import Machine
from electorate.trace import Clock, Setting, Start

FOLDER = Path(__file__).parent / "models"


class Case(NamedTuple):
    """A model at one size, and what the other tools must be told to have room for it."""

    name: str
    """The files in benchmarks/models that hold it."""
    size: int
    hash_bits: int = 20
    depth_max: int = 100_000

    @property
    def parameter(self) -> str:
        """What the size is the size of: the ring, or the channels."""
        return PARAMETERS[self.name]

    @property
    def title(self) -> str:
        """As people read it."""
        return f"{self.name} {self.parameter}={self.size}"

    @property
    def word(self) -> str:
        """As the command line takes it."""
        return f"{self.name}-{self.size}"

    def file(self, suffix: str) -> Path:
        """The model as another tool reads it."""
        return FOLDER / f"{self.name}{suffix}"

    def config(self) -> str:
        """The TLC configuration beside the model, at this size."""
        text = self.file(".cfg").read_text(encoding="utf-8")
        return re.sub(rf"\b{self.parameter} = \d+", f"{self.parameter} = {self.size}", text)

    def machine(self) -> tuple[Machine[Any], Model]:
        """The model as electorate checks it."""
        return ring(self.size) if self.name == "ring" else async_bully(self.size)


PARAMETERS = {"ring": "N", "async_bully": "K"}

QUICK = (Case("ring", 8), Case("ring", 10), Case("async_bully", 1))
FULL = (
    Case("ring", 12, hash_bits=22),
    Case("async_bully", 2, hash_bits=22),
    Case("async_bully", 3, hash_bits=26, depth_max=2_000_000),
)
CASES = {case.word: case for case in (*QUICK, *FULL)}


def ring(size: int) -> tuple[Machine[Any], Model]:
    """Chang and Roberts: everybody starts, every vote travels as far as it can, nobody fails."""
    ids = tuple(range(1, size + 1))
    links = tuple((i, i % size + 1) for i in ids)
    setting = Setting("ring", ids, clock=Clock.UNBOUNDED, start=Start.BOOT, graph=links)
    return setting.machine(Ring, "sound"), Model(setting, Budget(), Bounds(capacity=size))


def async_bully(capacity: int) -> tuple[Machine[Any], Model]:
    """Three nodes, any of which may crash, also amid its turns; one of them comes back."""
    setting = Setting(
        "async_bully", (1, 2, 3), strongest="highest", clock=Clock.UNBOUNDED, start=Start.BOOT
    )
    budget = Budget(crashes=3, recoveries=1)
    return setting.machine(AsyncBully, "sound"), Model(
        setting,
        budget,
        Bounds(capacity=capacity),
        drops=False,  # So that the states are those of the other tools.
    )
