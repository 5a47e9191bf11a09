"""`electorate check`: judge a protocol's claims on every run within stated budgets."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console

from electorate.check import Bounds, Budget, Detector, Model, Result, check
from electorate.check.checking import ENGINES, EngineMissing, default_engine
from electorate.check.model import BUDGETS
from electorate.check.progress import Progress, Report
from electorate.check.start import StartError
from electorate.claims import CLAIMS, Claim
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, UsageError
from electorate.cli.finding import Finding
from electorate.cli.picture import add_svg_argument, draw, write
from electorate.cli.protocol import Protocol, add_protocol_arguments, attributes_of, find
from electorate.core import Timing
from electorate.trace import Clock, Connections, Order, Setting, Start, Ties, script_of

NAME = "check"
SUMMARY = "Judge a protocol's claims on every run within stated budgets."
EXAMPLES = """examples:
  electorate check bully --nodes 3 --crashes 1 --recoveries 1
  electorate check bully-as-printed --crashes 1 --recoveries 1 --script found.txt
  electorate check bully --rule guard=T --delay 0..2 --crashes 2 --recoveries 2 --claim A1
  electorate check bully --nodes 2 --timing unbounded --from boot
  electorate check ring-attribute --crashes 1 --attribute 1=80 --attribute 2=6
  electorate check examples/chang_roberts.py:ChangRoberts --from boot --json

exit code: 0 all claims hold, 1 a claim is violated, 2 bad usage or input, 3 unknown"""

EXIT_CODES = {
    Result.HOLDS: EXIT_DONE,
    Result.VIOLATED: EXIT_BROKEN,
    Result.UNKNOWN: EXIT_UNKNOWN,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `check` can be told."""
    add_protocol_arguments(parser)
    parser.add_argument(
        "--claim",
        action="append",
        metavar="NAME",
        help="default: the claims that the protocol promises; may be repeated",
    )
    model = parser.add_argument_group("time and the network")
    model.add_argument("--timing", choices=list(Clock), default=Clock.BOUNDED)
    model.add_argument(
        "--delay", type=_delay, default=(0, 1), metavar="MIN..T", help="default 0..1"
    )
    model.add_argument("--ties", choices=list(Ties), default=Ties.MESSAGES_FIRST)
    model.add_argument("--order", choices=list(Order), default=Order.FIFO)
    model.add_argument("--connections", choices=list(Connections), default=Connections.OUTLIVE)
    model.add_argument("--from", dest="start", choices=[Start.NORMAL, Start.BOOT], default="normal")
    budgets = parser.add_argument_group("faults that a run may spend (each 0 by default)")
    for name in BUDGETS:
        budgets.add_argument(f"--{name}", type=_count, default=0, metavar="K")
    budgets.add_argument("--atomic-turns", action="store_true", help="a crash tears no turn apart")
    detectors = parser.add_argument_group("failure detectors")
    detectors.add_argument(
        "--detector",
        choices=["perfect", *Detector],
        help="default: perfect, or eventually-perfect if there are lies",
    )
    detectors.add_argument("--detection", type=_count, metavar="TICKS", help="default 2T")
    detectors.add_argument("--notices-restarts", action="store_true")
    bounds = parser.add_argument_group("where the search is cut")
    for name in Bounds.__struct_fields__:
        default = getattr(Bounds(), name)
        bounds.add_argument(
            f"--{name}", type=_count, default=default, metavar="K", help=f"default {default}"
        )
    parser.add_argument(
        "--engine", choices=ENGINES, help="default: numba where it is installed, else python"
    )
    bounds.add_argument(
        "--states-max", type=_count, metavar="M", help="default 50,000,000; 5,000,000 in python"
    )
    output = parser.add_argument_group("output")
    output.add_argument("--slowest", action="store_true", help="show the run that takes τ")
    output.add_argument("--script", type=Path, metavar="FILE", help="write the run as a script")
    add_svg_argument(output)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1_000_000_000:
        raise argparse.ArgumentTypeError(f"must be a whole number below 10⁹, not {text}")
    return int(text)


