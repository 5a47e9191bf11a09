"""`electorate simulate`: run a protocol through faults and delays that a seed decides."""

import argparse
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from electorate.claims import Kind
from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN, UsageError
from electorate.cli.picture import add_svg_argument, draw, write
from electorate.cli.protocol import (
    add_claim_argument,
    add_equal_argument,
    add_graph_argument,
    add_protocol_arguments,
    add_storage_argument,
    attributes_of,
    find,
    graph_given,
)
from electorate.cli.retell import kind_and_form
from electorate.cli.supervisor import any_end_is_ctrl_c
from electorate.simulate.delay import parse_delay, parse_time
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.fault import Ask
from electorate.simulate.named import UnknownClaim
from electorate.simulate.run import RunResult
from electorate.simulate.scenario import Faults, Scenario, load_scenario, verify
from electorate.simulate.seen import Seen
from electorate.simulate.start import SimulationStartError
from electorate.simulate.story import Story, digest_of, fault_counts, in_T, shrunk_story
from electorate.simulate.swarm import Interrupted, Seeded, Swarmed, run_swarm
from electorate.trace import Connections, Order, Start, Storage, lines_of, to_json_lines
from electorate.trace.word import counted

NAME = "simulate"
SUMMARY = "Run a protocol through faults and delays that a seed decides."
EXAMPLES = """examples:
  electorate simulate bully --nodes 5 --seed 7
  electorate simulate bully --nodes 5 --seeds 10000
  electorate simulate bully-as-printed --seeds 2000 --claim A1 --script found.txt
  electorate simulate bully --delay lognormal:0.3T,0.8 --loss 0.01 --crashes 2 --recoveries 1
  electorate simulate two-phase --asks 3 --seeds 500
  electorate simulate bully --claim examples/claims.py:NOBODY_LEADS_TWICE --seeds 500
  electorate simulate bully --scenario examples/scenarios/wan.toml --seeds 500 --json

delays: constant:1T, uniform:0..1T (default), lognormal:MEDIAN,SIGMA, pareto:SCALE,ALPHA
exit code: 0 all claims hold, 1 a claim is violated, 2 bad usage or input, 3 unknown: what a claim
is about was never seen, or the runs were interrupted"""

DIGEST_MAX = 60

HOLDS, VIOLATED, UNKNOWN = "holds", "violated", "unknown"
EXIT_CODES = {HOLDS: EXIT_DONE, VIOLATED: EXIT_BROKEN, UNKNOWN: EXIT_UNKNOWN}


