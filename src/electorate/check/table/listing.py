"""Lists of effects: every move of check/world.py that some parts of a row allow.

An effect says which columns a move sets, which messages it appends, who falls, which link changes,
and what it spends. What a protocol does with an event is asked of the world.
"""

from typing import Any, NamedTuple

import numpy as np

from electorate.check.board import Coded
from electorate.check.model import BUDGETS, Budget
from electorate.check.part import Local, LocalCard, Pulse
from electorate.check.table.array import Growing, WordMap
from electorate.check.table.kernel import (
    AMPLE,
    BLOCKS,
    BUDGET_BITS,
    BUDGETS_MAX,
    CHANNEL,
    CODE_BITS,
    CODES_MAX,
    EFFECT_WIDTH,
    NODE,
    PLACES_MAX,
    SEVERED,
    VIEW,
    WAITS,
    WHERE,
    word,
)
from electorate.check.world import World
from electorate.core import Asked, Event, Received, TimedOut, Viewed

ACHIEVED_FACT, TORN_FACT, REACTED_FACT = 1, 2, 4
SPENT_FACTS = {kind: 8 << place for place, kind in enumerate(BUDGETS)}
"""What some move showed to be possible; among it which budgets could be spent."""
CUT_KINDS = ("firings", "counter", "capacity")


class _Before(NamedTuple):
    """What the key of a list says of the columns that its effects change."""

    local: int
    code: int
    budget: int


