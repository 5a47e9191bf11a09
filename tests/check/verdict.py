"""A verdict as a line of a table: what was asked, and what came of it, with its numbers."""

from typing import NamedTuple

from electorate.check import Budget, Liveness, Model, Result, check
from electorate.claims import CLAIMS
from electorate.core import Strongest, Timing
from electorate.protocols.registry import REGISTRY
from electorate.trace import Clock, Setting, Start, Ties


class Question(NamedTuple):
    """A protocol, changes to its rules, and the faults that it has to bear."""

    protocol: str
    claim: str
    budget: Budget = Budget()
    rules: tuple[str, ...] = ()
    nodes: int = 3
    timing: Timing = Timing()
    delay_min: int = 0
    clock: Clock = Clock.BOUNDED
    ties: Ties = Ties.MESSAGES_FIRST
    start: Start = Start.NORMAL
    detection: int | None = None
    atomic: bool = False
    strongest: Strongest | None = None
    """None means what the protocol says."""

    def __str__(self) -> str:
        faults = ",".join(self.budget.texts()) or "no faults"
        return " ".join((self.protocol, f"N={self.nodes}", *self.rules, faults, self.claim))


class Holds(NamedTuple):
    """So many states, and none that breaks the claim; for a goal, the longest time to it."""

    states: int
    tau: int | None = None


class Breaks(NamedTuple):
    """The length of the shortest run that breaks it; for a goal, how."""

    moves: int
    liveness: Liveness | None = None


def answered(question: Question) -> Holds | Breaks:
    """What the table engine says."""
    entry = REGISTRY[question.protocol]
    setting = Setting(
        question.protocol,
        tuple(range(1, question.nodes + 1)),
        question.rules,
        strongest=question.strongest or entry.machine.strongest,
        timing=question.timing,
        delay_min=question.delay_min,
        clock=question.clock,
        ties=question.ties,
        start=question.start,
    )
    model = Model(
        setting, question.budget, detection=question.detection, atomic_sends=question.atomic
    )
    machine = setting.machine(*entry)
    verdict = check(machine, model, [CLAIMS[question.claim]], engine="numba")
    if verdict.claims[question.claim] is Result.HOLDS:
        assert not verdict.cuts
        return Holds(verdict.states, verdict.tau)
    assert verdict.claims[question.claim] is Result.VIOLATED
    return Breaks(verdict.violations[0].length, verdict.liveness)
