"""Rows of small integers, and what crashes, messages and time make of them.

Most columns hold the code of a part (check/interned.py); what an event does to a part is worked out
once and looked up ever after.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

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
from electorate.check.model import Budget, Model
from electorate.check.node_step import NodeSteps, Outcome, Sends, Torn
from electorate.check.observation import Observations, Recall
from electorate.check.renaming import NUMBERS_MAX, Renaming
from electorate.claims import Claim, Sight
from electorate.core import Asked, Event, Message, NodeId, Request, Standing, State, TimedOut, Turns
from electorate.core.growing import declared_families, numbers_in
from electorate.trace import Connections, Order, Storage

WHOLE = frozenset({Sight.STATES, Sight.STABLES, Sight.MESSAGES})
"""What shows numbers as they are, and not only how they compare with others of their kind."""


UNKNOWN = -1
"""In place of a code: it has not been worked out yet."""

Mail = tuple[tuple[int, int, int], ...]
"""What is sent: to which node, on the channel in which column, and which messages."""


class Coded(NamedTuple):
    """An outcome in codes: the node's new code, and per receiver the code of its messages."""

    outcome: Outcome
    local: int
    sends: tuple[tuple[int, int], ...]
    torn: tuple[tuple[Torn, int, tuple[tuple[int, int], ...]], ...]
    cut: str | None


