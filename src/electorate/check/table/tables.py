"""The tables that the kernel reads, filled where the kernel missed an entry.

The lists of effects (check/compiler.py) are written down as arrays; what appending, ageing and
noticing make of a part, and what claims see of it, is looked up by its code.
"""

from typing import Any, NamedTuple

import numpy as np

from electorate.check.column import ModelError, Row
from electorate.check.compiler import Effects, MoveEffect
from electorate.check.effort import LimitReached
from electorate.check.moves import Moves
from electorate.check.renaming import Masks, Renaming
from electorate.check.table.kernel import (
    AGE_CHANNEL,
    AGE_LOCAL,
    AGE_WATCH,
    APPEND,
    BUDGET_BITS,
    BUDGETS_MAX,
    CHANNEL,
    CODE_BITS,
    CODES_MAX,
    CUT,
    EFFECT_WIDTH,
    FIRST,
    HEALS,
    INDEXES_MAX,
    LIES,
    LINKS,
    NODE,
    NOTE,
    NOTHING,
    RECOVERIES,
    SEVERED,
    STRIP,
    UNKNOWN,
    VIEW,
    WHERE,
    Layout,
    Tables,
    key_of,
    mix,
    wide_key_of,
    word,
)
from electorate.check.table.rename import CHANNEL_PART, LOCAL_PART, rename_key
from electorate.claims import Kind
from electorate.trace import Connections, Ties

CUT_KINDS = ("firings", "counter", "capacity")

TOO_LARGE = "more different parts than the tables can name; use --engine python"


class TooLarge(LimitReached):
    """The model has more different parts than the tables can name."""


class Growing:
    """An array whose first axis grows by doubling."""

    def __init__(self, shape: tuple[int, ...], kind: Any, fill: int = 0) -> None:
        self.data = np.full((1024, *shape), fill, kind)
        self._fill = fill
        self.size = 0

    def reserve(self, size: int) -> None:
        """Make room for so many entries."""
        if size > self.data.shape[0]:
            room = max(size, 2 * self.data.shape[0])
            grown = np.full((room, *self.data.shape[1:]), self._fill, self.data.dtype)
            grown[: self.data.shape[0]] = self.data
            self.data = grown

    def append(self, value: Any) -> int:
        """Add an entry; its place."""
        self.reserve(self.size + 1)
        self.data[self.size] = value
        self.size += 1
        return self.size - 1


class WordMap:
    """A hash table from words to words, written here and read by the kernel."""

    def __init__(self) -> None:
        self.slots = np.full((1024, 2), NOTHING, np.uint64)
        self.size = 0

    def set(self, key: int, value: int) -> None:
        """Enter a key that is not there yet."""
        if 2 * self.size >= len(self.slots):
            self._grow()
        self.slots[self._slot(key)] = (key, value)
        self.size += 1

    def __contains__(self, key: int) -> bool:
        return bool(self.slots[self._slot(key), 0] == np.uint64(key))

    def _slot(self, key: int) -> int:
        mask = len(self.slots) - 1
        slot = int(mix(np.uint64(key))) & mask
        while self.slots[slot, 0] != NOTHING and self.slots[slot, 0] != np.uint64(key):
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        old = self.slots[self.slots[:, 0] != NOTHING]
        self.slots = np.full((2 * len(self.slots), 2), NOTHING, np.uint64)
        for key, value in old:
            self.slots[self._slot(int(key))] = (key, value)


class _Before(NamedTuple):
    """What the key of a list says of the columns that its effects change."""

    local: int
    code: int
    budget: int


