"""Judging a protocol: a search, whatever its engine, and the verdict on what it found."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import msgspec

from electorate.check.declared import NotAsDeclared
from electorate.check.effort import LimitReached, Limits, Report
from electorate.check.judge import SAYS_NOTHING
from electorate.check.model import BOUND_OPTIONS, Model
from electorate.check.plain import plain_search
from electorate.check.search import Search
from electorate.check.verdict import Liveness, Result, Verdict
from electorate.check.witness_run import STANDSTILL, Finding
from electorate.claims import Claim, Kind
from electorate.core import Machine
from electorate.trace.word import counted

STATES_MAX = {"python": 5_000_000, "numba": 50_000_000}
"""How many states each engine explores unless it is told otherwise: some gigabytes."""
ENGINES = tuple(STATES_MAX)
KEPT = (Result.HOLDS, Result.WITHIN_BOUNDS)

TIME_GOES_ON = Claim("time", Kind.GOAL, "time goes on", lambda row: None, compares=True)
"""Not a claim about any row: a goal that only a standstill of time can miss."""


class EngineMissing(Exception):
    """The engine needs a package that is not installed."""


AnySearch = Search[Any]
Searching = Callable[[Machine[Any], Model, Sequence[Claim], Limits], AnySearch]


def default_engine() -> str:
    """The fastest engine that is installed."""
    return "numba" if find_spec("numba") is not None else "python"


def _engine(name: str) -> Searching:
    if name == "python":
        return plain_search
    try:
        from electorate.check.table.engine import table_search
    except ImportError as error:
        raise EngineMissing(
            "the numba engine needs numba: pip install 'electorate[check]'"
        ) from error
    return table_search


def check(
    machine: Machine[Any],
    model: Model,
    claims: Sequence[Claim],
    states_max: int | None = None,
    report: Report = lambda progress: None,
    engine: str | None = None,
    memory: int | None = None,
    threads: int | None = None,
    *,
    ways: bool = False,
    tidy: bool = True,
    keep_going: bool = False,
    lean: bool = False,
) -> Verdict:
    """Judge the claims on every run that the model allows.

    The engine is the fastest that is installed unless one is named. `ways` has a run found for
    every way of getting stuck; `tidy` has the run that is easiest to follow looked for among the
    shortest; `keep_going` has everything explored, even when every claim that can break has;
    `lean` has goals judged without seeing twice whatever follows the last fault.
    """
    engine = engine or default_engine()
    most = STATES_MAX[engine] if states_max is None else states_max
    limits = Limits(most, memory, threads, keep_going, ways, lean)

    def judged(claims: Sequence[Claim]) -> Verdict:
        try:
            return _checked(machine, model, claims, limits, report, engine, tidy=tidy)
        except NotAsDeclared:
            plain = msgspec.structs.replace(model, renames=False)
            return _checked(machine, plain, claims, limits, report, engine, tidy=tidy)

    looking_back = [claim for claim in claims if claim.looks_back]
    plain = [claim for claim in claims if not claim.looks_back]
    if not (looking_back and plain):
        return judged(claims)
    # What some claims remember of a run must not keep its loops from closing for the others.
    return _together(claims, [judged(looking_back), judged(plain)])


def _checked(
    machine: Machine[Any],
    model: Model,
    claims: Sequence[Claim],
    limits: Limits,
    report: Report,
    engine: str,
    *,
    tidy: bool,
) -> Verdict:
    search = _engine(engine)(machine, model, claims, limits)
    verdict = _judged(search, report, tidy)
    if search.space.outcomes.may_stand_still and _keeps_safety(verdict, claims):
        clock = _engine(engine)(machine, model, [TIME_GOES_ON], limits._replace(lean=True))
        return _while_time_passes(verdict, _judged(clock, report, tidy=False))
    if search.moves.reduction is None or verdict.result is not Result.VIOLATED:
        return verdict
    # What breaks a claim in fewer orders does so in all of them, but perhaps in fewer moves.
    every = msgspec.structs.replace(model, reduced=False)
    full = _judged(_engine(engine)(machine, every, claims, limits), report, tidy)
    return full if full.result is Result.VIOLATED else verdict


def _keeps_safety(verdict: Verdict, claims: Sequence[Claim]) -> bool:
    """Whether some claim is said to hold that one run can break."""
    return any(claim.kind.is_safety and verdict.claims[claim.name] in KEPT for claim in claims)


def _together(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict on claims that were judged in searches of their own; the first is the largest."""
    first, last = verdicts
    results = first.claims | last.claims
    reason = first.reason or last.reason
    cuts = first.cuts | last.cuts
    worst = max(verdicts, key=lambda v: list(Liveness).index(v.liveness) if v.liveness else -1)
    return msgspec.structs.replace(
        first,
        result=_overall(results, reason),
        claims={claim.name: results[claim.name] for claim in claims},
        liveness=worst.liveness,
        tau=worst.tau,
        slowest=worst.slowest,
        slowest_from=worst.slowest_from,
        slowest_begins=worst.slowest_begins,
        violations=(*first.violations, *last.violations),
        stable_states=max(first.stable_states, last.stable_states),
        calls=first.calls + last.calls,
        cuts={name: max(v.cuts.get(name, 0) for v in verdicts) for name in cuts},
        reason=reason,
        ways=first.ways | last.ways,
    )