class Fates:
    """The fate of each claim, and what the runs did not show."""

    def __init__(
        self, experiment: Experiment, broken: Collection[str], seen: Seen, deliveries: int
    ) -> None:
        kept = [claim for claim in experiment.judge.claims if claim.name not in broken]
        self.unmet = seen.unmet(kept)
        """The claims that no run could have broken, and what was never seen."""
        self.idle = seen.idle(experiment.scenario, experiment.machine)
        """The faults that were asked for and never happened, and why not."""
        silence = seen.silence(experiment.machine, deliveries) if kept else None
        unsettled = seen.unsettled(experiment.scenario, experiment.setting.timing.T)
        doubts = self.unmet | {name: text for name, text in unsettled.items() if name not in broken}
        self.reason = silence or "; ".join(f"{n}: {text}" for n, text in doubts.items()) or None
        """Why something is unknown."""
        self.claims = dict.fromkeys((claim.name for claim in experiment.judge.claims), VIOLATED)
        for claim in kept:
            is_unknown = silence is not None or claim.name in doubts
            self.claims[claim.name] = UNKNOWN if is_unknown else HOLDS

    @property
    def verdict(self) -> str:
        """The fate of all of them together."""
        fates = self.claims.values()
        return next(fate for fate in (VIOLATED, UNKNOWN, HOLDS) if fate in fates)

    @property
    def exit_code(self) -> int:
        """How the command ends."""
        return EXIT_CODES[self.verdict]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `simulate`. What is left out is as the scenario has it."""
    add_protocol_arguments(parser)
    parser.set_defaults(nodes=None)
    add_claim_argument(parser)
    add_equal_argument(parser)
    parser.add_argument("--seed", type=_count, default=0, metavar="S", help="default 0")
    parser.add_argument("--seeds", type=_count, metavar="K", help="run seeds S to S+K-1")
    parser.add_argument("--workers", type=_many, metavar="W", help="default: one per processor")
    parser.add_argument("--scenario", type=Path, metavar="FILE", help="a TOML file")
    parser.add_argument(
        "--from", dest="start", choices=[Start.NORMAL, Start.BOOT], help="default normal"
    )
    network = parser.add_argument_group("the network")
    add_graph_argument(network)
    add_storage_argument(network)
    network.add_argument("--delay", metavar="MODEL", help="default uniform:0..1T")
    network.add_argument("--loss", type=_share, metavar="SHARE")
    network.add_argument("--duplicate", type=_share, metavar="SHARE")
    network.add_argument("--order", choices=list(Order))
    network.add_argument("--connections", choices=list(Connections))
    network.add_argument("--detection", metavar="TIME", help="how late detectors may be, e.g. 2T")
    network.add_argument(
        "--detector",
        choices=["complete", "incomplete"],
        help="an incomplete one never notices half of all crashes; default complete",
    )
    faults = parser.add_argument_group("faults in each run (default: 4 crashes, 4 recoveries)")
    for name in ("crashes", "recoveries", "pauses", "cuts", "resets", "partitions", "lies", "asks"):
        faults.add_argument(f"--{name}", type=_count, metavar="K")
    output = parser.add_argument_group("output")
    output.add_argument("--verbose", action="store_true", help="show every step of a single run")
    output.add_argument("--trace", type=Path, metavar="FILE", help="write one run as JSON lines")
    output.add_argument("--script", type=Path, metavar="FILE", help="write a shrunk failing run")
    add_svg_argument(output)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text}")
    return int(text)


def _many(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"must be from 0 up to, but not including, 1, not {text}")
    return share


def run(options: argparse.Namespace) -> int:
    """Simulate one seed or many, and report the result."""
    try:
        subject = _subject(options)
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        experiment = Experiment(subject, kind_and_form)
        if not experiment.judge.claims:
            raise UsageError(f"{subject.protocol} promises nothing; name a claim with --claim")
        _verify_that_somebody_asks(subject, experiment)
        find(subject.protocol).warn(experiment.machine)
        if options.seeds is not None and (options.trace or options.verbose):
            raise UsageError("--trace and --verbose show a single seed: leave out --seeds")
        if options.seeds is None:
            return _run_one(options, subject, experiment)
        return _run_many(options, subject, experiment)
    except UnknownClaim as error:
        raise UsageError(f"{subject.protocol}: {error}") from None
    except (SimulationStartError, ValueError) as error:
        raise UsageError(str(error)) from None


def _subject(options: argparse.Namespace) -> Subject:
    protocol = find(options.protocol, options.form)
    protocol.rules(options.rule)
    scenario = load_scenario(options.scenario) if options.scenario else Scenario()
    changed: dict[str, Any] = {}
    more = protocol.kind.extra_nodes
    if options.nodes is not None or options.graph is not None or more:
        nodes, links = graph_given(options.graph, options.nodes or len(scenario.ids))
        changed |= {"ids": tuple(range(1, nodes + more + 1)), "graph": links}
    if options.delay is not None:
        changed["delay"] = parse_delay(options.delay, scenario.timing)
    if options.detection is not None:
        changed["detection"] = parse_time(options.detection, scenario.timing)
    given = {
        "complete": options.detector and options.detector == "complete",
        "start": options.start and Start(options.start),
        "loss": options.loss,
        "duplication": options.duplicate,
        "order": options.order and Order(options.order),
        "connections": options.connections and Connections(options.connections),
        "claims": options.claim and tuple(dict.fromkeys(options.claim)),
    }
    changed |= {name: value for name, value in given.items() if value is not None}
    counts = {name: getattr(options, name, None) for name in Faults.__struct_fields__}
    counts = {name: count for name, count in counts.items() if count is not None}
    changed["faults"] = replace(scenario.faults, **counts)
    scenario = replace(scenario, **changed)
    verify(scenario)
    attributes = attributes_of(options.attribute, scenario.ids)
    kept = Storage(options.storage)
    ranks = (options.strongest, attributes, options.equal)
    return Subject(protocol.spelled(), scenario, tuple(options.rule), *ranks, kept)


def _verify_that_somebody_asks(subject: Subject, experiment: Experiment) -> None:
    scenario = subject.scenario
    if not scenario.claims:
        listed = sum(isinstance(fault, Ask) for fault in scenario.listed)
        asks = scenario.faults.asks + listed
        find(subject.protocol).verify_that_somebody_asks(experiment.machine, asks)


# --- one seed ---


def _run_one(options: argparse.Namespace, subject: Subject, experiment: Experiment) -> int:
    result = experiment.run(options.seed, record=True)
    if options.trace:
        write(options.trace, "".join(f"{line}\n" for line in to_json_lines(result.trace)))
    broken = next(iter(result.violations), None)
    story = shrunk_story(subject, kind_and_form, options.seed, broken) if broken else None
    _keep(options, experiment, story)
    if options.svg and not story:
        draw(
            options.svg,
            result.trace,
            experiment.machine,
            f"{_title(experiment)}, seed {options.seed}",
        )
    fates = Fates(experiment, result.violations.keys(), result.seen, result.deliveries)
    elected = None if result.elected is None else in_T(result.elected, experiment.setting.timing)
    if options.json:
        found = _object(subject, experiment, fates) | {
            "seed": options.seed,
            "witness": story.witness if story else None,
            "deliveries": result.deliveries,
            "faults": fault_counts(result.trace),
            "elect_T": elected,
            "script": story.script if story else None,
        }
        print(msgspec.json.encode(found).decode())
    else:
        _show_one(options, experiment, result, fates, elected)
        _show_story(story, experiment)
    return fates.exit_code


def _show_one(
    options: argparse.Namespace,
    experiment: Experiment,
    result: RunResult,
    fates: Fates,
    elected: float | None,
) -> None:
    timing = experiment.setting.timing
    if options.verbose:
        for step in result.trace.steps:
            print("\n".join(lines_of(step, timing)))
    else:
        digest = list(digest_of(result.trace, experiment.machine))
        print("\n".join(digest[:DIGEST_MAX]))
        if len(digest) > DIGEST_MAX:
            print(f"          … {len(digest) - DIGEST_MAX} more lines; --verbose shows every step")
    print()
    faults = ", ".join(counted(n, kind) for kind, n in fault_counts(result.trace).items())
    print(f"{_title(experiment)}, seed {options.seed}: {faults or 'no faults'}")
    for claim in experiment.judge.claims:
        found = result.violations.get(claim.name)
        at = f" at {in_T(found.at, timing)}T: {found.witness.text}" if found else f": {claim.text}"
        print(f"  {claim.name} {fates.claims[claim.name]}{at}")
    reached = elected is not None and experiment.judge.goals
    print(
        f"  {counted(result.deliveries, 'messages')} delivered"
        + (f", goals reached {elected}T after the last fault" if reached else "")
    )
    _show_silence(fates)


# --- many seeds ---


def _run_many(options: argparse.Namespace, subject: Subject, experiment: Experiment) -> int:
    seeds = range(options.seed, options.seed + options.seeds)
    if not seeds:
        raise UsageError("--seeds must be at least 1")
    begun, interrupted = time.monotonic(), False
    try:
        with any_end_is_ctrl_c(), _progress(len(seeds)) as report:
            swarmed = run_swarm(
                subject, kind_and_form, seeds, progress=report, workers=options.workers
            )
    except Interrupted as error:
        swarmed, interrupted = error.swarmed, True
        print(f"electorate: {error}", file=sys.stderr)
    seconds = time.monotonic() - begun
    fates = Fates(experiment, swarmed.broken.keys(), swarmed.seen, swarmed.deliveries)
    story: Story | None = None
    for claim, first in swarmed.first.items():
        if not interrupted:
            story = shrunk_story(subject, kind_and_form, first.seed, claim)
            _keep(options, experiment, story)
            break
    if options.json:
        found = _swarm_object(subject, experiment, swarmed, fates, seconds)
        found |= {"interrupted": interrupted, "script": story.script if story else None}
        if interrupted:
            found["verdict"] = "unknown"
        print(msgspec.json.encode(found).decode())
    else:
        _show_swarm(experiment, swarmed, fates, seconds, interrupted)
        _show_story(story, experiment)
    return EXIT_UNKNOWN if interrupted else fates.exit_code


@contextmanager
def _progress(seeds: int) -> Iterator[Any]:
    """A bar on the terminal while seeds are run; nothing where there is no terminal."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True)
    begun, deliveries, failures = time.monotonic(), 0, 0
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("seeds", total=seeds)

        def report(chunk: Sequence[Seeded]) -> None:
            nonlocal deliveries, failures
            deliveries += sum(seeded.deliveries for seeded in chunk)
            failures += sum(bool(seeded.broken) for seeded in chunk)
            rate = deliveries / max(time.monotonic() - begun, 1e-9)
            text = f"seeds, {rate:,.0f} deliveries/s, {failures} failures"
            bar.update(task, advance=len(chunk), description=text)

        yield report