def _delay(text: str) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    if not (dots and low.isdecimal() and high.isdecimal() and int(low) <= int(high) <= 100):
        raise argparse.ArgumentTypeError(f"must be MIN..T with MIN ≤ T ≤ 100, not {text}")
    if int(high) == 0:
        raise argparse.ArgumentTypeError("T must be at least 1")
    return int(low), int(high)


def run(options: argparse.Namespace) -> int:
    """Check, and say what was found."""
    protocol = find(options.protocol, options.form)
    model = _model(options, protocol)
    machine = protocol.machine(model.setting)
    claims = _claims(options.claim, protocol)
    engine = options.engine or default_engine()
    with _progress() as report:
        try:
            verdict = check(machine, model, claims, options.states_max, report, engine)
        except StartError as error:
            print(script_of(error.trace), file=sys.stderr)
            raise UsageError(
                f"{protocol.name}: {error} (the run is above; try --from boot)"
            ) from None
        except EngineMissing as error:
            raise UsageError(str(error)) from None
    finding = Finding(verdict, protocol.name, machine, model, engine)
    if options.script and finding.scripts:
        write(options.script, finding.scripts[0])
    elif options.script:
        print(f"no claim is broken: nothing to write to {options.script}", file=sys.stderr)
    if options.svg:
        _draw(options, finding)
    if options.json:
        print(msgspec.json.encode(finding.as_object()).decode())
    else:
        print(finding.as_text(slowest=options.slowest))
    return EXIT_CODES[verdict.result]


def _model(options: argparse.Namespace, protocol: Protocol) -> Model:
    low, high = options.delay
    budget = Budget(**{name: getattr(options, name) for name in BUDGETS})
    if options.detector == "perfect" and budget.lies:
        raise UsageError("a perfect detector tells no lies: leave out --lies, or --detector")
    unreliable = options.detector == Detector.UNRELIABLE
    ids = tuple(range(1, options.nodes + 1))
    setting = Setting(
        protocol=protocol.spelled(),
        ids=ids,
        rules=tuple(options.rule),
        strongest=options.strongest or protocol.kind.strongest,
        timing=Timing(high),
        delay_min=low,
        clock=Clock(options.timing),
        ties=Ties(options.ties),
        order=Order(options.order),
        connections=Connections(options.connections),
        start=Start(options.start),
        attributes=attributes_of(options.attribute, ids),
    )
    return Model(
        setting,
        budget,
        Bounds(**{name: getattr(options, name) for name in Bounds.__struct_fields__}),
        Detector.UNRELIABLE if unreliable else Detector.EVENTUALLY_PERFECT,
        options.detection,
        options.notices_restarts,
        options.atomic_turns,
    )


def _claims(names: list[str] | None, protocol: Protocol) -> list[Claim]:
    wanted = dict.fromkeys(names or protocol.kind.promises)
    unknown = [name for name in wanted if name not in CLAIMS]
    if unknown:
        raise UsageError(f"no claim {unknown[0]!r}; known are {', '.join(CLAIMS)}")
    if not wanted:
        raise UsageError(f"{protocol.name} promises nothing; name a claim with --claim")
    return [CLAIMS[name] for name in wanted]


@contextmanager
def _progress() -> Iterator[Report]:
    """A line on the terminal while the search runs; nothing where there is no terminal."""
    console = Console(stderr=True)
    with console.status("starting") as status:

        def report(progress: Progress) -> None:
            rate = progress.transitions / max(progress.seconds, 1e-9)
            status.update(
                f"{progress.phase}: level {progress.level}, frontier {progress.frontier:,}, "
                f"{progress.states:,} states, {progress.transitions:,} transitions, "
                f"{rate:,.0f}/s, {progress.seconds:.0f} s"
            )

        yield report


def _draw(options: argparse.Namespace, finding: Finding) -> None:
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
