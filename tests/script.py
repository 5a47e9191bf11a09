"""The golden scripts, and the protocols that they are about."""

from pathlib import Path
from typing import Any

from electorate.cli.retell import kind_and_form
from electorate.core import Machine
from electorate.protocols.registry import REGISTRY

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
SCRIPTS = sorted(GOLDEN.rglob("*.txt"))


def find(name: str) -> tuple[type[Machine[Any]], str]:
    """What a script means by a name, from wherever the tests are run."""
    return kind_and_form(name if name in REGISTRY else str(ROOT / name))
