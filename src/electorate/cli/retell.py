"""Runs found by the checker, retold by the simulator before anybody sees them.

The two drivers share nothing but the core, so a run that both take to the same states is real.
"""

from collections.abc import Iterable
from typing import Any

from electorate.cli.protocol import find
from electorate.core import Machine
from electorate.simulate.script import run_script
from electorate.trace import Trace, script_of

ENDING = "\n\nstandings\nclaims {}\n----\n"


class RetellingError(AssertionError):
    """The simulator does not reach the same states: one of the two drivers is wrong."""


def kind_and_form(name: str) -> tuple[type[Machine[Any]], str]:
    """The machine class and the form that a name in a script means."""
    protocol = find(name)
    return protocol.kind, protocol.form


def retold(trace: Trace, head: Iterable[str], claim: str) -> str:
    """The run as a script whose every outcome the simulator has confirmed."""
    told = script_of(trace, head)
    replayed = run_script(told.rstrip() + ENDING.format(claim), kind_and_form).text
    if not replayed.startswith(told):
        pairs = zip(told.splitlines(), replayed.splitlines(), strict=False)
        first = next((a, b) for a, b in pairs if a != b)
        raise RetellingError(f"the checker says {first[0]!r}, the simulator {first[1]!r}")
    return replayed
