"""Asking the checker: one row of the table, and what becomes of every claim in it.

A row is what follows `electorate check` on a command line: a protocol and its options.
"""

import shlex
from collections.abc import Sequence
from typing import NamedTuple, Self

from electorate.check import Liveness, Result, Verdict, check
from electorate.check.judge import SAYS_NOTHING as VACUOUS
from electorate.claims import CLAIMS, Claim, Kind
from electorate.cli.main import parser
from electorate.cli.model import model_of
from electorate.cli.protocol import find
from electorate.core import Timing

STATES_MAX = 1_000_000
"""Where a search ends unless its row says otherwise, so that no answer depends on the machine."""

UNSHOWN = "says nothing"
"""Not broken; but nothing happens in any of these runs that could break it."""
WITHIN = "holds within bounds"
"""No run that was seen breaks it; a bound hid others."""

BAR = " | "


class Answer(NamedTuple):
    """What becomes of every claim in one row."""

    claims: dict[str, str]
    """`holds`, `holds within bounds`, `live, 8T`, `broken in 15`, `stuck in 7`, `undecided`, …"""
    extent: str
    """How much was seen: `8 states`, `8 states up to counter 3`, `more than 1,000,000 states`."""

    def __str__(self) -> str:
        return BAR.join((*(f"{name} {fate}" for name, fate in self.claims.items()), self.extent))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes."""
        *claims, extent = text.split(BAR)
        return cls(dict(_named(claim) for claim in claims), extent)

    @property
    def states(self) -> int | None:
        """How many states there are; None if not all were seen."""
        number, _, _ = self.extent.partition(" states")
        return int(number.replace(",", "")) if number[0].isdecimal() else None


def _named(text: str) -> tuple[str, str]:
    name, _, rest = text.partition(" ")
    return name, rest


def is_kept(fate: str) -> bool:
    """Whether a claim with this fate is kept, be it within bounds."""
    return fate.startswith(("holds", "live"))


def is_broken(fate: str) -> bool:
    """Whether a claim with this fate is broken."""
    return fate.startswith(("broken", "stuck", "preventable"))


def answer(row: str, names: Sequence[str], engine: str = "numba") -> Answer:
    """Check one row, on one processor."""
    claims = [CLAIMS[name] for name in names]
    goals = [claim for claim in claims if claim.kind is Kind.GOAL]
    # A verdict has one grade and one time, those of its worst goal, so each goal has a check.
    verdicts = [_checked(row, [c for c in claims if c not in goals[1:]], engine)]
    verdicts += [_checked(row, [goal], engine) for goal in goals[1:]]
    fates = {name: fate for found in verdicts for name, fate in found.claims.items()}
    return Answer({name: fates[name] for name in names}, verdicts[0].extent)


def _checked(row: str, claims: Sequence[Claim], engine: str) -> Answer:
    options = parser().parse_args(["check", *shlex.split(row)])
    protocol = find(options.protocol, options.form)
    model = model_of(options, protocol)
    verdict = check(
        protocol.machine(model.setting),
        model,
        claims,
        STATES_MAX if options.states_max is None else options.states_max,
        engine=engine,
        threads=1,
        tidy=False,
        keep_going=True,
    )
    timing = model.setting.timing
    cuts = [bound for bound, _ in model.bounds.named(verdict.cuts)]
    return Answer(
        {claim.name: _fate(claim, verdict, timing) for claim in claims}, _extent(verdict, cuts)
    )


def _fate(claim: Claim, verdict: Verdict, timing: Timing) -> str:
    lengths = {violation.claim: violation.length for violation in verdict.violations}
    is_goal = claim.kind is Kind.GOAL
    match verdict.claims[claim.name]:
        case Result.UNKNOWN if is_goal and verdict.liveness is Liveness.UNDECIDED:
            return "undecided"
        case Result.UNKNOWN:
            return UNSHOWN if _is_vacuous(verdict) else "unknown"
        case Result.HOLDS if is_goal:
            return "live" if verdict.tau is None else f"live, {timing.text(verdict.tau)}"
        case Result.HOLDS:
            return "holds"
        case Result.WITHIN_BOUNDS:
            return WITHIN
        case _:
            return f"{verdict.liveness if is_goal else 'broken'} in {lengths[claim.name]}"


def _extent(verdict: Verdict, cuts: Sequence[str]) -> str:
    if verdict.reason is None or _is_vacuous(verdict) or verdict.liveness is Liveness.UNDECIDED:
        states = max(verdict.states, verdict.stable_states)
        return f"{states:,} states" + (f" up to {', '.join(cuts)}" if cuts else "")
    reason = verdict.reason.removesuffix(" (--states-max)")
    if not reason.startswith("more than"):
        raise RuntimeError(f"{reason}: that is no answer")
    return reason


def _is_vacuous(verdict: Verdict) -> bool:
    return (verdict.reason or "").startswith(VACUOUS)