class EffectLists:
    """All lists of effects of one model as arrays, filled one by one."""

    def __init__(self, moves: Moves) -> None:
        self._columns = moves.space.columns
        self._compiler = moves.compiler
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
        where, budget = key >> WHERE & (INDEXES_MAX - 1), key & (BUDGETS_MAX - 1)
        first = key >> (CODE_BITS + BUDGET_BITS) & (CODES_MAX - 1)
        second = key >> BUDGET_BITS & (CODES_MAX - 1)
        start = self.effects.size
        self._before, listed = self._listed(kind, where, first, second, budget)
        for effect in listed.effects:
            self._add(effect)
        self.lists.set(key, start << 32 | len(listed.effects) << 8 | listed.flags)

    def _listed(
        self, kind: int, where: int, first: int, second: int, budget: int
    ) -> tuple[_Before, Effects]:
        compiler, channels = self._compiler, self._columns.channels
        if kind == CHANNEL:
            column, to = channels[where]
            listed = compiler.channel(column, to, first, second, budget)
            return _Before(second, first, budget), listed
        if kind == SEVERED:
            column, to = channels[where]
            return _Before(second, first, budget), compiler.severed(column, to, first, budget)
        if kind == NODE:
            node = compiler.node(where, first, bool(second), budget)
            effects = (*node.fires, *node.answers, *node.asks, *node.faults)
            return _Before(first, -1, budget), Effects(node.flags, effects)
        if kind == VIEW:
            return _Before(first, second, budget), compiler.view(where, first, second, budget)
        return _Before(-1, -1, budget), compiler.links(first << CODE_BITS | second, budget)

    def _add(self, effect: MoveEffect) -> None:
        first = self.sends.size
        for to, _, items in effect.mail:
            self.sends.append((to, items))
        last = self.sends.size
        self.effects.append(
            (
                effect.column,
                effect.code,
                effect.node,
                effect.local,
                first,
                last,
                effect.down,
                effect.budget,
                effect.revives,
                effect.link,
                effect.is_simple,
                effect.facts,
                -1 if effect.cut is None else CUT_KINDS.index(effect.cut),
            )
        )
        delta = self._delta(self._columns.width - 1, self._before.budget, effect.budget)
        if effect.local >= 0:
            delta ^= self._delta(effect.node, self._before.local, effect.local)
        if effect.column >= 0:
            delta ^= self._delta(effect.column, self._before.code, effect.code)
        self.deltas.append(delta)

    @staticmethod
    def _delta(column: int, old: int, new: int) -> Any:
        """What a change of one column changes of a fingerprint."""
        return word(column, old) ^ word(column, new)


