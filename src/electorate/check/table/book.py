"""The tables that the kernel reads, filled from the reference world where the kernel missed one.

The moves of check/world.py, each as an effect: which columns it sets, which messages it appends,
who falls, and what it spends. What a protocol does with an event is asked of the world.
"""

from typing import Any

import numpy as np

from electorate.check.board import Coded
from electorate.check.model import Budget
from electorate.check.part import Local, LocalCard, Pulse
from electorate.check.table.array import Growing, WordMap
from electorate.check.table.kernel import (
    AGE_CHANNEL,
    AGE_LOCAL,
    AGE_WATCH,
    APPEND,
    BLOCKS,
    CHANNEL,
    CUT,
    EFFECT_WIDTH,
    FIRST,
    NODE,
    NOTE,
    STRIP,
    UNKNOWN,
    VIEW,
    WAITS,
    Layout,
    Tables,
    key_of,
)
from electorate.check.world import World
from electorate.core import Asked, Event, Received, TimedOut, Viewed
from electorate.trace import Connections, Ties

CODES_MAX = 1 << 20
BUDGETS_MAX = 1 << 12
ELECTED_FACT, TORN_FACT = 1, 2
CUT_KINDS = ("firings", "counter", "capacity")


class TooLarge(Exception):
    """The model has more different parts than the tables can name."""