def _elect_T(swarmed: Swarmed, experiment: Experiment) -> dict[str, float | None]:
    shares = {"median": 0.5, "p95": 0.95, "max": 1.0}
    times = {name: swarmed.quantile(share) for name, share in shares.items()}
    timing = experiment.setting.timing
    return {name: None if t is None else in_T(t, timing) for name, t in times.items()}


def _swarm_object(
    subject: Subject, experiment: Experiment, swarmed: Swarmed, fates: Fates, seconds: float
) -> dict[str, Any]:
    return _object(subject, experiment, fates) | {
        "seeds": swarmed.seeds,
        "violations": {
            claim: {"seeds": count, "seed": first.seed, "witness": first.broken[claim]}
            for claim, count in swarmed.broken.items()
            if (first := swarmed.first[claim])
        },
        "deliveries": swarmed.deliveries,
        "deliveries_per_s": round(swarmed.deliveries / max(seconds, 1e-9)),
        "seconds": round(seconds, 3),
        "elect_T": _elect_T(swarmed, experiment),
    }


def _show_swarm(
    experiment: Experiment, swarmed: Swarmed, fates: Fates, seconds: float, interrupted: bool
) -> None:
    end = ", interrupted" if interrupted else ""
    print(f"{_title(experiment)}: {counted(swarmed.seeds, 'seeds')}{end}")
    for claim in experiment.judge.claims:
        count = swarmed.broken.get(claim.name)
        if count:
            first = swarmed.first[claim.name]
            print(
                f"  {claim.name} violated by {counted(count, 'seeds')}, "
                f"first by seed {first.seed}: {first.broken[claim.name]}"
            )
        else:
            so_far = "has held so far" if interrupted else fates.claims[claim.name]
            print(f"  {claim.name} {so_far}: {claim.text}")
    rate = swarmed.deliveries / max(seconds, 1e-9)
    print(f"  {counted(swarmed.deliveries, 'deliveries')} in {seconds:.1f} s ({rate:,.0f}/s)")
    if any(claim.kind is Kind.GOAL for claim in experiment.judge.claims):
        found = {name: t for name, t in _elect_T(swarmed, experiment).items() if t is not None}
        kept = f"{in_T(experiment.scenario.watched, experiment.setting.timing):g}T"
        times = ", ".join(f"{name} {t}T" for name, t in found.items()) or "in no run"
        print(f"  from the last fault until the goals were reached and kept for {kept}: {times}")
    if not interrupted:
        _show_silence(fates)


