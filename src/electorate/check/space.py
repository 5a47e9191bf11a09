"""The state space: states as rows of small integers, and what befalls them.

Most columns of a row (check/column.py) hold the code of a part (check/interned.py). Crashes, cuts,
messages and time are carried out here; what an event does to its node is looked up
(check/outcome.py), and which moves a row allows is for check/moves.py to say.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from electorate.check.column import Columns, ModelError, Row
from electorate.check.declared import trial_of
from electorate.check.detector import DetectorStates
from electorate.check.interned import (
    Channel,
    ChannelCard,
    Item,
    Local,
    LocalCard,
    Pool,
    Pulse,
    achievement_of,
)
from electorate.check.model import Budget, Model, Normal
from electorate.check.observation import Observations, Recall
from electorate.check.outcome import CodedSends, Outcomes
from electorate.check.renaming import NUMBERS_MAX, Renaming
from electorate.claims import Claim, Sight
from electorate.core import NodeId, Turns
from electorate.core.growing import declared_families
from electorate.trace import Connections, Order, Storage

WHOLE = frozenset({Sight.STATES, Sight.STABLES, Sight.MESSAGES})
"""What shows numbers as they are, and not only how they compare with others of their kind."""


UNKNOWN = -1
"""In place of a code: it has not been worked out yet."""

Mail = tuple[tuple[int, int, int], ...]
"""What is sent: to which node, on the channel in which column, and which messages."""


class StateSpace:
    """The states of one machine under one model, as rows, and every change to a row."""

    def __init__(self, turns: Turns, model: Model, claims: Sequence[Claim] = ()) -> None:
        self.turns = turns
        self.machine = turns.machine
        self.model = model
        self.claims = claims
        self.ids = self.machine.members.ids
        self.n = len(self.ids)
        remembers = any(claim.fold is not None for claim in claims)
        self.columns = Columns(self.machine, model, remembers)
        self.cuts: Counter[str] = Counter()
        """How many moves were cut by each bound."""
        self.achievement = achievement_of(self.machine)
        setting = model.setting
        age_max = setting.delay_max if setting.prompt else None
        age_min = setting.delay_min if setting.prompt else 0
        order = setting.order
        self.locals: Pool[Local, LocalCard] = Pool(self._local_card)
        self.channels: Pool[Channel, ChannelCard] = Pool(
            lambda value: ChannelCard(value, order, age_min, age_max)
        )
        self.messages: Pool[tuple[Item, ...], tuple[Item, ...]] = Pool(lambda value: value)
        self.detectors = DetectorStates(self.ids, model)
        self.budgets: Pool[Budget, Budget] = Pool(lambda value: value)
        self.last_budget = self.budgets.code(model.last_budget())
        """What is left where nothing fails any more."""
        self.observations = Observations(
            turns, model, self.columns, self.locals, self.channels, claims
        )
        self.recall = Recall(self.observations, claims) if remembers else None
        sights = {sight for claim in claims for sight in claim.sights}
        self.shows_mail = Sight.MESSAGES in sights
        self.drops_mail = model.drops and not self.shows_mail
        """Whether messages that nobody can receive any more are dropped at once."""
        self.drops_saved = model.drops and Sight.STABLES not in sights
        """Whether what a node has saved is dropped once it can never boot again."""
        given = model.given.nodes if model.given else ()
        paused = any(node.pulse is Pulse.PAUSED for node in given)
        self.may_pause = paused or model.first_budget().pauses > 0
        """Whether some node may be paused."""
        self.empty = self.channels.code(())
        self.gone = self.locals.code(Local(None, None))
        """A node that has saved nothing: it was never born, or will never boot again."""
        self.renaming = self._renaming()
        trial = None if self.renaming is None else trial_of(self.machine, model, claims)
        self.outcomes = Outcomes(turns, model, self.locals, self.messages, trial)
        self._has_cuts = self.columns.has_cuts
        self._dies = setting.connections is Connections.DIE
        self._may_miss = self._dies or self.drops_mail
        """Whether what is sent to a node that is down may be lost at once."""
        self._appended: dict[tuple[int, int], int | None] = {}
        self.beginnings: dict[Row, Any] = {}
        """The rows that runs begin with, and how each is reached; set by the search."""
        self.raw_rows: dict[Row, Row] = {}
        """The rows that runs begin with, by what they are once their numbers are renamed."""
        self.normal: Normal | None = None
        """What a search from the normal state began with."""
        self.boot_row: Row | None = None
        """Where runs begin that are told from the first boots, though the setting says normal."""

    def _renaming(self) -> Renaming | None:
        """How numbers are renamed, if there are any and no claim could see it."""
        setting, claims = self.model.setting, self.claims
        is_seen = any(claim.looks_back or claim.sights & WHOLE for claim in claims)
        # Beginning anywhere means with any numbers too, and who forgets its numbers begins anew.
        anew = self.model.begins_anywhere or setting.storage is Storage.LOST
        plain = setting.order is Order.SET or anew
        wanted = self.model.renames and not is_seen and not plain
        declared = declared_families(self.machine) if wanted else set()
        if not declared or self.model.bounds.counter >= NUMBERS_MAX:
            return None
        return Renaming(self.columns, self.locals, self.channels, sorted(declared, key=repr))

    def _local_card(self, value: Local) -> LocalCard:
        if value.state is None:
            return LocalCard(value, None, self.model.bounded)
        standing = self.turns.view(value.state)
        owes, offices = self.turns.must_ask(standing), self.turns.offices(value.state)
        return LocalCard(value, standing, self.model.bounded, owes, self.achievement, offices)

    def revive(self, row: list[int], place: int) -> None:
        """Make a row ready for the boot of a node: its detector and connections are new."""
        if self.model.setting.connections is Connections.DIE:
            for (sender, _), column in self.columns.of_channel.items():
                if sender == place:
                    row[column] = self.without_sender(row[column], self.ids[place])
        if self.machine.uses_views:
            others = [other for other in range(self.n) if other != place]
            cards, reach = self.locals.cards, self.columns.reach
            ups = [o for o in others if cards[row[o]].up and reach(row, place, o)]
            first = self.columns.watch_column
            row[first + place] = self.detectors.first(place, ups)
            for other in ups:
                column = first + other
                row[column] = self.detectors.note(row[column], place, up=True)
        self.drop_lost(row, booting=place)

    def fall(self, row: list[int], place: int, down: int) -> None:
        """Let a node crash."""
        row[place] = down
        if self.machine.uses_views:
            first = self.columns.watch_column
            row[first + place] = self.detectors.blind
            for other in range(self.n):
                up = other != place and self.locals.cards[row[other]].up
                if up and self.columns.reach(row, place, other):
                    column = first + other
                    row[column] = self.detectors.note(row[column], place, up=False)
        if self.model.setting.connections is Connections.DIE:
            for column, to in self.columns.channels:
                if to == place:
                    row[column] = self.empty
        self.drop_lost(row)

    def relink(self, row: list[int], number: int, *, heals: bool) -> None:
        """Cut a link, or let it heal."""
        columns = self.columns
        row[columns.links_column] ^= 1 << number
        one, other = columns.links[number]
        if self.machine.uses_views and all(self.locals.cards[row[p]].up for p in (one, other)):
            for watcher, target in ((one, other), (other, one)):
                column = columns.watch_column + watcher
                row[column] = self.detectors.note(row[column], target, up=heals)
        if not heals and self.model.setting.connections is Connections.DIE:
            for pair in ((one, other), (other, one)):
                row[columns.of_channel[pair]] = self.empty
        self.drop_lost(row)

    def is_lost(self, row: Sequence[int], place: int) -> bool:
        """Whether a node is down and can never boot again."""
        left = self.budgets.cards[row[-1]].recoveries
        return not left and not self.locals.cards[row[place]].up

    def drop_lost(self, row: list[int], booting: int = -1) -> None:
        """Drop what can never matter again.

        Nothing that is on its way to a node that is down for good, or over a link that is cut for
        good, is ever received, and nothing but a boot reads what a node has saved: rows that
        differ in these alone have the same moves, and lead to rows that again differ in these
        alone. So no run is hidden, unless a claim looks there. Dropped at once, such things fill
        no channel, and keep no loop from closing. `booting` is the node that is about to boot.
        """
        left = self.budgets.cards[row[-1]]
        cut = self.columns.cut_links(row) and not left.heals
        lost: list[int] = []
        if not left.recoveries:
            cards = self.locals.cards
            lost = [p for p in range(self.n) if p != booting and not cards[row[p]].up]
        if self.drops_mail and (cut or lost):
            for column, to in self.columns.channels:
                if to in lost or (cut and self.columns.is_severed(row, column)):
                    row[column] = self.empty
        if self.drops_saved:
            for place in lost:
                row[place] = self.gone

    def without_lost(self, row: Sequence[int]) -> Row:
        """The row without what can never matter again."""
        changed = list(row)
        self.drop_lost(changed)
        return tuple(changed)

    def is_too_far(self, row: Row) -> bool:
        """Whether some node holds a number beyond the bound, though all have been renamed."""
        assert self.renaming is not None
        counter = self.model.bounds.counter
        return any(self.renaming.largest(code) > counter for code in row[: self.n])

    def renamed(self, row: Row) -> Row:
        """The row with its numbers renamed, where they are."""
        return row if self.renaming is None else self.renaming.normal(row)

    def post(self, row: list[int], mail: Mail) -> bool:
        """Put messages on their channels; False if there is no room for them.

        That is a cut, unless a full channel blocks its sender: then the move waits for room.
        """
        for to, column, items in mail:
            if self._has_cuts and self.columns.is_severed(row, column):
                continue
            is_down = self._may_miss and not self.locals.cards[row[to]].up
            if is_down and (self._dies or self.is_lost(row, to)):
                continue
            old = row[column]
            code = self._appended.get((old, items), UNKNOWN)
            if code == UNKNOWN:
                code = self.append(old, items)
            if code is None:
                if not self.model.bounds.blocks:
                    self.cuts["capacity"] += 1
                return False
            row[column] = code
        return True

    def mail_of(self, place: int, sends: CodedSends) -> Mail:
        """What a node sends; where there is no link at all it is gone at once."""
        column_of = self.columns.of_channel.get
        columns = ((to, column_of((place, to)), items) for to, items in sends)
        return tuple((to, column, items) for to, column, items in columns if column is not None)

    def append(self, channel: int, items: int) -> int | None:
        """The channel with these messages at its end; None if it has no room for them."""
        key = (channel, items)
        if key not in self._appended:
            card = self.channels.cards[channel]
            value = card.with_more(self.messages.cards[items])
            fits = card.lasting or len(value) <= self.model.bounds.capacity
            if not fits and channel == self.empty and self.model.bounds.blocks:
                raise ModelError(
                    f"a turn sends {len(value)} messages to one node at once: it would wait for "
                    f"ever for room on a channel that holds {self.model.bounds.capacity} "
                    "(--capacity-blocks)"
                )
            self._appended[key] = self.channels.code(value) if fits else None
        return self._appended[key]

    def without_sender(self, channel: int, sender: NodeId) -> int:
        """The channel without the messages of one sender."""
        items = self.channels.cards[channel].value
        return self.channels.code(tuple(item for item in items if item.sender != sender))

    def ticked(self, row: Row) -> Row:
        """The row one tick later."""
        changed = list(row)
        cards, columns = self.locals.cards, self.columns
        for place in range(self.n):
            node = cards[row[place]]
            if node.aged is None:
                node.aged = self.locals.code(node.value.aged())
            changed[place] = node.aged
        if self.machine.uses_views:
            for column in range(columns.watch_column, columns.links_column):
                changed[column] = self.detectors.aged(row[column])
        for column, to in columns.channels:
            if row[column] != self.empty:
                channel = self.channels.cards[row[column]]
                up = cards[row[to]].up and not (self._has_cuts and columns.is_severed(row, column))
                if up not in channel.aged:
                    channel.aged[up] = self.channels.code(channel.aged_value(up))
                changed[column] = channel.aged[up]
        return tuple(changed)

    def with_columns(self, row: Row, *changes: tuple[int, int]) -> Row:
        """The row with these columns changed."""
        changed = list(row)
        for column, code in changes:
            changed[column] = code
        return tuple(changed)

    def booted(self) -> Row | None:
        """The row in which all have just booted for the first time; None if a bound cuts that."""
        row = (0,) * self.n + (self.empty,) * len(self.columns.channels)
        if self.machine.uses_views:
            row += tuple(self.detectors.first(place, range(self.n)) for place in range(self.n))
        row += (0,) * (self._has_cuts + self.columns.remembers)
        row += (self.budgets.code(self.model.first_budget()),)
        first = [self.outcomes.coded(self.gone, place, None) for place in range(self.n)]
        # All are up before anybody speaks: nobody's first words get lost.
        changed = [*(coded.local for coded in first), *row[self.n :]]
        for place, coded in enumerate(first):
            if not self.post(changed, self.mail_of(place, coded.sends)):
                return None
        return self.at_first(tuple(changed))

    def at_first(self, row: Row) -> Row:
        """The row as one where a run begins: claims have seen nothing before it."""
        if self.recall is None:
            return self.begun(row)
        return self.with_columns(row, (self.columns.memory_column, self.recall.first(row)))

    def begun(self, row: Row) -> Row:
        """The row as one where a run begins, whatever claims remember there."""
        renamed = self.renamed(row)
        self.raw_rows.setdefault(renamed, row)
        return renamed

    def shown(self, row: Row) -> tuple[int, ...]:
        """The same for rows that are the same to every claim, whatever that remembers."""
        observation = self.observations.key(row)
        if self.recall is None:
            return observation
        return (*observation, row[self.columns.memory_column])

    def remembered(self, row: Row) -> Row:
        """The row after a move, with what claims remember brought up to date."""
        assert self.recall is not None
        column = self.columns.memory_column
        memory = self.recall.after(row[column], self.observations.key(row))
        return self.with_columns(row, (column, memory))

    def resumed(self, value: Local) -> int:
        """The code of a node that was paused; without bounds nothing is ever due by now."""
        pulse = Pulse.WOKEN if self.model.bounded else Pulse.AWAKE
        return self.locals.code(value._replace(pulse=pulse))

    def stabilised(self, row: Row) -> Row:
        """The row from which nothing fails any more, with its numbers renamed."""
        return self.renamed(self.without_faults(row))

    def without_faults(self, row: Row) -> Row:
        """The row from which nothing fails any more: no budget is left, everybody is resumed."""
        changed = list(row)
        for place in range(self.n) if self.may_pause else ():
            value = self.locals.cards[row[place]].value
            if value.pulse is Pulse.PAUSED:
                changed[place] = self.resumed(value)
        changed[-1] = self.last_budget
        self.drop_lost(changed)
        return tuple(changed)

    @contextmanager
    def looking_again(self) -> Iterator[None]:
        """Have moves made that were made before: what a bound cuts is no new cut."""
        cuts = self.cuts.copy()
        try:
            yield
        finally:
            self.cuts = cuts