class Book:
    """All tables of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._lists = WordMap()
        self._effects = Growing((EFFECT_WIDTH,), np.int32)
        self._sends = Growing((2,), np.int32)
        self._appends = WordMap()
        self._up = Growing((), np.uint8)
        self._local_aged = Growing((), np.int32, UNKNOWN)
        self._channel_aged = Growing((2,), np.int32, UNKNOWN)
        self._watch_aged = Growing((), np.int32, UNKNOWN)
        self._watch_stirs = Growing((), np.uint8)
        self._budget_lies = Growing((), np.uint8)
        self._note = Growing((2 * world.n,), np.int32, UNKNOWN)
        self._strip = Growing((world.n,), np.int32, UNKNOWN)
        self._first = np.full(1 << world.n, UNKNOWN, np.int32)
        self.views = Growing((), np.int32)
        self.view_codes: dict[Any, int] = {}
        self.keep_up()

    def layout(self) -> Layout:
        """What the kernel needs to know of the columns."""
        world = self.world
        setting = world.model.setting
        column = np.zeros(world.n * world.n, np.int64)
        for (a, b), at in world.column.items():
            column[a * world.n + b] = at
        return Layout(
            world.n,
            len(world.channel_columns),
            world.width,
            world.watch_column,
            world.empty,
            world.watching.blind,
            world.machine.uses_views,
            world.model.bounded,
            setting.ties is Ties.MESSAGES_FIRST,
            setting.connections is Connections.DIE,
            np.array([to for _, to in world.channel_columns] or [0], np.int64),
            column,
        )

    def tables(self) -> Tables:
        """The tables as they are now."""
        return Tables(
            self._lists.slots,
            self._appends.slots,
            self._effects.data,
            self._sends.data,
            self._up.data,
            self._local_aged.data,
            self._channel_aged.data,
            self._watch_aged.data,
            self._watch_stirs.data,
            self._budget_lies.data,
            self._note.data,
            self._first,
            self._strip.data,
        )

    @property
    def size(self) -> int:
        """How many lists and appendings are known."""
        return self._lists.size + self._appends.size

    def fill(self, missed: np.ndarray[Any, Any]) -> None:
        """Work out what the kernel missed."""
        for kind, a, b, c in {tuple(map(int, entry)) for entry in missed}:
            self._fill_one(kind, a, b, c)
        self.keep_up()

    def _fill_one(self, kind: int, a: int, b: int, c: int) -> None:
        world = self.world
        if kind in (CHANNEL, NODE, VIEW):
            self._fill_list(kind, a & 0xFFFFFFFFFFFFFFFF)
        elif kind == APPEND:
            code = world.append(a, b)
            key = int(key_of(APPEND, 0, a, b, 0))
            if key not in self._appends:
                self._appends.set(key, int(CUT) if code is None else code)
        elif kind == NOTE:
            noted = world.watching.note(a, b, up=bool(c))
            self._reserve()
            self._note.data[a, 2 * b + c] = noted
        elif kind == AGE_LOCAL:
            aged = world.locals.code(world.locals.cards[a].value.aged())
            self._reserve()
            self._local_aged.data[a] = aged
        elif kind == AGE_CHANNEL:
            aged = world.channels.code(world.channels.cards[a].aged_value(bool(b)))
            self._reserve()
            self._channel_aged.data[a, b] = aged
        elif kind == AGE_WATCH:
            aged = world.watching.aged(a)
            self._reserve()
            self._watch_aged.data[a] = aged
        elif kind == FIRST:
            ups = [bool(a >> place & 1) for place in range(world.n)]
            self._first[a] = world.watching.first(ups)
        elif kind == STRIP:
            stripped = world.without_sender(a, world.ids[b])
            self._reserve()
            self._strip.data[a, b] = stripped

    # --- lists of effects ---

    def _fill_list(self, kind: int, key: int) -> None:
        if key in self._lists:
            return
        where, first = key >> 52 & 0xFF, key >> 32 & 0xFFFFF
        second, budget = key >> 12 & 0xFFFFF, key & 0xFFF
        start = self._effects.size
        if kind == CHANNEL:
            flags = self._channel_effects(where, first, second, budget)
        elif kind == NODE:
            flags = self._node_effects(where, first, bool(second), budget)
        else:
            flags = self._view_effects(where, first, second, budget)
        count = self._effects.size - start
        self._lists.set(key, start << 32 | count << 8 | flags)

    def _channel_effects(self, channel: int, code: int, local: int, budget: int) -> int:
        world = self.world
        column, to = world.channel_columns[channel]
        card, node = world.channels.cards[code], world.locals.cards[local]
        left = world.budgets.cards[budget]
        flags = 0
        if node.awake and card.due:
            flags = BLOCKS if node.woken else BLOCKS | WAITS
        for place in card.deliverable:
            rest = world.channels.code(card.value[:place] + card.value[place + 1 :])
            if node.up and left.losses:
                self._add(to, budget=self._spent(left, "losses"), column=column, code=rest)
            elif not node.up and left.recoveries:
                self._add(to, budget=budget, column=column, code=rest)
            if not node.awake or node.expired:
                continue
            item = card.value[place]
            event = Received(item.sender, item.message)
            self._take(to, local, event, budget, column=column, code=rest)
            if left.doubles:
                self._take(to, local, event, self._spent(left, "doubles"))
        return flags

    def _node_effects(self, place: int, local: int, waits: bool, budget: int) -> int:
        world = self.world
        node, left = world.locals.cards[local], world.budgets.cards[budget]
        if not node.up:
            if left.recoveries:
                spent = self._spent(left, "recoveries")
                self._take(place, local, None, spent, revives=True)
            return 0
        if node.awake:
            self._fire_effects(place, local, node, waits, budget)
            if left.asks and not node.expired and node.standing is not None:
                for request in world.offers(node.standing):
                    self._take(place, local, Asked(request), self._spent(left, "asks"))
        self._fault_effects(place, node, left, budget)
        return BLOCKS if node.awake and node.due else 0

    def _fire_effects(
        self, place: int, local: int, node: LocalCard, waits: bool, budget: int
    ) -> None:
        for timer in node.ready:
            if node.expired:
                if timer != node.expired:
                    continue
            elif waits and not node.woken:
                continue
            self._take(place, local, TimedOut(timer), budget)

    def _fault_effects(self, place: int, node: LocalCard, left: Budget, budget: int) -> None:
        world, value = self.world, node.value
        if left.crashes:
            assert value.state is not None
            down = world.locals.code(Local(None, value.state.stable))
            self._add(place, budget=self._spent(left, "crashes"), down=down)
        if value.pulse is Pulse.PAUSED:
            self._add(place, budget=budget, local=world.resumed(value))
        elif left.pauses:
            paused = world.locals.code(value._replace(pulse=Pulse.PAUSED))
            self._add(place, budget=self._spent(left, "pauses"), local=paused)

    def _view_effects(self, place: int, local: int, watch: int, budget: int) -> int:
        world = self.world
        node, left = world.locals.cards[local], world.budgets.cards[budget]
        if not node.awake or node.expired:
            return 0
        column = world.watch_column + place
        for code in world.watching.corrections(watch):
            event = Viewed(world.watching.pool.cards[code].alive)
            self._take(place, local, event, budget, column=column, code=code)
        if left.lies:
            spent = self._spent(left, "lies")
            for code in world.watching.lies(watch, place):
                event = Viewed(world.watching.pool.cards[code].alive)
                self._take(place, local, event, spent, column=column, code=code)
        return BLOCKS if world.watching.pool.cards[watch].overdue else 0

    def _take(
        self,
        place: int,
        local: int,
        event: Event | None,
        budget: int,
        *,
        column: int = -1,
        code: int = -1,
        revives: bool = False,
    ) -> None:
        """The effects of an event: whole, and torn by a crash in every way."""
        world = self.world
        coded: Coded = world.coded(local, place, event)
        if coded.cut is not None:
            self._add(place, budget=budget, cut=CUT_KINDS.index(coded.cut))
            return
        before, after = world.locals.cards[local], world.locals.cards[coded.local]
        me = world.ids[place]
        facts = ELECTED_FACT if _leads(after, me) and not _leads(before, me) else 0
        changes: dict[str, Any] = {"column": column, "code": code, "revives": revives}
        self._add(
            place, budget=budget, local=coded.local, sends=coded.sends, facts=facts, **changes
        )
        left = world.budgets.cards[budget]
        if left.crashes:
            spent = self._spent(left, "crashes")
            for torn, down, sends in coded.torn:
                facts = TORN_FACT if torn.partial else 0
                self._add(place, budget=spent, down=down, sends=sends, facts=facts, **changes)

    def _add(
        self,
        place: int,
        *,
        budget: int,
        column: int = -1,
        code: int = -1,
        local: int = -1,
        sends: tuple[tuple[int, int], ...] = (),
        down: int = -1,
        revives: bool = False,
        facts: int = 0,
        cut: int = -1,
    ) -> None:
        first = self._sends.size
        for pair in sends:
            self._sends.append(pair)
        last = self._sends.size
        row = (column, code, place, local, first, last, down, budget, revives, facts, cut)
        self._effects.append(row)

    def _spent(self, left: Budget, kind: str) -> int:
        after = left.spent(kind)
        assert after is not None
        return self.world.budgets.code(after)

    # --- keeping up with the pools ---

    def _reserve(self) -> None:
        world = self.world
        for table in (self._local_aged, self._up, self.views):
            table.reserve(len(world.locals))
        for table in (self._channel_aged, self._strip):
            table.reserve(len(world.channels))
        for table in (self._watch_aged, self._note):
            table.reserve(len(world.watching.pool))

    def keep_up(self) -> None:
        """Learn of all parts that were named since."""
        world = self.world
        parts = len(world.locals), len(world.channels), len(world.watching.pool)
        if max(*parts, len(world.messages)) >= CODES_MAX or len(world.budgets) >= BUDGETS_MAX:
            raise TooLarge("more different parts than the tables can name; use --engine python")
        self._reserve()
        for code in range(self._budget_lies.size, len(world.budgets)):
            self._budget_lies.append(world.budgets.cards[code].lies > 0)
        for code in range(self._watch_stirs.size, len(world.watching.pool)):
            self._watch_stirs.append(bool(world.watching.pool.cards[code].wrong))
        for code in range(self._up.size, len(world.locals)):
            card = world.locals.cards[code]
            self._up.append(card.up)
            self.views.append(self.view_codes.setdefault(card.standing, len(self.view_codes)))


def view_keys(book: Book, rows: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
    """One word for each row's views: equal where all nodes let the same be seen."""
    bits = 63 // n
    if len(book.view_codes) >= 1 << bits:
        raise TooLarge("more different views than the tables can name; use --engine python")
    keys = np.zeros(len(rows), np.int64)
    for place in range(n):
        keys = keys << bits | book.views.data[rows[:, place]]
    return keys


def _leads(card: LocalCard, node: int) -> bool:
    return card.standing is not None and card.standing.leader == node
