"""Runs told: a failing one as a script that breaks the same claim again, any run in a few lines."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from electorate.core import Machine, Timing
from electorate.simulate.command import standing_text
from electorate.simulate.experiment import Subject
from electorate.simulate.run import RunResult
from electorate.simulate.script import run_script
from electorate.simulate.shrink import Shrinker
from electorate.simulate.start import Find
from electorate.trace import KINDS, Crashed, Step, Trace, lines_of, script_of
from electorate.trace.word import counted


class Story(NamedTuple):
    """A run that breaks a claim, as short as it was made."""

    claim: str
    witness: str
    script: str
    trace: Trace


def shrunk_story(subject: Subject, find: Find, seed: int, claim: str) -> Story:
    """Shrink the run of a failing seed and tell it."""
    shrinker = Shrinker(subject, find, seed, claim)
    result = shrinker.shrink()
    faults = shrinker.faults_before, len(shrinker.case.plan)
    made = f"Seed {seed}, shrunk from {counted(faults[0], 'faults')} to {faults[1]}."
    return tell(result, find, claim, made)


def tell(result: RunResult, find: Find, claim: str, made: str) -> Story:
    """The run up to the violation as a script, which is replayed to prove it."""
    violation = result.violations[claim]
    setting = result.trace.setting
    trace = Trace(setting, result.trace.steps[: violation.steps])
    witness = violation.witness.text
    head = [f"{setting.protocol} breaks {claim}: {witness}.", made]
    told = script_of(trace, head)
    replayed = run_script(f"{told}\nstandings\nclaims {claim}\n----\n", find)
    end = f"{claim} violated: {witness}\n"
    # Texts are compared, not states: a protocol that is loaded twice from its file has two types.
    if not (replayed.text.startswith(told) and replayed.text.endswith(end)):
        raise RuntimeError(f"this run did not come out the same when replayed:\n{replayed.text}")
    return Story(claim, witness, replayed.text, trace)


def in_T(time: int, timing: Timing) -> float:
    """A time in T, rounded for people."""
    return round(time / timing.T, 2)


def digest_of(trace: Trace, machine: Machine[Any]) -> Iterator[str]:
    """One line for each fault and each change of a standing, with the time in T."""
    timing = trace.setting.timing
    for step in trace.steps:
        for text in _news(step, machine, timing):
            yield f"{in_T(step.at, timing):8.2f}T  {text}"


def _news(step: Step, machine: Machine[Any], timing: Timing) -> Iterator[str]:
    if step.happening.fault and not step.happening.cause:
        yield next(lines_of(step, timing))
    for turn in step.turns:
        if turn.sent is not None:
            left, nodes = sum(count for _, count in turn.sent), counted(len(turn.sent), "nodes")
            yield f"{turn.node} crashes in the middle of a turn ({left} sent, to {nodes})"
            return
        before = None if turn.before is None else machine.view(turn.before)
        after = machine.view(turn.after)
        if before != after:
            yield f"{turn.node} {standing_text(after)}"


def fault_counts(trace: Trace) -> dict[str, int]:
    """How many faults of each kind really happened."""
    counts: Counter[str] = Counter()
    for step in trace.steps:
        what = step.happening
        if what.fault and not what.cause:
            counts[what.budget[1]] += 1
        counts[Crashed.budget[1]] += len(step.torn)
    known = [kind.budget[1] for kind in KINDS.values()]
    return {kind: counts[kind] for kind in known if kind and counts[kind]}
