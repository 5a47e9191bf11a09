"""What claims may see of a row of codes, and what they remember of a run.

What is seen of a node is its sight; rows with the same sights and links are the same to a claim,
and millions of rows share a few thousand such scenes.
"""

from collections.abc import Hashable, Sequence

from electorate.check.column import Columns
from electorate.check.column import Row as Codes
from electorate.check.part import LocalCard, Pool
from electorate.claims import Claim, Row, Sight
from electorate.core import Stable, Standing

Seen = tuple[Standing | None, Stable | None, frozenset[str]]


class Scenes:
    """Turns rows of codes into what the claims that were asked for may see."""

    def __init__(
        self, columns: Columns, cards: list[LocalCard], claims: Sequence[Claim] = ()
    ) -> None:
        self._columns = columns
        self._cards = cards
        wanted = {sight for claim in claims for sight in claim.sights}
        self._stables = Sight.STABLES in wanted
        self._timers = Sight.TIMERS in wanted
        self._seen: Pool[Seen, Seen] = Pool(lambda value: value)
        self._sights: list[int] = []
        self._absent: dict[int, frozenset[tuple[int, int]]] = {}
        ids = columns.ids
        pairs = [(a, b) for k, a in enumerate(ids) for b in ids[k + 1 :]]
        self._unlinked = {pair for pair in pairs if not columns.model.setting.linked(*pair)}

    def sight(self, local: int) -> int:
        """The code of what is seen of a node with this code."""
        while len(self._sights) <= local:
            card = self._cards[len(self._sights)]
            state = card.value.state
            stable = card.value.stable if state is None else state.stable
            armed = frozenset(armed.timer for armed in card.value.timers)
            seen = (
                card.standing,
                stable if self._stables else None,
                armed if self._timers else frozenset(),
            )
            self._sights.append(self._seen.code(seen))
        return self._sights[local]

    def key(self, codes: Codes) -> tuple[int, ...]:
        """The same for rows that are the same to every claim."""
        sights = (self.sight(code) for code in codes[: self._columns.n])
        return (*sights, self._columns.cut_links(codes))

    def row(self, key: tuple[int, ...]) -> Row:
        """What a claim is shown."""
        *sights, cut = key
        standings, stables, timers = zip(*(self._seen.cards[s] for s in sights), strict=True)
        return Row(
            self._columns.machine.members,
            standings,
            self._absent_links(cut),
            stables if self._stables else (),
            timers if self._timers else (),
        )

    def _absent_links(self, cut: int) -> frozenset[tuple[int, int]]:
        if cut not in self._absent:
            ids, links = self._columns.ids, self._columns.links
            now = {(ids[a], ids[b]) for k, (a, b) in enumerate(links) if cut >> k & 1}
            self._absent[cut] = frozenset(self._unlinked | now)
        return self._absent[cut]


class Recall:
    """What the claims with a fold remember, as one more column of the rows."""

    def __init__(self, scenes: Scenes, claims: Sequence[Claim]) -> None:
        self.folds = {claim.name: claim.fold for claim in claims if claim.fold is not None}
        self._scenes = scenes
        self._pool: Pool[tuple[Hashable, ...], tuple[Hashable, ...]] = Pool(lambda value: value)
        self._nothing = self._pool.code(tuple(fold.first for fold in self.folds.values()))
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def first(self, codes: Codes) -> int:
        """What is remembered where a run begins."""
        return self.after(self._nothing, self._scenes.key(codes))

    def after(self, memory: int, scene: tuple[int, ...]) -> int:
        """What is remembered once this scene has been seen, too."""
        known = self._known.get((memory, scene))
        if known is None:
            row, old = self._scenes.row(scene), self._pool.cards[memory]
            folded = zip(self.folds.values(), old, strict=True)
            new = tuple(fold.then(each, row) for fold, each in folded)
            known = self._known[memory, scene] = self._pool.code(new)
        return known

    def of(self, claim: str, memory: int) -> Hashable:
        """What one claim remembers."""
        return self._pool.cards[memory][list(self.folds).index(claim)]

    def __len__(self) -> int:
        return len(self._pool)
