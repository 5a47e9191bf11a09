"""The row of the global state that a script has led to (`Given`), and how it is told.

The simulator, which ran the script, says all but one thing: how long each failure detector may go
on being wrong. That is followed here, step by step, by the rules that the search goes by itself.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from electorate.check.column import ModelError, Row
from electorate.check.compiler import Move
from electorate.check.interned import RIGHT
from electorate.check.model import Given
from electorate.check.space import StateSpace
from electorate.core import NodeId
from electorate.trace import (
    Crashed,
    Cut,
    Healed,
    Paused,
    Placed,
    Recovered,
    Resumed,
    Saw,
    Start,
    Step,
    Ticked,
    is_consequence,
)

TOLD = "told"
"""The kind of a move that only tells what the script did; it is in no search."""


def arrived(space: StateSpace, given: Given) -> tuple[Row, tuple[tuple[Row, Move], ...]]:
    """The row that the search begins with, and the moves that tell how it was reached."""
    columns = [space.locals.code(node) for node in given.nodes]
    columns += _channels(space, given)
    if space.machine.uses_views:
        columns += Detectors(space, given).codes()
    if space.model.has_cuts:
        columns.append(_cut_links(space, given))
    if space.recall is not None:
        columns.append(space.recall.after_all(given.past))
    reached = (*columns, space.budgets.code(space.model.first_budget()))
    row = space.begun(space.without_lost(reached))
    told = [Move(TOLD, 0, steps) for steps in _told(given.steps)]
    # What can never matter again is dropped with the last step: then its loss is told in its time.
    rows = [row] * (len(told) - 1) + [reached]
    return row, tuple(zip(rows, told, strict=False))


def _told(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """The steps, each together with those that need no command of their own."""
    first: list[Step] = []
    for step in steps:
        if first and not is_consequence(step):
            yield tuple(first)
            first = []
        first.append(step)
    if first:
        yield tuple(first)


def _channels(space: StateSpace, given: Given) -> list[int]:
    """The channels with what is on its way."""
    ids, capacity = space.ids, space.model.bounds.capacity
    codes = dict.fromkeys((column for column, _ in space.columns.channels), space.empty)
    column_of = space.columns.of_channel
    placed = [(column_of[ids.index(item.sender), ids.index(to)], item) for to, item in given.mail]
    for column, group in groupby(sorted(placed, key=lambda each: each[0]), lambda each: each[0]):
        items = tuple(item for _, item in group)
        card = space.channels.cards[space.empty]
        if len(items) > capacity and not card.lasting:
            option = "--capacity-blocks" if space.model.bounds.blocks else "--capacity"
            raise ModelError(
                f"where {given.name} ends, {len(items)} messages are on one channel, which holds "
                f"{capacity}: give {option} {len(items)} or more"
            )
        codes[column] = space.channels.code(card.with_more(items))
    return list(codes.values())


def _cut_links(space: StateSpace, given: Given) -> int:
    """The links that are cut, as bits."""
    bits = 0
    for sender, to in sorted(given.cut):
        if (to, sender) not in given.cut:
            raise ModelError(
                f"where {given.name} ends, {sender}->{to} is cut and {to}->{sender} is not: a "
                f"search cuts links both ways, so write cut {to}->{sender} or heal {sender}->{to}"
            )
        bits |= 1 << space.columns.link[space.ids.index(sender), space.ids.index(to)]
    return bits


class Detectors:
    """What every failure detector holds of every node, and for how long it may still be wrong."""

    def __init__(self, space: StateSpace, given: Given) -> None:
        self._space = space
        self._detectors = space.detectors
        self._name = given.name
        places = range(space.n)
        all_up = space.model.setting.start in (Start.NORMAL, Start.BOOT)
        self._up = set(places) if all_up else set[int]()
        self._paused: set[int] = set()
        self._cut: set[tuple[NodeId, NodeId]] = set()
        self._placed: dict[int, frozenset[NodeId]] = {}
        first, blind = self._detectors.first, self._detectors.blind
        self._watch = [first(place, places) if all_up else blind for place in places]
        self._there = {pair: self._is_there(*pair) for pair in space.columns.link}
        self._late: Counter[tuple[int, int]] = Counter()
        """For how many ticks a detector has been wrong beyond its bound."""
        for step in given.steps:
            self._take(step)

    def codes(self) -> list[int]:
        """The column of each node's detector."""
        for (watcher, target), ticks in self._late.items():
            ids, within = self._space.ids, self._space.model.detection_ticks
            trusts = self._detectors.pool.cards[self._watch[watcher]].value[target].trusted
            raise ModelError(
                f"where {self._name} ends, node {ids[watcher]} has for {within + ticks} ticks "
                f"{'trusted' if trusts else 'suspected'} node {ids[target]}, wrongly, and a "
                f"detector is right within {within}: have it see so in the script (view or "
                f"suspect), or give --detection {within + ticks}"
            )
        return self._watch

    def _is_there(self, watcher: int, target: int) -> bool:
        one, other = self._space.ids[watcher], self._space.ids[target]
        return target in self._up and not {(one, other), (other, one)} & self._cut

    def _take(self, step: Step) -> None:
        place = self._space.ids.index
        match step.happening:
            case Placed(node, _, is_up, alive):
                if is_up:
                    self._up.add(place(node))
                    self._placed[place(node)] = alive
            case Recovered(node):
                self._recover(place(node))
            case Crashed(node):
                self._fall(place(node))
            case Paused(node):
                self._paused.add(place(node))
            case Resumed(node):
                self._paused.discard(place(node))
            case Cut() as happening:
                self._cut.update(happening.ways)
            case Healed() as happening:
                self._cut.difference_update(happening.ways)
            case Saw(node, alive):
                self._see(place(node), alive)
            case Ticked(by) if self._space.model.bounded:
                for _ in range(by):
                    self._age()
        for turn in step.turns:
            if turn.sent is not None:
                self._fall(place(turn.node))
        self._look_again()
        if isinstance(step.happening, Placed):
            self._look_at_first()

    def _recover(self, place: int) -> None:
        self._up.add(place)
        ups = [o for o in self._up if (place, o) in self._there and self._is_there(place, o)]
        self._watch[place] = self._detectors.first(place, ups)

    def _fall(self, place: int) -> None:
        self._up.discard(place)
        self._paused.discard(place)
        self._watch[place] = self._detectors.blind
        self._late = Counter({pair: n for pair, n in self._late.items() if pair[0] != place})

    def _look_again(self) -> None:
        """Who has crashed or come back, or is cut off or linked again, is wrongly seen from now."""
        for (watcher, target), was_there in self._there.items():
            there = self._is_there(watcher, target)
            if there is not was_there:
                self._there[watcher, target] = there
                del self._late[watcher, target]
                if watcher in self._up:
                    watch = self._detectors.note(self._watch[watcher], target, up=there)
                    self._watch[watcher] = watch

    def _look_at_first(self) -> None:
        """Who was put into a state trusts whom it trusted, rightly or not."""
        for watcher, alive in self._placed.items():
            entries = []
            for target, node in enumerate(self._space.ids):
                there = self._there.get((watcher, target), watcher == target)
                entries.append(self._detectors.entry(node in alive, right=(node in alive) == there))
            self._watch[watcher] = self._detectors.pool.code(tuple(entries))

    def _see(self, watcher: int, alive: frozenset[NodeId]) -> None:
        card = self._detectors.pool.cards[self._watch[watcher]]
        entries = list(card.value)
        for target, node in enumerate(self._space.ids):
            entry = entries[target]
            if entry.trusted is not (node in alive):
                lies = entry.left == RIGHT
                right = not (lies or entry.restarted)
                entries[target] = self._detectors.entry(not entry.trusted, right=right)
                del self._late[watcher, target]
        self._watch[watcher] = self._detectors.pool.code(tuple(entries))

    def _age(self) -> None:
        for watcher in self._up:
            entries = self._detectors.pool.cards[self._watch[watcher]].value
            if watcher not in self._paused:
                self._late.update((watcher, t) for t, each in enumerate(entries) if each.left == 0)
            self._watch[watcher] = self._detectors.aged(self._watch[watcher])
