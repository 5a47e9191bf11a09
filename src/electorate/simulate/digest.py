"""A run in short: what went wrong, and how the standings of the nodes changed."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from electorate.core import Machine, Timing
from electorate.simulate.command import standing_text
from electorate.trace import KINDS, Crashed, Step, Trace, lines_of
from electorate.trace.word import counted


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
