"""The cost cases of a protocol, as they are declared beside its machine; and those that fit any."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from electorate.core import Machine, Over
from electorate.costs.case import Case
from electorate.dossier import dossier_of
from electorate.protocols.told_leader import ToldLeader
from electorate.trace import Start

GENERIC = (
    Case("the first election, from boot", "agree", start=Start.BOOT, nodes_min=1),
    Case("the leader crashes and all notice", "crash leader; notice; agree", nodes_min=2),
    Case(
        "the old leader recovers and all notice",
        "crash leader; notice; agree; count; recover down; notice; agree",
        nodes_min=2,
    ),
)
"""Measured only: the protocol itself has to say what these cost."""


DECLARED = "COSTS"
"""The name under which a protocol file may declare its cases instead, in the same form."""


def cases_of(kind: type[Machine[Any]]) -> tuple[Case, ...]:
    """The cases that are declared beside it, or that fit any election.

    A machine that is made from another one is expected to cost the same.
    """
    for each in kind.__mro__:
        if issubclass(each, Machine):
            declared = _declared(each, kind)
            if declared:
                return tuple(_case(source, given) for source, given in declared)
    return GENERIC


def _declared(of: type[Machine[Any]], kind: type[Machine[Any]]) -> list[tuple[str, object]]:
    """What one class says that `kind` costs, each case with the name of where it is said."""
    given = getattr(sys.modules.get(of.__module__), DECLARED, None)
    if given is not None:
        return [(f"{DECLARED} of {of.__name__}", each) for each in _own(of, given)]
    dossier = dossier_of(of)
    cases = _own(of, dossier.costs)
    if issubclass(kind, Over) and kind.inner_kind not in (None, ToldLeader):
        cases = dossier.costs_over or cases
    return [(f"the dossier of {of.__name__}", each) for each in cases]


def _own(of: type[Machine[Any]], given: Any) -> Iterable[object]:
    """Those of one class, where each has its own under its name."""
    found: Iterable[object] = given.get(of.__name__, ()) if isinstance(given, Mapping) else given
    return found


def _case(source: str, declared: object) -> Case:
    try:
        return declared if isinstance(declared, Case) else msgspec.convert(declared, Case)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
