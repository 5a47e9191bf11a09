"""`electorate check`: judge a protocol's claims on every run within stated budgets."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from electorate.check import Result, check
from electorate.check.ablation import INTERRUPTED, Ablation, needs
from electorate.check.checking import STATES_MAX, EngineMissing, default_engine
from electorate.check.column import ModelError
from electorate.check.effort import Progress, Report
from electorate.check.model import Budget, Model
from electorate.check.robust import STATES_MAX as ROBUST_MAX
from electorate.check.robust import changes, rechecks
from electorate.check.start import StartError
from electorate.claims import Claim
from electorate.cli.beginning import begun
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, UsageError
from electorate.cli.finding import CheckReport, effort_text
from electorate.cli.model import add_model_arguments, model_from, model_of
from electorate.cli.picture import add_svg_argument, draw, write
from electorate.cli.protocol import Protocol, add_claim_argument, add_protocol_arguments, find
from electorate.cli.sensitivity import Sensitivity
from electorate.core import Machine
from electorate.simulate.named import UnknownClaim, claims_of
from electorate.trace import Start, script_of

NAME = "check"
SUMMARY = "Judge a protocol's claims on every run within stated budgets."
EXAMPLES = """examples:
  electorate check bully --nodes 3 --crashes 1 --recoveries 1
  electorate check bully-as-printed --crashes 1 --recoveries 1 --script found.txt
  electorate check bully --rule guard=T --delay 0..2 --crashes 2 --recoveries 2 --claim A1
  electorate check bully --nodes 2 --timing unbounded --from boot
  electorate check chang-roberts --crashes 1 --recoveries 1 --robust
  electorate check ring-attribute --crashes 1 --attribute 1=80 --attribute 2=6
  electorate check two-phase --asks 1 --crashes 1 --rule inner.first=1 --claim C4 --ways
  electorate check three-phase-over-bully --asks 1 --crashes 1 --delay 1..1 --claim C1 --claim C4
  electorate check examples/chang_roberts.py:ChangRoberts --from boot --json
  electorate check bully --crashes 1 --claim A1 --claim examples/claims.py:NOBODY_SWITCHES_AT_WORK
  electorate check --from mine.txt --crashes 1       from where the commands of a script have led
  electorate check bully-as-printed --from bully/strongest_starts --recoveries 1
  electorate check --from run --instance "office x" --at 3.2s --capacity 1 --counter 1
                                     from where a real run stood (electorate up --record run)

exit code: 0 all claims hold, 1 a claim is violated, 2 bad usage or input, 3 unknown, or they hold
only within bounds that cut the search (0 with --accept-bounds)"""

EXIT_CODES = {
    Result.HOLDS: EXIT_DONE,
    Result.WITHIN_BOUNDS: EXIT_UNKNOWN,
    Result.VIOLATED: EXIT_BROKEN,
    Result.UNKNOWN: EXIT_UNKNOWN,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `check`."""
    add_protocol_arguments(parser, "or leave it out if --from FILE names it")
    add_claim_argument(parser)
    add_model_arguments(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--no-needs", action="store_true", help="do not ask which faults a found run needs"
    )
    output.add_argument(
        "--accept-bounds",
        action="store_true",
        help="exit with 0 also where claims hold only within the bounds that cut the search",
    )
    output.add_argument(
        "--robust",
        action="store_true",
        help="check what holds again with each default moved by one: what does it hang on? "
        f"within {ROBUST_MAX:,} states each, or --states-max",
    )
    output.add_argument(
        "--ways", action="store_true", help="show a run for every way of getting stuck"
    )
    output.add_argument("--slowest", action="store_true", help="show the run that takes τ")
    output.add_argument("--script", type=Path, metavar="FILE", help="write the run as a script")
    add_svg_argument(output)


