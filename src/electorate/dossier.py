"""The dossier of a protocol: what is known of it, as plain data beside its machine.

It is a TOML file with the name of the machine's: `bully.toml` beside `bully.py`. A protocol of your
own may have one too. Nothing in it is needed to run the machine.
"""

import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from electorate.core import Machine, Value

Cases = list[dict[str, Any]]
"""As `electorate.costs` reads them."""


class Dossier(Value):
    """All that stands beside one machine, or beside the machines of one file."""

    costs: Cases | dict[str, Cases] = {}
    """What runs cost: for every machine of the file, or for each class by its name."""
    costs_over: Cases = []
    """The same over another election than the one that the cases of `costs` are played over."""


EMPTY = Dossier()


def dossier_of(kind: type[Machine[Any]]) -> Dossier:
    """What stands beside the file of this class; nothing may."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return EMPTY if file is None else _read(Path(file).with_suffix(".toml"))


@cache
def _read(file: Path) -> Dossier:
    if not file.is_file():
        return EMPTY
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Dossier)
    except ValueError as error:
        raise ValueError(
            f"{file.name}, which is read as the dossier of {file.stem}.py: {error}"
        ) from None
