"""A run of shared work, told line by line."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import fill
from typing import Any, NamedTuple

from electorate.core import NodeId
from electorate.trace import Cut, Delivered, Fired, Healed, Trace
from examples.shared_work.protocol import Local, Part, Parts, Report, SharedWorkState, Wait


class News(NamedTuple):
    """Something worth telling; of several in a row that begin alike only one line is made."""

    at: int
    text: str
    more: str = ""


def news_of(trace: Trace) -> Iterator[News]:
    """What is worth telling of a run."""
    thrown_out: set[Part] = set()
    for step in trace.steps:
        before: Any = step.turns[0].before if step.turns else None
        match step.happening:
            case Cut():
                yield News(step.at, "THE NETWORK FALLS APART: 1 2 | 3 4 5")
            case Healed():
                yield News(step.at, "THE NETWORK IS WHOLE AGAIN")
            case Fired(node, Wait.EFFORT):
                yield News(step.at, "done:", f"{before.item} by node {node}")
            case Delivered(node, _, Report() as report):
                yield from _joined(step.at, before, node, report, thrown_out)
        for turn in step.turns:
            was, now = turn.before, turn.after
            if isinstance(was, SharedWorkState) and isinstance(now, SharedWorkState):
                yield from _moved(step.at, was, now)


def _moved(at: int, before: Local, s: Local) -> Iterator[News]:
    """A node stops its work, or leads a new group."""
    if s.group == before.group:
        return
    if s.group is None:
        yield News(at, "work rests at node", str(s.me))
    elif s.group[0] == s.me:
        followers = _names(s.inner.followers)
        whom = f"leads {followers}" if followers else "works on its own"
        yield News(at, f"node {s.me} {whom}, in group {s.group}")


def _joined(at: int, s: Local, j: NodeId, report: Report, thrown_out: set[Part]) -> Iterator[News]:
    """What a leader learns from a node that reports to it for the first time."""
    if s.group != report.group or any(j == node for node, _ in s.given):
        return
    known = {part.item for part in s.stable.parts}
    new = {part.item for part in report.parts} - known
    twice = {part for part in report.parts - s.stable.parts if part.item in known} - thrown_out
    thrown_out |= twice
    if new:
        yield News(at, f"node {s.me} gets {_names(new)} from node {j}")
    if twice:
        items = _names(part.item for part in twice)
        yield News(at, f"node {s.me} has {items} already: what node {j} did is thrown out")


def story_of(trace: Trace) -> Iterator[str]:
    """A run, line by line, and what came of it."""
    for text, same in groupby(news_of(trace), key=lambda news: news.text):
        told = list(same)
        at = told[0].at / trace.setting.timing.T
        line = f"{text} {', '.join(dict.fromkeys(news.more for news in told))}".rstrip()
        yield fill(line, 96, initial_indent=f"{at:5.1f}T  ", subsequent_indent=8 * " ")
    yield ""
    last: dict[NodeId, Any] = {t.node: t.after for step in trace.steps for t in step.turns}
    for node, state in sorted(last.items()):
        parts: Parts = state.stable.parts
        primes = sum(part.result for part in parts)
        own = _names(part.item for part in parts if part.by == node)
        yield f"node {node} knows {len(parts)} results, {primes} primes; of its own: {own or None}"
    done: Counter[int] = Counter()
    for step in trace.steps:
        before: Any = step.turns[0].before if step.turns else None
        if isinstance(step.happening, Fired) and step.happening.timer == Wait.EFFORT:
            done[before.item] += 1
    twice = _names(item for item, times in done.items() if times > 1)
    yield f"{len(done)} items were done in {done.total()} goes; more than once: {twice or None}"


def _names(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))
