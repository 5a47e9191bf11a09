"""What a counterexample spends, and whether it needs that: the check again with one fault less."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from electorate.check.checking import check
from electorate.check.effort import Progress, Report
from electorate.check.judge import SAYS_NOTHING
from electorate.check.model import BUDGETS, Budget, Detector, Model
from electorate.check.verdict import Liveness, Result, Verdict
from electorate.claims import Claim
from electorate.core import Machine, NodeId, Request, Value
from electorate.trace import (
    Happening,
    Lost,
    Placed,
    Presence,
    Recovered,
    Requested,
    Saw,
    Step,
    Trace,
    is_consequence,
)
from electorate.trace.word import counted

STATES_MIN = 1_000_000
STATES_TIMES = 5
"""A search with one fault less may take so many states, or so many times those of the first."""

INTERRUPTED = "interrupted"


class Ablation(Value):
    """What becomes of a claim if a run may spend one fault of this kind less."""

    kind: str
    left: int
    """How many faults of the kind were left to spend."""
    result: Result
    moves: int | None = None
    """How many moves the shortest run takes that breaks the claim even so."""
    within: str = ""
    """Which bounds cut the search."""
    states_max: int = 0
    interrupted: bool = False
    undecided: bool = False
    """Whether some run passed a bound before it could be told."""

    @property
    def needed(self) -> bool | None:
        """Whether the fault is needed; None if that was not decided."""
        return {Result.VIOLATED: False, Result.UNKNOWN: None}.get(self.result, True)

    def text(self, claim: str) -> str:
        """The finding in words."""
        faults = counted(self.left, self.kind)
        if self.needed:
            return f"needed: with {faults} {claim} holds{self.within}"
        if self.needed is False:
            moves = counted(self.moves or 0, "moves")
            return f"not needed: {claim} also breaks with {faults}, in {moves}"
        if self.interrupted:
            return f"not decided ({INTERRUPTED})"
        if self.undecided:
            return f"not decided{self.within}"
        return f"not decided within {self.states_max:,} states"


def needs(
    machine: Machine[Any],
    model: Model,
    claim: Claim,
    spent: Budget,
    states: int,
    engine: str | None = None,
    report: Report = lambda progress: None,
) -> Iterator[Ablation]:
    """For every kind of fault that a run spent: does the claim break with one of them less?

    All other budgets stay as they are in the model. `states` is the size of the search that found
    the run.
    """
    states_max = max(STATES_MIN, STATES_TIMES * states)
    interrupted = False
    for kind in BUDGETS:
        left = getattr(spent, kind) - 1
        if left < 0:
            continue

        def tell(progress: Progress, faults: str = counted(left, kind)) -> None:
            report(progress._replace(phase=f"{claim.name} with {faults}: {progress.phase}"))

        need = Ablation(kind, left, Result.UNKNOWN, states_max=states_max, interrupted=True)
        if not interrupted:
            try:
                less = with_less(model, kind, left)
                verdict = check(machine, less, [claim], states_max, tell, engine, tidy=False)
                need = _need(need, verdict, claim.name, less)
            except KeyboardInterrupt:
                pass  # It came between two phases of the check, and means the same.
        interrupted = need.interrupted
        yield need


def with_less(model: Model, kind: str, left: int) -> Model:
    """The model in which so many faults of one kind are left to spend."""
    fields = {name: getattr(model.budget, name) for name in BUDGETS}
    budget = Budget(**{**fields, kind: left})
    # Unreliable detectors have lies without end; so many are those of better ones.
    detector = Detector.EVENTUALLY_PERFECT if kind == "lies" else model.detector
    return msgspec.structs.replace(model, budget=budget, detector=detector)


def _need(need: Ablation, verdict: Verdict, claim: str, model: Model) -> Ablation:
    result = verdict.claims[claim]
    if result is Result.UNKNOWN and (verdict.reason or "").startswith(SAYS_NOTHING):
        result = Result.HOLDS  # Nothing that matters happens then; but broken it is not.
    cuts = [bound for bound, _ in model.bounds.named(verdict.cuts)]
    return msgspec.structs.replace(
        need,
        result=result,
        moves=verdict.violations[0].length if verdict.violations else None,
        within=f" up to {', '.join(cuts)}" if cuts else "",
        interrupted=result is Result.UNKNOWN and verdict.reason == INTERRUPTED,
        undecided=verdict.liveness is Liveness.UNDECIDED,
    )


# --- what a run spends ---


class Opinion(NamedTuple):
    """What one node's failure detector holds of one other node."""

    trusted: bool = True
    restarted: bool = False
    """The node came back before it was missed; that is still to be noticed."""


