"""A cost case: what happens, told as a script for N nodes, and what that should cost.

Everything is text, so that a protocol file of one's own can declare its cases as plain data,
without importing anything:

    COSTS = (
        {
            "name": "the strongest survivor notices",
            "script": "crash 1; suspect 2; settle",
            "leader": "2",
            "formulas": {"Halt": "N-2", "messages": "2N-3", "time": "4T"},
        },
    )
"""

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from electorate.core import Machine, Over, Value
from electorate.costs.formula import Expectation
from electorate.dossier import dossier_of
from electorate.protocols.told_leader import ToldLeader
from electorate.trace import Start

MESSAGES = "messages"
MULTICASTS = "multicasts"
MEMORIES = "to oneself"
ROUNDS = "rounds"
TIME = "time"
WRITES = "forced writes"
MEASURES = (MESSAGES, MULTICASTS, MEMORIES, ROUNDS, TIME, WRITES)
"""What is measured besides the messages of each kind, in the order of the fields of a Tally."""

Ranks = Literal["rising", "falling", "any"]
"""How strength goes along the ring of ids. The strongest node is the last one."""


class Extreme(Value):
    """Where a formula `least..most` is met, for sizes at which not every placement can be tried."""

    ranks: Ranks = "rising"
    sets: Mapping[str, str] = {}


class Case(Value):
    """One row of a protocol's cost table.

    The commands of `script` are those of golden scripts, with numbers given as formulas in N, and
    a few more (see play.py). A formula is `2N-3`: so in every run; `2N..3N-1`: the least and the
    most of all runs; or `mean N·H_N+N`: on average. A message that no formula is about must not be
    sent at all. Without any formulas a case is measured only.
    """

    name: str
    script: str
    formulas: Mapping[str, str] = {}
    leader: str = ""
    """The node that all live nodes must follow in the end; if empty, none need be followed."""
    forms: tuple[str, ...] = ()
    """The forms of the protocol that this is about; empty: all of them."""
    rules: tuple[str, ...] = ()
    start: Start = Start.NORMAL
    ranks: Ranks = "rising"
    numbers: Mapping[str, str] = {}
    """Letters that take each number of a range: {"d": "0..N-1"}."""
    sets: Mapping[str, str] = {}
    """Letters that take each set of so many: {"S": "k of 1..N"}."""
    least: Extreme | None = None
    most: Extreme | None = None
    tallies: Mapping[str, tuple[str, ...]] = {}
    """Kinds of messages that are counted together; a minus before a kind subtracts it."""
    nodes: tuple[int, ...] = ()
    """The only sizes that this is about; empty: all from `nodes_min` on."""
    nodes_min: int = 3

    def __post_init__(self) -> None:
        for text in self.formulas.values():
            if Expectation(text).is_mean and self.numbers:
                raise ValueError(f"{self.name}: {text!r} leaves open over which numbers")

    def fits(self, form: str, nodes: int) -> bool:
        """Whether the case is about this form and this size."""
        sized = nodes in self.nodes if self.nodes else nodes >= self.nodes_min
        return sized and (not self.forms or form in self.forms)

    def expected(self, measure: str) -> Expectation | None:
        """What is expected of a measure; None if nothing is."""
        text = self.formulas.get(measure)
        if text is None and self.formulas and measure not in (*MEASURES, *self.tallies):
            text = "0"
        return None if text is None else Expectation(text)


# --- the cases of a protocol: declared beside its machine, or those that fit any ---

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
