"""A replayed run as people read it: numbered sentences, and its messages counted by kind."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Any, NamedTuple

from electorate.core import Machine, NodeId, Standing
from electorate.simulate.start import first_standings, started
from electorate.trace import Start, Trace
from electorate.trace.belief import opening_of
from electorate.trace.sentence import sentences_of
from electorate.trace.text import messages_of
from electorate.trace.word import counted, with_names


class Narration(NamedTuple):
    """A run, told."""

    opening: str
    """The first standings of the nodes; empty if the run begins by booting everybody."""
    sentences: list[tuple[str, str]]
    """Each with the numbers of the steps that it tells, such as `3` or `4–6`; none for boots."""
    messages: Counter[str]

    def lines(self, width: int) -> Iterator[str]:
        """The sentences, one below the other."""
        opening = [(self.opening, "")] if self.opening else []
        return numbered(opening + self.sentences, width)

    def called(self, names: Mapping[NodeId, str]) -> "Narration":
        """The same with the names of the nodes."""
        sentences = [(with_names(text, names), number) for text, number in self.sentences]
        return Narration(with_names(self.opening, names), sentences, self.messages)

    def counted(self) -> str:
        """How many messages there were, the most frequent kinds first."""
        total = self.messages.total()
        if not total:
            return "no message"
        kinds = ", ".join(f"{n} {kind}" for kind, n in self.messages.most_common())
        return f"{counted(total, 'messages')}: {kinds}"


def narrated(trace: Trace, machine: Machine[Any]) -> Narration:
    """Tell a run from its beginning."""
    _, boots = started(trace.setting, machine)
    standings, placed = first_standings(trace, machine)
    is_normal = trace.setting.start is Start.NORMAL
    first = 0 if is_normal else len(boots)
    steps = trace.steps if is_normal else (*boots, *trace.steps)
    whole = Trace(trace.setting, steps)
    told = sentences_of(whole, machine.view, uses_views=machine.uses_views, apart=(first,))
    return Narration(
        opening_of(standings) if is_normal or placed else "",
        [
            (sentence.text, numbers_of(sentence.first - first, sentence.end - first))
            for sentence in told
            if not first <= sentence.first < first + placed
        ],
        messages_of(steps),
    )


def narrated_part(
    trace: Trace, machine: Machine[Any], start: Mapping[NodeId, Standing]
) -> Narration:
    """Tell a part of a run; `start` has the standings of the nodes that are up where it begins."""
    down = set(trace.setting.ids) - set(start)
    told = sentences_of(trace, machine.view, uses_views=machine.uses_views, down=down)
    sentences = [(each.text, numbers_of(each.first, each.end)) for each in told]
    return Narration(opening_of(start), sentences, messages_of(trace.steps))


def numbered(story: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Sentences one below the other, each behind its numbers."""
    for text, numbers in story:
        mark = f"{numbers:>5}. " if numbers else "   "
        yield from wrap(text, width, initial_indent=mark, subsequent_indent=" " * 7)


def numbers_of(done: int, end: int) -> str:
    """The numbers of the steps after the first `done` up to `end`: `3`, or `4–6`."""
    if end <= max(done, 0):
        return ""
    return f"{end}" if end == done + 1 else f"{done + 1}–{end}"
