"""Asking the checker: a command of `electorate check`, and what it finds as one line of a table."""

import shlex
from typing import NamedTuple, Self

from electorate.check import Liveness, Model, Result, Verdict, check
from electorate.check.need import VACUOUS
from electorate.check.progress import Progress
from electorate.claims import CLAIMS, Kind
from electorate.cli.main import parser
from electorate.cli.model import model_of
from electorate.cli.protocol import find

STATES_MAX = 1_000_000
"""Where a search ends, so that what is found does not depend on the machine."""
SECONDS_MAX = 900
"""A search that takes longer is an error, not a finding."""

UNSHOWN = "unknown, nobody is elected"
"""Not broken, but neither is there a run in which a node becomes leader."""

BAR = " | "


class Answer(NamedTuple):
    """What a command finds."""

    claims: dict[str, str]
    """For each claim `holds`, `live, 8T`, `broken in 15`, `stuck in 7`, `unknown` or the like."""
    extent: str
    """How much was seen: so many states, or where the search ended."""

    def __str__(self) -> str:
        return BAR.join((*(f"{name} {text}" for name, text in self.claims.items()), self.extent))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes."""
        *claims, extent = text.split(BAR)
        return cls(dict(_named(claim) for claim in claims), extent)

    @property
    def states(self) -> int | None:
        """How many states there are; None if not all were seen."""
        number, _, word = self.extent.partition(" ")
        return int(number.replace(",", "")) if word == "states" else None


def _named(text: str) -> tuple[str, str]:
    name, _, rest = text.partition(" ")
    return name, rest


def is_kept(text: str) -> bool:
    """Whether a claim with this fate is kept, be it within bounds."""
    return text.startswith(("holds", "live"))


def is_broken(text: str) -> bool:
    """Whether a claim with this fate is broken."""
    return text.startswith(("broken", "stuck", "preventable"))


def command(*words: str, claims: tuple[str, ...]) -> str:
    """The whole command that judges these claims."""
    parts = ["electorate check", *(word for word in words if word)]
    parts += [f"--claim {claim}" for claim in claims]
    if len(claims) > 1:
        # Otherwise the search ends where no claim is left that one more move could break.
        parts.append("--keep-going")
    if not any("--states-max" in word for word in words):
        parts.append(f"--states-max {STATES_MAX}")
    return " ".join(parts)


def answer(line: str, engine: str = "numba", threads: int | None = None) -> Answer:
    """Do what this command does."""
    options = parser().parse_args(shlex.split(line)[1:])
    protocol = find(options.protocol, options.form)
    model = model_of(options, protocol)
    claims = [CLAIMS[name] for name in options.claim]
    # A verdict has one grade and one time, that of the worst goal.
    assert sum(claim.kind is Kind.GOAL for claim in claims) <= 1, "ask about one goal at a time"

    def watch(progress: Progress) -> None:
        if progress.effort.seconds > SECONDS_MAX:
            raise TimeoutError(f"{line} takes more than {SECONDS_MAX} s")

    verdict = check(
        protocol.machine(model.setting),
        model,
        claims,
        options.states_max,
        watch,
        engine,
        threads=threads,
        tidy=False,
        keep_going=options.keep_going,
    )
    fates = {name: _fate(name, verdict, model) for name in verdict.claims}
    return Answer(fates, _extent(verdict))


def _fate(name: str, verdict: Verdict, model: Model) -> str:
    lengths = {violation.claim: violation.length for violation in verdict.violations}
    match verdict.claims[name], CLAIMS[name].kind:
        case Result.UNKNOWN, _:
            return UNSHOWN if _is_vacuous(verdict) else "unknown"
        case Result.HOLDS, Kind.GOAL:
            time = "" if verdict.tau is None else f", {model.setting.timing.text(verdict.tau)}"
            return f"{Liveness.LIVE}{time}{_bounds(verdict, model)}"
        case Result.HOLDS, _:
            return f"holds{_bounds(verdict, model)}"
        case _, Kind.GOAL:
            return f"{verdict.liveness} in {lengths[name]}"
        case _:
            return f"broken in {lengths[name]}"


def _bounds(verdict: Verdict, model: Model) -> str:
    """The bounds that cut the search."""
    cuts = [f"{name} {getattr(model.bounds, name)}" for name in sorted(verdict.cuts)]
    return f" up to {', '.join(cuts)}" if cuts else ""


def _extent(verdict: Verdict) -> str:
    is_all = verdict.reason is None or _is_vacuous(verdict)
    return f"{verdict.states:,} states" if is_all else str(verdict.reason)


def _is_vacuous(verdict: Verdict) -> bool:
    return str(verdict.reason).startswith(VACUOUS)