class Board(Columns):
    """The rows of one machine under one model, and every change to them."""

    def __init__(self, turns: Turns, model: Model, claims: Sequence[Claim] = ()) -> None:
        remembers = any(claim.fold is not None for claim in claims)
        super().__init__(turns.machine, model, remembers)
        self.claims = claims
        self.turns = turns
        self.cuts: Counter[str] = Counter()
        self.node_steps = NodeSteps(turns, model)
        self.achievement = achievement_of(turns.machine)
        setting = model.setting
        age_max = setting.delay_max if setting.prompt else None
        age_min = setting.delay_min if setting.prompt else 0
        order = setting.order
        self.locals: Pool[Local, LocalCard] = Pool(self._local_card)
        self.channels: Pool[Channel, ChannelCard] = Pool(
            lambda value: ChannelCard(value, order, age_min, age_max)
        )
        self.observations = Observations(self, self.locals.cards, claims)
        sights = {sight for claim in claims for sight in claim.sights}
        self.shows_mail = Sight.MESSAGES in sights
        self.drops_mail = model.drops and not self.shows_mail
        """Whether messages that nobody can receive any more are dropped at once."""
        self.drops_saved = model.drops and Sight.STABLES not in sights
        """Whether what a node has saved is dropped once it can never boot again."""
        self.recall = Recall(self.observations, claims) if remembers else None
        self.detectors = DetectorStates(self.ids, model)
        self.budgets: Pool[Budget, Budget] = Pool(lambda value: value)
        self.last_budget = self.budgets.code(model.last_budget())
        """What is left where nothing fails any more."""
        given = model.given.nodes if model.given else ()
        paused = any(node.pulse is Pulse.PAUSED for node in given)
        self.may_pause = paused or model.first_budget().pauses > 0
        """Whether some node may be paused."""
        self.messages: Pool[tuple[Item, ...], tuple[Item, ...]] = Pool(lambda value: value)
        self._dies = setting.connections is Connections.DIE
        self._may_miss = self._dies or self.drops_mail
        """Whether what is sent to a node that is down may be lost at once."""
        self.empty = self.channels.code(())
        self.gone = self.locals.code(Local(None, None))
        """A node that has saved nothing: it was never born, or will never boot again."""
        self._has_numbers = bool(declared_families(self.machine))
        begun = [node for node in given if node.state]
        self._begun = max(map(self._largest, begun), default=0)
        """The largest declared number at any node where runs begin."""
        self.may_stand_still = False
        """Whether there was reason to ask if time goes on for ever."""
        self._outcomes: dict[tuple[int, Event | int], Coded] = {}
        self._appended: dict[tuple[int, int], int | None] = {}
        self._offers: dict[tuple[State, Standing], tuple[Request, ...]] = {}
        grown = [self.machine.grown(node.state) for node in begun]
        self._grown = tuple(map(max, zip(*grown, strict=True)))
        """How far the numbers that the machine names have grown where runs begin."""
        self.renaming = self._renaming()
        if self.renaming is not None:
            self._trial = trial_of(self.machine, model, claims)
        self.beginnings: dict[Row, Any] = {}
        """The rows that runs begin with, and how each is reached; set by the search."""
        self.raw_rows: dict[Row, Row] = {}
        """The rows that runs begin with, by what they are once their numbers are renamed."""

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
        return Renaming(self, self.locals, self.channels, sorted(declared, key=repr))

    def _local_card(self, value: Local) -> LocalCard:
        if value.state is None:
            return LocalCard(value, None, self.model.bounded)
        standing = self.turns.view(value.state)
        owes, offices = self.turns.must_ask(standing), self.turns.offices(value.state)
        return LocalCard(value, standing, self.model.bounded, owes, self.achievement, offices)

    def revive(self, row: list[int], place: int) -> None:
        """Make a row ready for the boot of a node: its detector and connections are new."""
        if self.model.setting.connections is Connections.DIE:
            for (sender, _), column in self.column.items():
                if sender == place:
                    row[column] = self.without_sender(row[column], self.ids[place])
        if self.machine.uses_views:
            others = [other for other in range(self.n) if other != place]
            ups = [o for o in others if self.locals.cards[row[o]].up and self.reach(row, place, o)]
            row[self.watch_column + place] = self.detectors.first(place, ups)
            for other in ups:
                column = self.watch_column + other
                row[column] = self.detectors.note(row[column], place, up=True)
        self.drop_lost(row, booting=place)

    def fall(self, row: list[int], place: int, down: int) -> None:
        """Let a node crash."""
        row[place] = down
        if self.machine.uses_views:
            row[self.watch_column + place] = self.detectors.blind
            for other in range(self.n):
                up = other != place and self.locals.cards[row[other]].up
                if up and self.reach(row, place, other):
                    column = self.watch_column + other
                    row[column] = self.detectors.note(row[column], place, up=False)
        if self.model.setting.connections is Connections.DIE:
            for column, to in self.channel_columns:
                if to == place:
                    row[column] = self.empty
        self.drop_lost(row)

    def relink(self, row: list[int], number: int, *, heals: bool) -> None:
        """Cut a link, or let it heal."""
        row[self.links_column] ^= 1 << number
        one, other = self.links[number]
        if self.machine.uses_views and all(self.locals.cards[row[p]].up for p in (one, other)):
            for watcher, target in ((one, other), (other, one)):
                column = self.watch_column + watcher
                row[column] = self.detectors.note(row[column], target, up=heals)
        if not heals and self.model.setting.connections is Connections.DIE:
            row[self.column[one, other]] = row[self.column[other, one]] = self.empty
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
        cut = self.cut_links(row) and not left.heals
        lost: list[int] = []
        if not left.recoveries:
            cards = self.locals.cards
            lost = [p for p in range(self.n) if p != booting and not cards[row[p]].up]
        if self.drops_mail and (cut or lost):
            for column, to in self.channel_columns:
                if to in lost or (cut and self.is_severed(row, column)):
                    row[column] = self.empty
        if self.drops_saved:
            for place in lost:
                row[place] = self.gone

    def without_lost(self, row: Sequence[int]) -> Row:
        """The row without what can never matter again."""
        changed = list(row)
        self.drop_lost(changed)
        return tuple(changed)

    def coded(self, local: int, place: int, event: Event | None) -> Coded:
        """The outcome of an event (None: a boot) in codes; worked out once."""
        key = (local, place if event is None else event)
        known = self._outcomes.get(key)
        if known is None:
            value = self.locals.cards[local].value
            outcome = self._outcome(value, place, event)
            known = self._outcomes[key] = Coded(
                outcome,
                self.locals.code(outcome.local),
                self._sends_code(place, outcome.sends),
                tuple(
                    (torn, self.locals.code(torn.local), self._sends_code(place, torn.sends))
                    for torn in outcome.torn
                ),
                self._cut(outcome.local),
            )
            self.may_stand_still |= self._is_pressing(value, event, outcome.local)
        return known

    def _outcome(self, value: Local, place: int, event: Event | None) -> Outcome:
        """What an event, or a boot, does to a node."""
        me = self.ids[place]
        if event is None:
            outcome = self.node_steps.boot(me, value.stable)
        else:
            outcome = self.node_steps.step(value, event)
        if self.renaming is not None:
            budget = self.model.budget
            comes_back = bool(budget.crashes and budget.recoveries) and self.model.may_crash(me)
            self._trial.verify(value, me, event, outcome, comes_back=comes_back)
        return outcome

    def _is_pressing(self, before: Local, event: Event | None, after: Local) -> bool:
        """Whether something that time had to wait for led at once to more of the kind.

        Nothing else can make time stand still: a message that was just sent is not due yet.
        """
        if not self.model.bounded:
            return False
        card = self.locals.cards[self.locals.code(after)]
        if isinstance(event, Asked):
            owed = self.locals.cards[self.locals.code(before)].owes
            return event.request in owed and card.due
        if not isinstance(event, TimedOut):
            return False
        was_due = {armed.timer for armed in before.timers if armed.latest == 0} - {event.timer}
        is_due = {armed.timer for armed in after.timers if armed.latest == 0}
        return bool(card.owes) or not is_due <= was_due

    def _cut(self, local: Local) -> str | None:
        """The bound that this node exceeds, if any."""
        bounds = self.model.bounds
        if local.firings > bounds.firings:
            return "firings"
        numbers = enumerate(self.machine.grown(local.state))
        begun = self._grown or (0,) * len(self.machine.growing)
        grown = any(number - begun[k] > bounds.counter for k, number in numbers)
        if self.renaming is None:
            grown = grown or self._largest(local) - self._begun > bounds.counter
        return "counter" if grown else None

    def _largest(self, local: Local) -> int:
        """The largest number at a node of those that the machine's types declare."""
        assert local.state is not None
        if not self._has_numbers:
            return 0
        found = numbers_in(local.state, local.state.me).values()
        return max((max(numbers) for numbers in found), default=0)

    def is_too_far(self, row: Row) -> bool:
        """Whether some node holds a number beyond the bound, though all have been renamed."""
        assert self.renaming is not None
        counter = self.model.bounds.counter
        return any(self.renaming.largest(code) > counter for code in row[: self.n])

    def renamed(self, row: Row) -> Row:
        """The row with its numbers renamed, where they are."""
        return row if self.renaming is None else self.renaming.normal(row)

    def offers(self, node: LocalCard) -> tuple[Request, ...]:
        """What the application may ask of this node."""
        state, standing = node.value.state, node.standing
        if state is None or standing is None:
            return ()
        key = state, standing
        if key not in self._offers:
            offered, me = self.turns.offers(state, standing), state.me
            wanted = (each for each in offered if self.model.may_ask(me, each))
            self._offers[key] = tuple(wanted)
        return self._offers[key]

    def _sends_code(self, place: int, sends: Sends) -> tuple[tuple[int, int], ...]:
        return tuple(
            (self.ids.index(to), self.messages.code(self._items(place, messages)))
            for to, messages in sorted(sends.items())
        )

    def _items(self, place: int, messages: tuple[Message, ...]) -> tuple[Item, ...]:
        return tuple(Item(self.ids[place], message, 0) for message in messages)

    def post(self, row: list[int], mail: Mail) -> bool:
        """Put messages on their channels; False if there is no room for them.

        That is a cut, unless a full channel blocks its sender: then the move waits for room.
        """
        for to, column, items in mail:
            if self.has_cuts and self.is_severed(row, column):
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

    def mail_of(self, place: int, sends: tuple[tuple[int, int], ...]) -> Mail:
        """What a node sends; where there is no link at all it is gone at once."""
        columns = ((to, self.column.get((place, to)), items) for to, items in sends)
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
        cards = self.locals.cards
        for place in range(self.n):
            node = cards[row[place]]
            if node.aged is None:
                node.aged = self.locals.code(node.value.aged())
            changed[place] = node.aged
        if self.machine.uses_views:
            for column in range(self.watch_column, self.watch_column + self.n):
                changed[column] = self.detectors.aged(row[column])
        for column, to in self.channel_columns:
            if row[column] != self.empty:
                channel = self.channels.cards[row[column]]
                up = cards[row[to]].up and not (self.has_cuts and self.is_severed(row, column))
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
        row = (0,) * self.n + (self.empty,) * len(self.channel_columns)
        if self.machine.uses_views:
            row += tuple(self.detectors.first(place, range(self.n)) for place in range(self.n))
        row += (0,) * (self.has_cuts + self.remembers)
        row += (self.budgets.code(self.model.first_budget()),)
        first = [self.coded(self.gone, place, None) for place in range(self.n)]
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
        return self.with_columns(row, (self.memory_column, self.recall.first(row)))

    def begun(self, row: Row) -> Row:
        """The row as one where a run begins, whatever claims remember there."""
        renamed = self.renamed(row)
        self.raw_rows.setdefault(renamed, row)
        return renamed

    def shown(self, row: Row) -> tuple[int, ...]:
        """The same for rows that are the same to every claim, whatever that remembers."""
        observation = self.observations.key(row)
        return (*observation, row[self.memory_column]) if self.remembers else observation

    def remembered(self, row: Row) -> Row:
        """The row after a move, with what claims remember brought up to date."""
        assert self.recall is not None
        memory = self.recall.after(row[self.memory_column], self.observations.key(row))
        return self.with_columns(row, (self.memory_column, memory))

    def resumed(self, value: Local) -> int:
        """The code of a node that was paused; without bounds nothing is ever due by now."""
        pulse = Pulse.WOKEN if self.model.bounded else Pulse.AWAKE
        return self.locals.code(value._replace(pulse=pulse))

    def stabilised(self, row: Row) -> Row:
        """The row from which nothing fails any more, with its numbers renamed."""
        return self.renamed(self.calmed(row))

    def calmed(self, row: Row) -> Row:
        """The row from which nothing fails any more: no budget is left, everybody is resumed."""
        changed = list(row)
        for place in range(self.n) if self.may_pause else ():
            value = self.locals.cards[row[place]].value
            if value.pulse is Pulse.PAUSED:
                changed[place] = self.resumed(value)
        changed[-1] = self.last_budget
        self.drop_lost(changed)
        return tuple(changed)
