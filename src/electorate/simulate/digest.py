"""A run in short: what went wrong, and how the standings of the nodes changed."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from electorate.core import Machine, Timing
from electorate.simulate.command import standing_text
from electorate.trace import (
    Crashed,
    Cut,
    Healed,
    Lost,
    Paused,
    Recovered,
    Resumed,
    Step,
    Trace,
    lines_of,
)
from electorate.trace.word import counted

FAULTS = (Crashed, Recovered, Paused, Resumed, Cut, Healed)


def in_T(time: int, timing: Timing) -> float:
    """A time as a number of T, as exact as people want it."""
    return round(time / timing.T, 2)


def digest_of(trace: Trace, machine: Machine[Any]) -> Iterator[str]:
    """One line for each fault and each change of a standing, with the time in T."""
    timing = trace.setting.timing
    for step in trace.steps:
        for text in _news(step, machine, timing):
            yield f"{in_T(step.at, timing):8.2f}T  {text}"


def _news(step: Step, machine: Machine[Any], timing: Timing) -> Iterator[str]:
    happening = step.happening
    fact = next(lines_of(step, timing))
    if isinstance(happening, FAULTS) or (isinstance(happening, Lost) and happening.why == "lost"):
        yield fact
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
        counts["crashes"] += isinstance(step.happening, Crashed)
        counts["crashes"] += any(turn.sent is not None for turn in step.turns)
        counts["recoveries"] += isinstance(step.happening, Recovered)
        counts["pauses"] += isinstance(step.happening, Paused)
        counts["cuts"] += isinstance(step.happening, Cut)
        counts["losses"] += isinstance(step.happening, Lost) and step.happening.why == "lost"
    return {kind: count for kind, count in counts.items() if count}