def _while_time_passes(verdict: Verdict, clock: Verdict) -> Verdict:
    """The verdict on safety, given whether time goes on: what it never comes to was not seen."""
    if clock.result is Result.VIOLATED:
        moves = clock.violations[0].length
        after = counted(moves, "moves")
        reason = f"{STANDSTILL}, after {after}: what would come later was never seen"
    elif clock.liveness is None:
        reason = f"whether time goes on was not seen: {clock.reason}"
    else:
        return verdict
    kept = {name: Result.UNKNOWN for name, result in verdict.claims.items() if result in KEPT}
    results = verdict.claims | kept
    return msgspec.structs.replace(
        verdict, result=_overall(results, reason), claims=results, reason=reason
    )


def _judged(search: AnySearch, report: Report, tidy: bool) -> Verdict:
    """Run a search to its end, and say what it found."""
    claims = search.claims
    results = {claim.name: Result.UNKNOWN for claim in claims}
    findings: list[Finding] = []
    reason: str | None = None
    unspent: tuple[str, ...] = ()
    is_whole = False
    try:
        is_whole = search.run(report)
        if is_whole and any(claim.kind is Kind.GOAL for claim in claims):
            findings = search.findings(report)
    except LimitReached as limit:
        reason = str(limit)
    except MemoryError:
        reason = "out of memory"
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        search.close()
    if is_whole:
        seen = Result.WITHIN_BOUNDS if search.space.cuts else Result.HOLDS
        results |= {claim.name: seen for claim in claims if claim.kind.is_safety}
        results |= {finding.goal: finding.result for finding in findings}
        unspent, empty = search.judge.unspent(), _empty(search, results)
        results |= dict.fromkeys(empty, Result.UNKNOWN)
        reason = reason or _why_empty(empty, results) or _undecided(search, findings)
        findings = [found for found in findings if found.goal not in empty]
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
        slowest_begins=worst and worst.slowest_begins,
        violations=(*search.violations(tidy=tidy), *missed),
        states=search.states,
        transitions=search.transitions,
        stable_states=search.stable_states,
        depth=search.depth,
        calls=search.space.turns.calls,
        effort=effort,
        sometimes=dict(search.judge.sometimes),
        cuts=dict(search.space.cuts),
        reduced=search.moves.reduction is not None,
        reason=reason,
        unspent=unspent,
        renamed=search.space.renaming is not None,
        ways={finding.goal: finding.ways for finding in findings if finding.ways},
        normal=search.space.normal,
    )


def _empty(search: AnySearch, results: dict[str, Result]) -> dict[str, str]:
    """The claims that were kept because nothing happened, and what never did."""
    kept = [name for name, result in results.items() if result in (*KEPT, Result.UNKNOWN)]
    nothing = search.judge.vacuous()
    if nothing is not None:
        return dict.fromkeys(kept, nothing)
    return {name: why for name, why in search.judge.empty().items() if name in kept}


def _why_empty(empty: dict[str, str], results: dict[str, Result]) -> str | None:
    """Of which claims the search says nothing, and why."""
    if not empty:
        return None
    if len(empty) == len(results) and len({*empty.values()}) == 1:
        return f"{SAYS_NOTHING}: {next(iter(empty.values()))}"
    return f"{SAYS_NOTHING} of " + "; of ".join(f"{name}: {why}" for name, why in empty.items())


def _undecided(search: AnySearch, findings: Sequence[Finding]) -> str | None:
    """Which goals are not known to be reached because of which bounds."""
    goals = [finding.goal for finding in findings if finding.liveness is Liveness.UNDECIDED]
    if not goals:
        return None
    cuts = search.space.cuts
    beyond = " or ".join(bound for bound, _ in search.space.model.bounds.named(cuts))
    raise_ = " or ".join(f"--{BOUND_OPTIONS[name]}" for name in sorted(cuts))
    return (
        f"some runs go beyond {beyond}, and whether they reach {' and '.join(goals)} was not "
        f"seen: raise {raise_}"
    )


def _overall(results: dict[str, Result], reason: str | None) -> Result:
    if Result.VIOLATED in results.values():
        return Result.VIOLATED
    if reason is not None or Result.UNKNOWN in results.values():
        return Result.UNKNOWN
    return Result.WITHIN_BOUNDS if Result.WITHIN_BOUNDS in results.values() else Result.HOLDS