class GrowingTables:
    """All tables of one model; they grow with the parts that are named, and with what is missed."""

    def __init__(self, moves: Moves) -> None:
        space = moves.space
        self._space = space
        self._reduces = moves.reduction is not None
        self._lists = EffectLists(moves)
        self._appends = WordMap()
        self._up = Growing((), np.uint8)
        self._local_aged = Growing((), np.int32, UNKNOWN)
        self._channel_aged = Growing((2,), np.int32, UNKNOWN)
        self._watch_aged = Growing((), np.int32, UNKNOWN)
        self._watch_stirs = Growing((), np.uint8)
        self._budget_left = Growing((), np.uint8)
        self._note = Growing((2 * space.n,), np.int32, UNKNOWN)
        self._strip = Growing((space.n,), np.int32, UNKNOWN)
        revives = space.machine.uses_views and space.model.budget.recoveries
        if len(space.columns.channels) > INDEXES_MAX or (revives and space.n > 2 * CODE_BITS):
            raise ModelError(TOO_LARGE)
        self._sights = Growing((), np.int32)
        families = () if space.renaming is None else space.renaming.families
        self._local_numbers = Growing((len(families),), np.uint64)
        self._local_counts = Growing((), np.uint8)
        self._local_far = Growing((), np.uint8)
        self._channel_numbers = Growing((len(families),), np.uint64)
        self._renames = WordMap()
        self._memories = WordMap()
        self._pairs = WordMap()
        self.filled = 0
        self.keep_up()

    def layout(self) -> Layout:
        """What the kernel needs to know of the columns."""
        space, columns = self._space, self._space.columns
        setting = space.model.setting
        column = np.full(space.n * space.n, -1, np.int64)
        link = np.zeros(space.n * space.n, np.int64)
        for (a, b), at in columns.of_channel.items():
            column[a * space.n + b] = at
            link[a * space.n + b] = columns.link[a, b]
        channel_link = np.zeros(len(columns.channels) + 1, np.int64)
        if space.model.has_cuts:
            for (a, b), at in columns.of_channel.items():
                channel_link[at - space.n] = columns.link[a, b]
        return Layout(
            space.n,
            len(columns.channels),
            columns.width,
            columns.watch_column,
            columns.links_column if space.model.has_cuts else -1,
            columns.memory_column if columns.remembers else -1,
            space.empty,
            space.gone,
            space.detectors.blind,
            space.machine.uses_views,
            space.model.bounded,
            setting.ties is Ties.MESSAGES_FIRST,
            setting.connections is Connections.DIE,
            space.drops_mail,
            space.drops_saved,
            space.model.bounds.blocks,
            self._reduces,
            any(claim.kind is Kind.STEP for claim in space.claims),
            space.shows_mail,
            0 if space.renaming is None else len(space.renaming.families),
            self._family_owners(),
            np.array([to for _, to in columns.channels] or [0], np.int64),
            column,
            link,
            channel_link,
            np.array(columns.links or [(0, 0)], np.int64),
        )

    def _family_owners(self) -> np.ndarray[Any, Any]:
        """The index of the node whose numbers each family is, -1 for none."""
        renaming, ids = self._space.renaming, self._space.ids
        owners = [f.owner for f in renaming.families] if renaming is not None else [None]
        return np.array([-1 if owner is None else ids.index(owner) for owner in owners], np.int64)

    def arrays(self) -> Tables:
        """The tables as they are now, for the kernel."""
        return Tables(
            self._lists.lists.slots,
            self._appends.slots,
            self._lists.effects.data,
            self._lists.deltas.data,
            self._lists.sends.data,
            self._up.data,
            self._local_aged.data,
            self._channel_aged.data,
            self._watch_aged.data,
            self._watch_stirs.data,
            self._budget_left.data,
            self._note.data,
            self._strip.data,
            self._sights.data,
            self._memories.slots,
            self._pairs.slots,
            self._local_numbers.data,
            self._local_counts.data,
            self._local_far.data,
            self._channel_numbers.data,
            self._renames.slots,
        )

    @property
    def size(self) -> int:
        """How many lists and appendings are known."""
        return self._lists.lists.size + self._appends.size

    @property
    def bytes(self) -> int:
        """What the tables take."""
        growing = [self._channel_aged, self._strip, self._local_numbers, self._channel_numbers]
        maps = (self._appends, self._memories, self._pairs, self._renames)
        own = sum(g.data.nbytes for g in growing) + sum(m.slots.nbytes for m in maps)
        return self._lists.bytes + own

    def fill(self, missed: np.ndarray[Any, Any]) -> None:
        """Work out what the kernel missed."""
        for kind, a, b, c in {tuple(map(int, entry)) for entry in missed}:
            self._fill_one(kind, a, b, c)
            self.filled += 1
        self.keep_up()

    def fill_memory(self, key: int, row: Row) -> None:
        """Work out what claims remember after this row, which still holds the memory before."""
        space = self._space
        assert space.recall is not None
        if key not in self._memories:
            before = row[space.columns.memory_column]
            self._memories.set(key, space.recall.after(before, space.observations.key(row)))

    def fill_renames(self, mark: int, row: Row) -> None:
        """Work out what the parts of a row become if they are renamed as its mark says."""
        space, renaming = self._space, self._space.renaming
        assert renaming is not None
        needed = renaming.needed(row)
        parts = [(LOCAL_PART, code, renaming.local) for code in row[: space.n]]
        columns = [column for column, _ in space.columns.channels]
        parts += [(CHANNEL_PART, row[column], renaming.channel) for column in columns]
        for kind, code, renamed in parts:
            key = int(rename_key(np.uint64(mark), kind, code))
            if key not in self._renames:
                self._renames.set(key, renamed(code, needed))

    def is_judged(self, key: int) -> bool:
        """Whether a step between two observations has been judged; from now on it has."""
        if key in self._pairs:
            return True
        self._pairs.set(key, 1)
        return False

    def _fill_one(self, kind: int, a: int, b: int, c: int) -> None:
        space = self._space
        if kind in (CHANNEL, SEVERED, NODE, VIEW, LINKS):
            self._lists.fill(kind, a & 0xFFFFFFFFFFFFFFFF)
        elif kind == APPEND:
            code = space.append(a, b)
            key = int(key_of(APPEND, 0, a, b, 0))
            if key not in self._appends:
                self._appends.set(key, int(CUT) if code is None else code)
        elif kind == NOTE:
            noted = space.detectors.note(a, b, up=bool(c))
            self._reserve()
            self._note.data[a, 2 * b + c] = noted
        elif kind == AGE_LOCAL:
            aged = space.locals.code(space.locals.cards[a].value.aged())
            self._reserve()
            self._local_aged.data[a] = aged
        elif kind == AGE_CHANNEL:
            aged = space.channels.code(space.channels.cards[a].aged_value(bool(b)))
            self._reserve()
            self._channel_aged.data[a, b] = aged
        elif kind == AGE_WATCH:
            aged = space.detectors.aged(a)
            self._reserve()
            self._watch_aged.data[a] = aged
        elif kind == FIRST:
            ups = [place for place in range(space.n) if b >> place & 1]
            key = int(wide_key_of(FIRST, a, b))
            if key not in self._appends:
                self._appends.set(key, space.detectors.first(a, ups))
        elif kind == STRIP:
            stripped = space.without_sender(a, space.ids[b])
            self._reserve()
            self._strip.data[a, b] = stripped

    # --- keeping up with the pools ---

    def _reserve(self) -> None:
        space = self._space
        for table in (self._local_aged, self._up, self._sights):
            table.reserve(len(space.locals))
        for table in (self._channel_aged, self._strip):
            table.reserve(len(space.channels))
        for table in (self._watch_aged, self._note):
            table.reserve(len(space.detectors.pool))

    def keep_up(self) -> None:
        """Learn of all parts that were named since."""
        space = self._space
        parts = len(space.locals), len(space.channels), len(space.detectors.pool)
        too_many = max(*parts, len(space.messages)) >= CODES_MAX
        if too_many or len(space.budgets) >= BUDGETS_MAX:
            raise TooLarge(TOO_LARGE)
        self._reserve()
        for code in range(self._budget_left.size, len(space.budgets)):
            left = space.budgets.cards[code]
            kinds = ((left.lies, LIES), (left.recoveries, RECOVERIES), (left.heals, HEALS))
            self._budget_left.append(sum(flag for count, flag in kinds if count))
        for code in range(self._watch_stirs.size, len(space.detectors.pool)):
            self._watch_stirs.append(bool(space.detectors.pool.cards[code].wrong))
        for code in range(self._up.size, len(space.locals)):
            self._up.append(space.locals.cards[code].up)
            self._sights.append(space.observations.sight(code))
        if space.renaming is not None:
            self._keep_up_with_numbers(space.renaming)

    def _keep_up_with_numbers(self, renaming: Renaming) -> None:
        space, counter = self._space, self._space.model.bounds.counter
        for code in range(self._local_counts.size, len(space.locals)):
            self._local_numbers.append(_bits(renaming.of_local(code), len(renaming.families)))
            self._local_counts.append(renaming.can_count(code))
            self._local_far.append(renaming.largest(code) > counter)
        for code in range(self._channel_numbers.size, len(space.channels)):
            masks = renaming.of_channel(code)
            self._channel_numbers.append(_bits(masks, len(renaming.families)))


def _bits(masks: Masks, families: int) -> list[int]:
    """For each family its numbers as bits."""
    known = dict(masks)
    return [known.get(family, 0) for family in range(families)]
