"""`electorate dossier`: what a dossier says that the checker finds, and what it does find.

A row is what follows `electorate check` on a command line: a protocol and its options. Its answer
is what becomes of every claim in it.
"""

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from io import StringIO
from typing import NamedTuple, Self

import msgspec

from electorate.check import Liveness, Result, Verdict, check
from electorate.check.checking import ENGINES, EngineMissing, default_engine
from electorate.check.column import ModelError
from electorate.check.judge import SAYS_NOTHING as VACUOUS
from electorate.check.model import BUDGETS
from electorate.check.start import StartError
from electorate.claims import CLAIMS, Claim, Kind
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, UsageError
from electorate.cli.main import parser
from electorate.cli.model import model_of
from electorate.cli.protocol import add_name_argument, find
from electorate.core import Timing
from electorate.dossier import Dossier, Dropped, dossier_of, row
from electorate.trace.word import counted

NAME = "dossier"
SUMMARY = "Hold the dossier of a protocol against what the checker finds."
EXAMPLES = """examples:
  electorate dossier bully --only "--lies 1"
  electorate dossier path/to/ring.py:Ring

The dossier of a machine in path/to/ring.py is the file path/to/ring.toml, as that of
examples/chang_roberts.py is examples/chang_roberts.toml. A row is what could follow `electorate
check`; after the arrow comes what becomes of each claim. What breaks without a repair or an
assumption has to break in as many moves as the dossier says, and to be kept with it.
exit code: 0 all is as the dossier says, 1 something differs, 2 bad usage or input"""

UNSHOWN = "says nothing"
"""Not broken; but nothing happens in any of these runs that could break it."""
WITHIN = "holds within bounds"
"""No run that was seen breaks it; a bound hid others."""
KEPT, UNBROKEN = "kept", "not broken"
"""Said of a claim that is kept, however far was searched; or of which nothing may be shown."""

BAR = " | "
ARROW = " => "


class RowAnswer(NamedTuple):
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


# --- what a dossier says ---


class Statement(NamedTuple):
    """What a dossier says of one row."""

    row: str
    claims: Mapping[str, str]
    """A fate for each, or KEPT, or UNBROKEN."""
    extent: str = ""
    """Empty if nothing is said of it."""

    def __str__(self) -> str:
        said = (f"{name} {fate}" for name, fate in self.claims.items())
        return self.row + ARROW + BAR.join((*said, *([self.extent] if self.extent else [])))

    def agrees(self, found: RowAnswer) -> bool:
        """Whether the checker finds what is said."""
        fates = ((said, found.claims[name]) for name, said in self.claims.items())
        return self.extent in ("", found.extent) and all(_agrees(*each) for each in fates)


def _agrees(said: str, fate: str) -> bool:
    if said in (KEPT, UNBROKEN):
        return is_kept(fate) or (said == UNBROKEN and fate == UNSHOWN)
    return said == fate


def broken(dossier: Dossier, sound: str) -> Iterator[Statement]:
    """What breaks without each repair and each assumption, and whatever else is said of rows."""
    for repair in dossier.repairs:
        _, without = repair.rows(sound)
        yield Statement(without, dict([_named(repair.breaks)]))
    for dropped in dossier.assumptions:
        for protocol, breaks in fates_of(dropped, sound).items():
            if breaks:
                _, without = rows_of(dropped, protocol)
                yield Statement(without, dict([_named(breaks)]))
    yield from (_statement(line, sound) for line in dossier.verdicts)


def kept(dossier: Dossier, sound: str, promised: Sequence[str]) -> Iterator[Statement]:
    """What is kept with each repair and each assumption, and where a rule is another."""
    promises = [claim for claim in dossier.claims or promised if claim in promised]
    for repair in dossier.repairs:
        yield Statement(repair.rows(sound)[0], {_named(repair.breaks)[0]: KEPT})
    for choice in dossier.choices:
        claims = judged(choice.under, promises)
        yield Statement(choice.row(sound), dict.fromkeys(claims, UNBROKEN))
    for dropped in dossier.assumptions:
        for protocol, breaks in fates_of(dropped, sound).items():
            with_it, without = rows_of(dropped, protocol)
            if breaks:
                yield Statement(with_it, {_named(breaks)[0]: KEPT})
            else:
                yield Statement(without, dict.fromkeys(promises, KEPT))


def fates_of(dropped: Dropped, sound: str) -> dict[str, str]:
    """What breaks in each protocol without an assumption; nothing where that is empty."""
    protocols = dropped.of or (sound,)
    if isinstance(dropped.breaks, str):
        return dict.fromkeys(protocols, dropped.breaks)
    return dict(zip(protocols, dropped.breaks, strict=True))


def rows_of(dropped: Dropped, protocol: str) -> tuple[str, str]:
    """With an assumption, and without it. Where nothing would happen with it, all boot first."""
    stirs = any(f"--{kind}" in dropped.under for kind in ("from", *BUDGETS))
    timers = find(shlex.split(protocol)[0]).kind.timers
    boot = "" if stirs or any(timer.periodic for timer in timers) else "--from boot"
    return row(protocol, dropped.under, boot), row(protocol, dropped.under, dropped.by)