# --- both ---


def _title(experiment: Experiment) -> str:
    setting = experiment.setting
    rules = f" with {' '.join(setting.rules)}" if setting.rules else ""
    links = "" if setting.graph is None else f" linked {setting.graph_text() or 'not at all'}"
    return f"{setting.protocol}{rules}, {counted(len(setting.ids), 'nodes')}{links}"


def _object(subject: Subject, experiment: Experiment, fates: Fates) -> dict[str, Any]:
    return {
        "protocol": subject.protocol,
        "rules": experiment.machine.rules.texts(),
        "nodes": len(experiment.setting.ids),
        "attributes": experiment.setting.attributes,
        "equal": experiment.setting.equal,
        "graph": experiment.setting.graph,
        "timing": experiment.setting.clock,
        "verdict": fates.verdict,
        "reason": fates.reason,
        "claims": fates.claims,
        "unmet": fates.unmet,
        "idle": fates.idle,
    }


def _show_silence(fates: Fates) -> None:
    """Say what was not seen, and so is not known."""
    for kind, why in fates.idle.items():
        print(f"  {kind}: asked for, and never happened: {why}")
    if fates.verdict == UNKNOWN:
        print(f"The verdict is unknown: {fates.reason}.")


def _keep(options: argparse.Namespace, experiment: Experiment, story: Story | None) -> None:
    """Write and draw the run that breaks a claim, if that was asked for."""
    if story and options.script:
        write(options.script, story.script)
    if story and options.svg:
        marks = [(len(story.trace.steps) - 1, f"{story.claim} is violated: {story.witness}")]
        kind, form = kind_and_form(story.trace.setting.protocol)
        machine = story.trace.setting.machine(kind, form)
        draw(options.svg, story.trace, machine, _title(experiment), marks)


def _show_story(story: Story | None, experiment: Experiment) -> None:
    if story:
        texts = {claim.name: claim.text for claim in experiment.judge.claims}
        print(f"\nThe shortest run that was found for {story.claim} ({texts[story.claim]}):\n")
        print(story.script, end="")