def spent_by(
    trace: Trace, model: Model, machine: Machine[Any] | None = None, begins_after: int = 0
) -> Budget:
    """The faults of a run of the checker, counted; what the application owes is none.

    Nothing of the moves counts that only lead to where the run begins.
    """
    counts = _Counts(model, machine)
    moves = 0
    for step in trace.steps:
        moves += not is_consequence(step)
        counts.take(step)
        if moves <= begins_after:
            counts.faults.clear()
    return Budget(**{kind: counts.faults[kind] for kind in BUDGETS})


class _Counts:
    """Counts faults step by step. Who is there decides what is a loss, and what is a lie."""

    def __init__(self, model: Model, machine: Machine[Any] | None) -> None:
        self._machine = machine
        self.faults: Counter[str] = Counter()
        self._notices_restarts = model.notices_restarts
        ids = model.setting.ids
        linked = model.setting.linked
        self._presence = Presence(model.setting)
        self._opinions = {(a, b): Opinion(linked(a, b)) for a in ids for b in ids}
        self._there = {pair: self._presence.sees(*pair) for pair in self._opinions}

    def take(self, step: Step) -> None:
        what = step.happening
        self.faults[what.budget[1]] += self._spent_on(step)
        self.faults["crashes"] += len(step.torn)
        self._presence.follow(what, step.torn)
        self._place(what)
        self._look_again()

    def _spent_on(self, step: Step) -> int:
        """How much of its budget a step takes."""
        match step.happening:
            case Lost(sender, to) as lost:
                # Where nobody can take it, a message is lost without a fault.
                return self._there[sender, to] and not lost.cause
            case Saw(node) as saw:
                return self._lies(node, saw.notices)
            case Requested(_, request):
                return not self._is_owed(step, request)
        return 1

    def _is_owed(self, step: Step, request: Request) -> bool:
        before = step.turns[0].before if step.turns else None
        if self._machine is None or before is None:
            return False
        return request in self._machine.must_ask(self._machine.view(before))

    def _place(self, what: Happening) -> None:
        """What a detector holds that begins anew."""
        match what:
            case Placed(node, _, _, alive):
                own = {pair: Opinion(pair[1] in alive) for pair in self._there if pair[0] == node}
            case Recovered(node):
                linked = self._presence.setting.linked
                own = {pair: Opinion(linked(*pair)) for pair in self._there if pair[0] == node}
            case _:
                return
        self._opinions.update(own)

    def _look_again(self) -> None:
        """Who is there for whom; whoever comes back before it was missed has restarted."""
        for pair, opinion in self._opinions.items():
            there = self._presence.sees(*pair)
            if there != self._there[pair]:
                missed = there and opinion.trusted and self._notices_restarts
                self._opinions[pair] = opinion._replace(restarted=missed)
                self._there[pair] = there

    def _lies(self, watcher: NodeId, targets: frozenset[NodeId]) -> int:
        """About how many of these nodes a detector changes its mind without a reason."""
        lies = 0
        for target in targets:
            opinion = self._opinions[watcher, target]
            lies += opinion.trusted is self._there[watcher, target] and not opinion.restarted
            self._opinions[watcher, target] = Opinion(not opinion.trusted)
        return lies
