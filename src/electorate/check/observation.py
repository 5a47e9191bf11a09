"""What claims may see of a row of codes, and what they remember of a run.

What is seen of a node is its sight; rows with the same sights and links are the same to a claim,
and millions of rows share a few thousand such observations.
"""

from collections.abc import Hashable, Iterable, Sequence

from electorate.check.column import Columns
from electorate.check.column import Row as Codes
from electorate.check.interned import Channel, ChannelCard, Local, LocalCard, Pool
from electorate.check.model import Model
from electorate.claims import Claim, Row, Sight
from electorate.claims.claim import Sent, on_their_way
from electorate.core import Message, NodeId, Stable, Standing, State, Turns
from electorate.trace import Order

Seen = tuple[Standing | None, Stable | None, frozenset[str], State | None, Hashable]
Mail = tuple[tuple[NodeId, Message], ...]
"""The messages on one channel, each with its sender."""


class Observations:
    """Turns rows of codes into what the claims that were asked for may see."""

    def __init__(
        self,
        turns: Turns,
        model: Model,
        columns: Columns,
        locals_: Pool[Local, LocalCard],
        channels: Pool[Channel, ChannelCard],
        claims: Sequence[Claim] = (),
    ) -> None:
        self._turns = turns
        self._machine = turns.machine
        self._model = model
        self._columns = columns
        self._cards = locals_.cards
        self._channel_cards = channels.cards
        wanted = {sight for claim in claims for sight in claim.sights}
        self._stables = Sight.STABLES in wanted
        self._timers = Sight.TIMERS in wanted
        self._states = Sight.STATES in wanted
        self._messages = Sight.MESSAGES in wanted
        self._tasks = Sight.TASKS in wanted
        self._mail: Pool[Mail, Mail] = Pool(lambda value: value)
        self._mails: list[int] = []
        self._seen: Pool[Seen, Seen] = Pool(lambda value: value)
        self._sights: list[int] = []
        self._absent: dict[int, frozenset[tuple[int, int]]] = {}
        ids = columns.ids
        pairs = [(a, b) for k, a in enumerate(ids) for b in ids[k + 1 :]]
        self._unlinked = {pair for pair in pairs if not model.setting.linked(*pair)}

    def sight(self, local: int) -> int:
        """The code of what is seen of a node with this code."""
        while len(self._sights) <= local:
            card = self._cards[len(self._sights)]
            state = card.value.state
            stable = card.value.stable if state is None else state.stable
            armed = frozenset(armed.timer for armed in card.value.timers)
            seen = (
                card.standing,
                self._machine.judged(stable) if self._stables and stable is not None else None,
                armed if self._timers else frozenset(),
                state if self._states else None,
                self._turns.task(state) if self._tasks and state is not None else None,
            )
            self._sights.append(self._seen.code(seen))
        return self._sights[local]

    def key(self, codes: Codes) -> tuple[int, ...]:
        """The same for rows that are the same to every claim."""
        columns = self._columns
        sights, nodes = self._sights, codes[: columns.n]
        if max(nodes) >= len(sights):
            self.sight(max(nodes))
        cut = codes[columns.links_column] if columns.has_cuts else 0
        seen = (*[sights[code] for code in nodes], cut)
        if not self._messages:
            return seen
        return (*seen, *(self.mail(codes[column]) for column, _ in columns.channels))

    def row(self, key: tuple[int, ...]) -> Row:
        """What a claim is shown."""
        n = self._columns.n
        cut, mails = key[n], key[n + 1 :]
        seen = (self._seen.cards[sight] for sight in key[:n])
        standings, stables, timers, states, tasks = zip(*seen, strict=True)
        return Row(
            self._machine.members,
            standings,
            self._absent_links(cut),
            stables if self._stables else (),
            timers if self._timers else (),
            states if self._states else (),
            self._sent(mails),
            tasks if self._tasks else (),
        )

    def mail(self, channel: int) -> int:
        """The code of the messages on a channel with this code, however old they are."""
        cards = self._channel_cards
        while len(self._mails) <= channel:
            items = cards[len(self._mails)].value
            self._mails.append(self._mail.code(tuple((i.sender, i.message) for i in items)))
        return self._mails[channel]

    def _sent(self, mails: Sequence[int]) -> tuple[Sent, ...]:
        """What is on its way by the codes of all channels' messages."""
        ids, columns = self._columns.ids, self._columns.channels
        receivers = (ids[place] for _, place in columns)
        sent = (
            (sender, to, message)
            for to, mail in zip(receivers, mails, strict=False)
            for sender, message in self._mail.cards[mail]
        )
        in_order = self._model.setting.order in (Order.FIFO, Order.GLOBAL)
        return on_their_way(sent, in_order=in_order)

    def _absent_links(self, cut: int) -> frozenset[tuple[int, int]]:
        if cut not in self._absent:
            ids, links = self._columns.ids, self._columns.links
            now = {(ids[a], ids[b]) for k, (a, b) in enumerate(links) if cut >> k & 1}
            self._absent[cut] = frozenset(self._unlinked | now)
        return self._absent[cut]


class Recall:
    """What the claims with a fold remember, as one more column of the rows."""

    def __init__(self, observations: Observations, claims: Sequence[Claim]) -> None:
        self.folds = {claim.name: claim.fold for claim in claims if claim.fold is not None}
        self._observations = observations
        self._pool: Pool[tuple[Hashable, ...], tuple[Hashable, ...]] = Pool(lambda value: value)
        self._nothing = self._pool.code(tuple(fold.first for fold in self.folds.values()))
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def first(self, codes: Codes) -> int:
        """What is remembered where a run begins."""
        return self.after(self._nothing, self._observations.key(codes))

    def after_all(self, past: Iterable[Row]) -> int:
        """What is remembered once all this has been seen, one after the other."""
        memory = self._pool.cards[self._nothing]
        for row in past:
            folded = zip(self.folds.values(), memory, strict=True)
            memory = tuple(fold.then(each, row) for fold, each in folded)
        return self._pool.code(memory)

    def after(self, memory: int, observation: tuple[int, ...]) -> int:
        """What is remembered once this observation has been seen, too."""
        known = self._known.get((memory, observation))
        if known is None:
            row, old = self._observations.row(observation), self._pool.cards[memory]
            folded = zip(self.folds.values(), old, strict=True)
            new = tuple(fold.then(each, row) for fold, each in folded)
            known = self._known[memory, observation] = self._pool.code(new)
        return known

    def of(self, claim: str, memory: int) -> Hashable:
        """What one claim remembers."""
        return self._pool.cards[memory][list(self.folds).index(claim)]

    def __len__(self) -> int:
        return len(self._pool)