def run(options: argparse.Namespace) -> int:
    """Check, and report what was found."""
    protocol, model = _asked(options)
    machine = protocol.machine(model.setting)
    protocol.warn(machine)
    claims = _claims(options.claim, protocol, machine, model)
    if not (options.claim or model.given):
        protocol.verify_that_somebody_asks(machine, model.budget.asks)
    engine = options.engine or default_engine()
    with _progress() as report:
        try:
            verdict = check(
                machine,
                model,
                claims,
                options.states_max,
                report,
                engine,
                options.memory,
                options.threads,
                ways=options.ways,
                keep_going=options.keep_going,
                lean=True,
            )
        except StartError as error:
            raise UsageError(f"{protocol.name}: {error}{_shown(error, model)}") from None
        except (EngineMissing, ModelError) as error:
            raise UsageError(str(error)) from None

    named = {claim.name: claim for claim in claims}

    def needs_of(claim: str, spent: Budget) -> Iterator[Ablation]:
        with _progress() as report:
            yield from needs(machine, model, named[claim], spent, verdict.states, engine, report)

    # Whoever has interrupted the search does not want to wait for another.
    asked = None if options.no_needs or verdict.reason == INTERRUPTED else needs_of
    finding = CheckReport(verdict, protocol.name, machine, model, engine, asked, claims)
    if options.script and finding.scripts:
        write(options.script, finding.scripts[0])
    elif options.script:
        print(f"no claim is broken: nothing to write to {options.script}", file=sys.stderr)
    if options.svg:
        _draw(options, finding)
    robust = _robust(options, protocol, claims, finding) if options.robust else None
    if options.json:
        moved = {"robust": robust and robust.as_object()}
        print(msgspec.json.encode(finding.as_object() | moved).decode())
    else:
        texts = finding.texts(slowest=options.slowest, ways=options.ways)
        for text in chain(texts, robust.texts() if robust else ()):
            print(text, flush=True)
    if options.accept_bounds and verdict.result is Result.WITHIN_BOUNDS:
        return EXIT_DONE
    return EXIT_CODES[verdict.result]


def _robust(
    options: argparse.Namespace, protocol: Protocol, claims: list[Claim], finding: CheckReport
) -> Sensitivity:
    """Print what the verdict depends on, before anything is checked."""
    verdict, engine = finding.verdict, finding.engine
    most = options.states_max
    if most is None:
        most = min(ROBUST_MAX, STATES_MAX[engine])
    found = changes(finding.machine, finding.model, verdict.cuts)
    kind, form = protocol.kind, protocol.form
    again = rechecks(
        lambda setting: setting.machine(kind, form),
        found,
        claims,
        most,
        engine,
        _progress,
        options.memory,
        options.threads,
    )
    return Sensitivity(verdict, found, again, most)


def _asked(options: argparse.Namespace) -> tuple[Protocol, Model]:
    """What to check."""
    if options.start not in list(Start):
        beginning = begun(options)
        if options.robust:
            raise UsageError(f"--robust moves what {options.start} was run with: leave it out")
        return beginning.protocol, model_from(options, beginning.setting, beginning.given)
    if options.protocol is None:
        raise UsageError("check what? Name a protocol, or --from FILE for one that names it")
    protocol = find(options.protocol, options.form)
    return protocol, model_of(options, protocol)


def _claims(
    names: list[str] | None, protocol: Protocol, machine: Machine[Any], model: Model
) -> list[Claim]:
    promised = protocol.kind.promised(protocol.form)
    if not (names or promised):
        raise UsageError(f"{protocol.name} promises nothing; name a claim with --claim")
    try:
        claims = list(claims_of(machine, names or promised))
    except UnknownClaim as error:
        raise UsageError(f"{protocol.name}: {error}") from None
    if model.begins_anywhere and not names:
        # Anything may be broken where anything may be: only goals make sense from there.
        claims = [claim for claim in claims if not claim.kind.is_safety]
        if not claims:
            raise UsageError(f"{protocol.name} promises no goal; name a claim with --claim")
    return claims


def _shown(error: StartError, model: Model) -> str:
    """Show the run that leads nowhere, if there is one, and suggest where else to begin."""
    hints = []
    if error.trace.steps:
        print(script_of(error.trace), file=sys.stderr)
        hints.append("the run is above")
    if model.setting.start is not Start.BOOT:
        hints.append("try --from boot")
    return f" ({'; '.join(hints)})" if hints else ""


@contextmanager
def _progress() -> Iterator[Report]:
    """A line on the terminal while the search runs; nothing where there is no terminal."""
    console = Console(stderr=True)
    with console.status("starting") as status:

        def report(progress: Progress) -> None:
            effort = progress.effort
            rate = progress.states / max(effort.seconds, 1e-9)
            status.update(
                f"{progress.phase}: level {progress.level}, frontier {progress.frontier:,}, "
                f"{progress.states:,} states, {progress.transitions:,} transitions, "
                f"{rate:,.0f} states/s, {effort.seconds:.0f} s, {effort_text(effort)}"
            )

        yield report


def _draw(options: argparse.Namespace, finding: CheckReport) -> None:
    """Draw the run that breaks a claim, or else the slowest one."""
    verdict = finding.verdict
    if verdict.violations:
        broken = verdict.violations[0]
        last = len(broken.trace.steps) - 1
        title = f"{finding.name}: the shortest run that breaks {broken.claim}"
        marks = [(last, f"{broken.claim} is violated: {broken.witness.text}")]
        draw(options.svg, broken.trace, finding.machine, title, marks)
    elif verdict.slowest is not None:
        title = f"{finding.name}: the slowest election"
        draw(options.svg, verdict.slowest, finding.machine, title)
    else:
        raise UsageError("nothing to draw: no claim is broken, and no election was timed")