class Listing:
    """All lists of one world, filled one by one."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.lists = WordMap()
        self.effects = Growing((EFFECT_WIDTH,), np.int32)
        self.deltas = Growing((), np.uint64)
        self.sends = Growing((2,), np.int32)
        self._before = _Before(-1, -1, -1)

    @property
    def bytes(self) -> int:
        """What the lists take."""
        growing = (self.effects, self.deltas, self.sends)
        return self.lists.slots.nbytes + sum(each.data.nbytes for each in growing)

    def fill(self, kind: int, key: int) -> None:
        """Work out the list of effects under a key."""
        if key in self.lists:
            return
        where, budget = key >> WHERE & (PLACES_MAX - 1), key & (BUDGETS_MAX - 1)
        first = key >> (CODE_BITS + BUDGET_BITS) & (CODES_MAX - 1)
        second = key >> BUDGET_BITS & (CODES_MAX - 1)
        start = self.effects.size
        if kind == CHANNEL:
            self._before = _Before(second, first, budget)
            flags = self._channel_effects(where, first, second, budget)
        elif kind == SEVERED:
            self._before = _Before(second, first, budget)
            flags = self._severed_effects(where, first, budget)
        elif kind == NODE:
            self._before = _Before(first, -1, budget)
            flags = self._node_effects(where, first, bool(second), budget)
        elif kind == VIEW:
            self._before = _Before(first, second, budget)
            flags = self._view_effects(where, first, second, budget)
        else:
            self._before = _Before(-1, -1, budget)
            flags = self._link_effects(first << CODE_BITS | second, budget)
        count = self.effects.size - start
        self.lists.set(key, start << 32 | count << 8 | flags)

    def _channel_effects(self, channel: int, code: int, local: int, budget: int) -> int:
        world = self.world
        column, to = world.channel_columns[channel]
        card, node = world.channels.cards[code], world.locals.cards[local]
        left = world.budgets.cards[budget]
        flags = 0
        if node.awake and card.due:
            flags = BLOCKS if node.woken else BLOCKS | WAITS
        for place in card.deliverable:
            rest = world.channels.code(card.without(place))
            if card.lasting:
                pass  # What is never handed over might as well be lost.
            elif node.up and left.losses:
                spent, lost = self._spent(left, "losses"), SPENT_FACTS["losses"]
                self._add(to, budget=spent, column=column, code=rest, facts=lost)
            elif not node.up and left.recoveries:
                self._add(to, budget=budget, column=column, code=rest)
            if not node.awake or node.expired:
                continue
            item = card.value[place]
            event = Received(item.sender, item.message)
            self._take(to, local, event, budget, column=column, code=rest)
            if left.doubles and not card.lasting:
                self._take(to, local, event, budget, spends="doubles")
        if world.reduction is not None and world.reduction.is_ample(column, code, local, left):
            flags |= AMPLE
        return flags

    def _severed_effects(self, channel: int, code: int, budget: int) -> int:
        world = self.world
        column, to = world.channel_columns[channel]
        card = world.channels.cards[code]
        if world.budgets.cards[budget].heals:
            for place in card.deliverable:
                rest = world.channels.code(card.without(place))
                self._add(to, budget=budget, column=column, code=rest)
        return 0

    def _link_effects(self, cut: int, budget: int) -> int:
        left = self.world.budgets.cards[budget]
        for number in range(len(self.world.links)):
            if cut >> number & 1:
                if left.heals:
                    self._relink(2 * number + 1, left, "heals")
            elif left.cuts:
                self._relink(2 * number, left, "cuts")
        return 0

    def _relink(self, link: int, left: Budget, kind: str) -> None:
        self._add(0, budget=self._spent(left, kind), link=link, facts=SPENT_FACTS[kind])

    def _node_effects(self, place: int, local: int, waits: bool, budget: int) -> int:
        world = self.world
        node, left = world.locals.cards[local], world.budgets.cards[budget]
        if not node.up:
            if left.recoveries:
                self._take(place, local, None, budget, spends="recoveries", revives=True)
            return 0
        if node.awake:
            self._fire_effects(place, local, node, waits, budget)
            for request in () if node.expired else node.owes:
                self._take(place, local, Asked(request), budget)
            if left.asks and not node.expired:
                for request in world.offers(node):
                    self._take(place, local, Asked(request), budget, spends="asks")
        self._fault_effects(place, node, left, budget)
        return BLOCKS if node.awake and node.due else 0

    def _fire_effects(
        self, place: int, local: int, node: LocalCard, waits: bool, budget: int
    ) -> None:
        for timer in node.ready:
            if node.expired:
                if timer != node.expired:
                    continue
            elif waits and not node.woken and timer not in node.offices:
                continue
            self._take(place, local, TimedOut(timer), budget)

    def _fault_effects(self, place: int, node: LocalCard, left: Budget, budget: int) -> None:
        world, value = self.world, node.value
        if left.crashes and world.model.may_crash(world.ids[place]):
            assert value.state is not None
            down = world.locals.code(Local.down(value.state, world.model.setting.storage))
            spent, fact = self._spent(left, "crashes"), SPENT_FACTS["crashes"]
            self._add(place, budget=spent, down=down, facts=fact)
        if value.pulse is Pulse.PAUSED:
            self._add(place, budget=budget, local=world.resumed(value))
        elif left.pauses:
            paused = world.locals.code(value._replace(pulse=Pulse.PAUSED))
            spent, fact = self._spent(left, "pauses"), SPENT_FACTS["pauses"]
            self._add(place, budget=spent, local=paused, facts=fact)

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
            for code in world.watching.lies(watch, place):
                event = Viewed(world.watching.pool.cards[code].alive)
                self._take(place, local, event, budget, spends="lies", column=column, code=code)
        return BLOCKS if world.watching.pool.cards[watch].overdue else 0

    def _take(
        self,
        place: int,
        local: int,
        event: Event | None,
        budget: int,
        *,
        spends: str | None = None,
        column: int = -1,
        code: int = -1,
        revives: bool = False,
    ) -> None:
        """The effects of an event: whole, and torn by a crash in every way."""
        world = self.world
        shows = REACTED_FACT
        if spends is not None:
            budget = self._spent(world.budgets.cards[budget], spends)
            shows |= SPENT_FACTS[spends]
        coded: Coded = world.coded(local, place, event)
        if coded.cut is not None:
            self._add(place, budget=budget, cut=CUT_KINDS.index(coded.cut))
            return
        before, after = world.locals.cards[local], world.locals.cards[coded.local]
        facts = shows
        if after.achieves and not before.achieves:
            facts |= ACHIEVED_FACT
        changes: dict[str, Any] = {"column": column, "code": code, "revives": revives}
        self._add(
            place, budget=budget, local=coded.local, sends=coded.sends, facts=facts, **changes
        )
        left = world.budgets.cards[budget]
        if left.crashes:
            spent = self._spent(left, "crashes")
            for torn, down, sends in coded.torn:
                facts = shows | SPENT_FACTS["crashes"] | (TORN_FACT if torn.partial else 0)
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
        link: int = -1,
        facts: int = 0,
        cut: int = -1,
    ) -> None:
        first = self.sends.size
        for pair in sends:
            self.sends.append(pair)
        last = self.sends.size
        is_simple = down < 0 and link < 0 and not revives
        row = (column, code, place, local, first, last, down, budget, revives, link)
        self.effects.append((*row, is_simple, facts, cut))
        delta = self._delta(self.world.width - 1, self._before.budget, budget)
        if local >= 0:
            delta ^= self._delta(place, self._before.local, local)
        if column >= 0:
            delta ^= self._delta(column, self._before.code, code)
        self.deltas.append(delta)

    @staticmethod
    def _delta(column: int, old: int, new: int) -> Any:
        """What a change of one column changes of a fingerprint."""
        return word(column, old) ^ word(column, new)

    def _spent(self, left: Budget, kind: str) -> int:
        after = left.spent(kind)
        assert after is not None
        return self.world.budgets.code(after)
