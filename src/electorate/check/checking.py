"""Judging a protocol: a search, whatever its engine, and the verdict on what it found."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

import msgspec

from electorate.check.judge import Judge
from electorate.check.limit import Limits
from electorate.check.model import Model
from electorate.check.progress import LimitReached, Progress, Report
from electorate.check.search import Search
from electorate.check.telling import ENDLESS, Finding
from electorate.check.verdict import Liveness, Result, Verdict, Violation
from electorate.check.world import World
from electorate.claims import Claim, Kind, Witness
from electorate.core import Machine

STATES_MAX = {"python": 5_000_000, "numba": 50_000_000}
"""How many states each engine explores unless it is told otherwise: some gigabytes."""
ENGINES = tuple(STATES_MAX)


class EngineMissing(Exception):
    """The engine needs a package that is not installed."""


class AnySearch(Protocol):
    """What every engine offers."""

    world: World
    judge: Judge
    claims: Sequence[Claim]
    broken: dict[str, tuple[int, Witness]]
    stable_states: int

    @property
    def states(self) -> int:
        """How many states were met."""

    @property
    def transitions(self) -> int:
        """How many moves were made."""

    @property
    def depth(self) -> int:
        """How many moves the farthest state is away."""

    def run(self, report: Report) -> bool:
        """Explore until all is seen, or every claim that can break has; says which."""

    def findings(self, report: Report) -> list[Finding]:
        """What becomes of every goal once nothing fails any more."""

    def violations(self, *, tidy: bool) -> list[Violation]:
        """Every broken safety claim with its shortest run, the tidiest of them if that matters."""

    def progress(self, phase: str, level: int, frontier: int) -> Progress:
        """How far this search has come."""

    def close(self) -> None:
        """Let go of whatever it holds."""


def default_engine() -> str:
    """The fastest engine that is installed."""
    return "numba" if find_spec("numba") is not None else "python"


def _engine(name: str) -> Callable[[Machine[Any], Model, Sequence[Claim], Limits], AnySearch]:
    if name == "python":
        return Search
    try:
        from electorate.check.table.search import TableSearch
    except ImportError as error:
        raise EngineMissing(
            "the numba engine needs numba: pip install 'electorate[check]'"
        ) from error
    return TableSearch


def check(
    machine: Machine[Any],
    model: Model,
    claims: Sequence[Claim],
    states_max: int | None = None,
    report: Report = lambda progress: None,
    engine: str = "python",
    memory: int | None = None,
    threads: int | None = None,
    *,
    tidy: bool = True,
    keep_going: bool = False,
    lean: bool = False,
) -> Verdict:
    """Judge the claims on every run that the model allows.

    `tidy` has the run that is easiest to follow looked for among the shortest; `keep_going` has
    everything explored, even when every claim that can break has; `lean` has goals
    judged without seeing twice whatever follows the last fault.
    """
    most = STATES_MAX[engine] if states_max is None else states_max
    limits = Limits(most, memory, threads, keep_going, lean)
    search = _engine(engine)(machine, model, claims, limits)
    verdict = _judged(search, report, tidy)
    if search.world.reduction is None or verdict.result is not Result.VIOLATED:
        return verdict
    # What breaks a claim in fewer orders does so in all of them, but perhaps in fewer moves.
    every = msgspec.structs.replace(model, reduced=False)
    full = _judged(_engine(engine)(machine, every, claims, limits), report, tidy)
    return full if full.result is Result.VIOLATED else verdict


def _judged(search: AnySearch, report: Report, tidy: bool) -> Verdict:
    """Run a search to its end, and say what it found."""
    claims = search.claims
    results = {claim.name: Result.UNKNOWN for claim in claims}
    findings: list[Finding] = []
    reason: str | None = None
    try:
        if search.run(report):
            results |= {c.name: Result.HOLDS for c in claims if c.kind.is_safety}
            if any(claim.kind is Kind.GOAL for claim in claims):
                findings = search.findings(report)
                results |= {finding.goal: finding.result for finding in findings}
            reason = search.judge.vacuous()
            if reason is not None:
                held = [name for name, result in results.items() if result is Result.HOLDS]
                results |= dict.fromkeys(held, Result.UNKNOWN)
            else:
                reason = _undecided(search, findings)
    except LimitReached as limit:
        reason = str(limit)
    except MemoryError:
        reason = "out of memory"
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        search.close()
    results |= dict.fromkeys(search.broken, Result.VIOLATED)
    effort = search.progress("done", 0, 0).effort
    worst = max(findings, key=lambda finding: finding.gravity, default=None)
    missed = (finding.violation for finding in findings if finding.violation)
    return Verdict(
        result=_overall(results, reason),
        claims=results,
        liveness=worst and worst.liveness,
        tau=worst and worst.tau,
        slowest=worst and worst.slowest,
        slowest_from=worst and worst.slowest_from,
        violations=(*search.violations(tidy=tidy), *missed),
        states=search.states,
        transitions=search.transitions,
        stable_states=search.stable_states,
        depth=search.depth,
        calls=search.world.turns.calls,
        effort=effort,
        sometimes=dict(search.judge.sometimes),
        cuts=dict(search.world.cuts),
        reduced=search.world.reduction is not None,
        reason=reason,
        ways={finding.goal: finding.ways for finding in findings if finding.ways},
        normal=search.world.normal,
    )


def _undecided(search: AnySearch, findings: Sequence[Finding]) -> str | None:
    """Which goals were still to be reached where runs went beyond which bounds."""
    goals = [finding.goal for finding in findings if finding.liveness is Liveness.UNDECIDED]
    if not goals:
        return None
    bounds = search.world.model.bounds
    cut_by = sorted(ENDLESS & set(search.world.cuts))
    beyond = " or ".join(f"{name} {getattr(bounds, name)}" for name in cut_by)
    return f"some runs go beyond {beyond} before they reach {' and '.join(goals)}"


def _overall(results: dict[str, Result], reason: str | None) -> Result:
    if Result.VIOLATED in results.values():
        return Result.VIOLATED
    if reason is not None or Result.UNKNOWN in results.values():
        return Result.UNKNOWN
    return Result.HOLDS
