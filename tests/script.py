"""The golden scripts, and the protocols that they are about."""

from pathlib import Path
from typing import Any

from electorate.cli.protocol import OVER
from electorate.cli.retell import kind_and_form
from electorate.core import Machine
from electorate.protocols.registry import REGISTRY

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "src" / "electorate" / "runs"
SCRIPTS = sorted([*GOLDEN.rglob("*.txt"), *(ROOT / "examples" / "runs").glob("*.txt")])


def find(name: str) -> tuple[type[Machine[Any]], str]:
    """What a script means by a name, from wherever the tests are run."""
    is_path = name not in REGISTRY and OVER not in name
    return kind_and_form(str(ROOT / name) if is_path else name)