def judged(options: str, claims: Sequence[str]) -> tuple[str, ...]:
    """Those of the claims that can be judged: from any state only goals, for all may be broken."""
    if "--from any" not in options:
        return tuple(claims)
    return tuple(claim for claim in claims if CLAIMS[claim].kind is Kind.GOAL)


def _statement(line: str, sound: str) -> Statement:
    """Read a line of a dossier; a row that begins with an option is about the sound form."""
    asked, _, said = line.partition(ARROW)
    parts = said.split(BAR)
    claims = [part for part in parts if " states" not in part]
    extent = BAR.join(part for part in parts if part not in claims)
    asked = row(sound if asked.startswith("--") else "", asked)
    return Statement(asked, dict(map(_named, claims)), extent)


# --- what the checker finds ---


def answer(
    row: str,
    names: Sequence[str],
    states_max: int | None = None,
    engine: str = "numba",
    *,
    keep_going: bool = True,
) -> RowAnswer:
    """Check one row, on one processor; `states_max` is where it ends unless the row says."""
    claims = [CLAIMS[name] for name in names]
    goals = [claim for claim in claims if claim.kind is Kind.GOAL]
    # A verdict has one grade and one time, those of its worst goal, so each goal has a check.
    parts = [[c for c in claims if c not in goals[1:]], *([goal] for goal in goals[1:])]
    found = [_checked(row, part, states_max, engine, keep_going) for part in parts]
    fates = {name: fate for each in found for name, fate in each.claims.items()}
    return RowAnswer({name: fates[name] for name in names}, found[0].extent)


def _checked(
    row: str, claims: Sequence[Claim], states_max: int | None, engine: str, keep_going: bool
) -> RowAnswer:
    options = _options(row)
    protocol = find(options.protocol, options.form)
    model = model_of(options, protocol)
    try:
        verdict = check(
            protocol.machine(model.setting),
            model,
            claims,
            states_max if options.states_max is None else options.states_max,
            engine=engine,
            threads=1,
            tidy=False,
            keep_going=keep_going,
        )
    except (StartError, EngineMissing, ModelError) as error:
        raise UsageError(f"{row}: {error}") from None
    timing = model.setting.timing
    cuts = [bound for bound, _ in model.bounds.named(verdict.cuts)]
    return RowAnswer(
        {claim.name: _fate(claim, verdict, timing) for claim in claims}, _extent(verdict, cuts)
    )


def _options(row: str) -> argparse.Namespace:
    with redirect_stderr(StringIO()) as told:
        try:
            return parser(["check"]).parse_args(["check", *shlex.split(row)])
        except SystemExit:
            problem = told.getvalue().partition(": ")[2].partition("; see")[0]
            raise UsageError(f"{row}: {problem}") from None


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
        raise UsageError(f"{reason}: that is no answer")
    return reason


def _is_vacuous(verdict: Verdict) -> bool:
    return (verdict.reason or "").startswith(VACUOUS)


# --- the command ---


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `dossier` can be told."""
    add_name_argument(parser)
    parser.add_argument("--only", default="", metavar="TEXT", help="only rows that contain this")
    parser.add_argument(
        "--engine", choices=ENGINES, help="default: numba where it is installed, else python"
    )


def run(options: argparse.Namespace) -> int:
    """Hold a dossier against what the checker finds, row by row."""
    protocol = find(options.protocol)
    try:
        dossier = dossier_of(protocol.kind)
    except ValueError as error:
        raise UsageError(str(error)) from None
    sound = dossier.sound or shlex.quote(protocol.spelled())
    meant = find(dossier.sound) if dossier.sound else protocol
    promised = meant.kind.promised(meant.form)
    statements = [*broken(dossier, sound), *kept(dossier, sound, promised)]
    asked = {str(each): each for each in statements if options.only in each.row}
    if not asked:
        about = f" of a row that contains {options.only!r}" if statements else ""
        raise UsageError(f"{protocol.name} has no dossier that says what breaks{about}")
    for said, statement in asked.items():
        for name in statement.claims.keys() - CLAIMS.keys():
            raise UsageError(f"{said}: there is no claim {name!r}")
    engine = options.engine or default_engine()
    rows = []
    for said, statement in asked.items():
        found = found_of(statement, engine)
        agrees = statement.agrees(found)
        rows.append({"says": said, "found": str(found), "agrees": agrees})
        if not options.json:
            print(f"  {said}" if agrees else f"! {said}\n  but: {found}", flush=True)
    differences = sum(not row["agrees"] for row in rows)
    if options.json:
        print(msgspec.json.encode({"rows": rows, "differences": differences}).decode())
    else:
        print(f"\n{counted(len(rows), 'rows')}, {differences} differ from what the checker finds.")
    return EXIT_BROKEN if differences else EXIT_DONE


def found_of(statement: Statement, engine: str = "numba") -> RowAnswer:
    """What the checker finds of a statement; where all claims break it looks no further."""
    goes_on = bool(statement.extent) or not all(map(is_broken, statement.claims.values()))
    return answer(statement.row, list(statement.claims), None, engine, keep_going=goes_on)
