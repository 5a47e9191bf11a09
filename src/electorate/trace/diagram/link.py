"""The links that were cut, grouped as people speak of them: `{1, 2} | {3}` for a partition."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from electorate.core import NodeId
from electorate.trace.diagram.life import Period
from electorate.trace.happening import Link, Step, Trace

LINKS_MAX = 6
"""How many links are named one by one."""


class Severance(NamedTuple):
    """Links to which the same was done at one instant, and that were healed at one instant."""

    period: Period
    done: str
    text: str


def severances_of(trace: Trace) -> list[Severance]:
    """All cuts of a run, and whatever else was done to links, in order."""
    cut: dict[Link, tuple[int, str]] = {}
    found: list[tuple[Period, str, Link]] = []
    for number, step in enumerate(trace.steps):
        what, first = step.happening, _first_of_instant(trace, number)
        done = what.becomes.removeprefix("is ") if what.ways else ""
        cut.update(dict.fromkeys(what.change.cut, (first, done)))
        for way in what.change.healed:
            begin, how = cut.pop(way, (-1, "cut"))
            found.append((Period(begin, first), how, way))
        brief = {*what.ways} - {*what.change.cut} - {*what.change.healed}
        found += [(Period(first, first), done, way) for way in brief]
    end = len(trace.steps)
    found += [(Period(begin, end), done, link) for link, (begin, done) in cut.items()]
    return [
        Severance(period, done, _text({link for *_, link in links}, trace.setting.ids, done))
        for (period, done), links in groupby(sorted(found), key=lambda each: (each[0], each[1]))
    ]


def goes_on(steps: Sequence[Step], number: int) -> bool:
    """Whether a step only goes on with the one before: a partition cuts many links at once."""
    step, before = steps[number], steps[number - 1]
    links = step.happening.ways and before.happening.ways
    return number > 0 and bool(links) and step.at == before.at


def _first_of_instant(trace: Trace, number: int) -> int:
    """The first of the cuts and healings in a row that this one belongs to."""
    while goes_on(trace.steps, number):
        number -= 1
    return number


def _text(links: set[Link], ids: tuple[NodeId, ...], done: str) -> str:
    for side in _sides(links, ids):
        others = [node for node in ids if node not in side]
        across = {(one, other) for one in side for other in others}
        if links == across | {(to, sender) for sender, to in across}:
            return f"{_group(side)} | {_group(others)}" + ("" if done == "cut" else f" {done}")
    both = {tuple(sorted(link)) for link in links if link[::-1] in links}
    texts = [f"{one}↔{other}" for one, other in sorted(both)]
    texts += [f"{a}→{b}" for a, b in sorted(links) if (b, a) not in links]
    more = len(texts) - LINKS_MAX
    return ", ".join(texts[:LINKS_MAX]) + (f" and {more} more" if more > 0 else "") + f" {done}"


def _sides(links: set[Link], ids: tuple[NodeId, ...]) -> list[list[NodeId]]:
    """The group around the first node, if these links are a partition."""
    severed = {to for sender, to in links if sender == ids[0]}
    return [[node for node in ids if node not in severed]] if severed else []


def _group(nodes: list[NodeId]) -> str:
    return "{" + ", ".join(map(str, sorted(nodes))) + "}"
