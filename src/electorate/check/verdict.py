"""What a check found, with every bound it depends on."""

from enum import StrEnum
from typing import Any

from electorate.check.effort import Effort
from electorate.check.model import BUDGETS, Model, Normal
from electorate.claims import Witness
from electorate.core import Machine, Value
from electorate.trace import Trace, is_consequence


class Result(StrEnum):
    """The fate of a claim, and of the whole check."""

    HOLDS = "holds"
    WITHIN_BOUNDS = "holds-within-bounds"  # no run that was seen breaks it; a bound hid others
    VIOLATED = "violated"
    UNKNOWN = "unknown"


VERBS = {
    Result.HOLDS: ("holds", "hold"),
    Result.WITHIN_BOUNDS: ("holds within bounds", "hold within bounds"),
    Result.VIOLATED: ("is violated", "are violated"),
    Result.UNKNOWN: ("is unknown", "are unknown"),
}
"""What is said of one claim, and of several."""


class Liveness(StrEnum):
    """Whether the goal is reached once nothing fails any more."""

    LIVE = "live"  # in every run, within τ
    UNDECIDED = "undecided"  # in every run that was followed to its end; a bound hid others
    PREVENTABLE = "preventable"  # bad luck can put it off for ever; good luck ends that
    STUCK = "stuck"  # some runs can never reach it again


class Violation(Value):
    """A broken claim: why, and the shortest run that breaks it."""

    claim: str
    witness: Witness
    trace: Trace
    calm_after: int | None = None
    """For a goal that is not reached: the number of moves after which nothing fails any more."""
    loop_after: int | None = None
    """The number of moves after which the rest of the run can be repeated for ever."""
    begins_after: int = 0
    """How many moves of the trace only lead to where the run begins. The two numbers above are of
    moves of the trace, too; everywhere else moves are counted from where a run begins."""

    @property
    def length(self) -> int:
        """How many moves the run takes from where it begins."""
        return sum(not is_consequence(step) for step in self.trace.steps) - self.begins_after


class Way(Value):
    """A way of getting stuck: what is lacking then, and the fewest moves that lead there."""

    text: str
    moves: int
    """Those that resume who is paused when the faults end are not counted."""
    run: Violation | None = None
    """How it comes to that, if that was asked for."""


class Verdict(Value):
    """The whole finding."""

    result: Result
    claims: dict[str, Result]
    liveness: Liveness | None
    tau: int | None
    """How many ticks the goal can take; at least that many where it is undecided."""
    slowest: Trace | None
    """The run that takes τ ticks to the goal after the last fault."""
    slowest_from: int | None
    """The number of moves in it after which nothing fails any more."""
    slowest_begins: int | None
    """How many moves of it only lead to where it begins."""
    violations: tuple[Violation, ...]
    states: int
    transitions: int
    stable_states: int
    depth: int
    calls: int
    """How often the protocol's Python code was called."""
    effort: Effort
    sometimes: dict[str, bool]
    cuts: dict[str, int]
    """How often each bound cut the search."""
    reduced: bool
    """Whether only one order was explored of deliveries that commute."""
    reason: str | None
    """Why the verdict is unknown."""
    renamed: bool = False
    """Whether numbers that grow for ever were renamed in every row (check/renaming.py)."""
    unspent: tuple[str, ...] = ()
    """The budgets of which no run could spend anything, and why."""
    ways: dict[str, tuple[Way, ...]] = {}
    """For each goal that runs can never reach again, every way in which they do not."""
    normal: Normal | None = None
    """With what the search began, if that is the normal state."""

    def sentence(self, name: str, machine: Machine[Any], model: Model) -> str:
        """The verdict in one sentence that names every constant."""
        grouped: dict[Result, list[str]] = {}
        for claim, result in self.claims.items():
            grouped.setdefault(result, []).append(claim)
        parts = []
        for result, claims in grouped.items():
            one, many = VERBS[result]
            parts.append(f"{_listed(claims)} {one if len(claims) == 1 else many}")
        ways = (("partial-order reduction", self.reduced), ("numbers renamed", self.renamed))
        constants = ", ".join(
            [*model.constants(machine, self.normal), *(way for way, used in ways if used)]
        )
        rules = ", ".join(f"{rule}={text}" for rule, text in machine.rules.texts().items())
        under = f", under the rules {rules}" if rules else ""
        return f"{name}: {' and '.join(parts)} for {constants}{self._cut_text(model)}{under}."

    def _cut_text(self, model: Model) -> str:
        bounds = [
            f"{bound} (cut {count:,} time{'s' if count > 1 else ''})"
            for bound, count in model.bounds.named(self.cuts)
        ]
        return f", up to {', '.join(bounds)}" if bounds else ""


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def budget_object(model: Model) -> dict[str, int]:
    """The budgets as plain data."""
    return {name: getattr(model.budget, name) for name in BUDGETS}
