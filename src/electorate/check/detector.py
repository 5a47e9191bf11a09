"""Failure detectors in the checker: what crashes, corrections and lies make of their entries."""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations

from electorate.check.interned import RIGHT, WHENEVER, Entry, Pool, Watch, WatchCard
from electorate.check.model import Detector, Model
from electorate.core import NodeId


class DetectorStates:
    """The pool of detectors of one model, and how they change."""

    def __init__(self, ids: tuple[NodeId, ...], model: Model) -> None:
        self._within = model.detection_ticks
        self._complete = model.detector is not Detector.INCOMPLETE
        around = [model.setting.neighbours(node) for node in ids]
        self._around = [[other in mine for other in ids] for mine in around]
        self._notices_restarts = model.notices_restarts
        self.pool: Pool[Watch, WatchCard] = Pool(lambda v: WatchCard(v, ids, model.bounded))
        self.blind = self.pool.code(tuple(Entry() for _ in ids))
        """The detector of a node that is down."""
        self._noted: dict[tuple[int, int, bool], int] = {}

    def first(self, me: int, ups: Iterable[int]) -> int:
        """A detector that has just started: it trusts all neighbours, `ups` rightly."""
        right = {me, *ups}
        value = (
            self.entry(True, right=other in right) if linked else Entry(False)
            for other, linked in enumerate(self._around[me])
        )
        return self.pool.code(tuple(value))

    def entry(self, trusted: bool, *, right: bool) -> Entry:
        """What a detector comes to hold of a node, rightly or not."""
        if right:
            return Entry(trusted)
        return Entry(trusted, self._within if self._complete or not trusted else WHENEVER)

    def note(self, watch: int, target: int, *, up: bool) -> int:
        """The detector, now that a node has just crashed or come back."""
        key = (watch, target, up)
        if key not in self._noted:
            value = self.pool.cards[watch].value
            self._noted[key] = self._with(value, target, self._fact(value[target], up))
        return self._noted[key]

    def _fact(self, entry: Entry, up: bool) -> Entry:
        if entry.trusted is not up:
            if entry.left == RIGHT:
                return self.entry(entry.trusted, right=False)
            # A change that is still unseen keeps its bound; a restart before it is past noticing.
            return entry._replace(restarted=False)
        if up and entry.left != RIGHT and self._notices_restarts:
            return entry._replace(restarted=True)
        return Entry(entry.trusted)

    def corrections(self, watch: int) -> Iterator[int]:
        """The detector with any of its wrong entries corrected, all at once."""
        card = self.pool.cards[watch]
        sizes = range(1, len(card.wrong) + 1)
        for targets in chain.from_iterable(combinations(card.wrong, size) for size in sizes):
            value = list(card.value)
            for target in targets:
                entry = value[target]
                # A restart that is to be noticed shows as an absence first, then as a return.
                value[target] = self.entry(not entry.trusted, right=not entry.restarted)
            yield self.pool.code(tuple(value))

    def lies(self, watch: int, me: int) -> Iterator[int]:
        """The detector with one of its right entries made wrong."""
        card = self.pool.cards[watch]
        for target in card.right:
            if target != me and self._around[me][target]:
                entry = self.entry(not card.value[target].trusted, right=False)
                yield self._with(card.value, target, entry)

    def aged(self, watch: int) -> int:
        """The detector one tick later."""
        card = self.pool.cards[watch]
        if card.aged is None:
            card.aged = self.pool.code(card.aged_value())
        return card.aged

    def _with(self, value: Watch, target: int, entry: Entry) -> int:
        return self.pool.code((*value[:target], entry, *value[target + 1 :]))
