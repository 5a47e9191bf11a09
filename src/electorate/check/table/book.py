"""The tables that the kernel reads, filled from the reference world where the kernel missed one."""

from typing import Any

import numpy as np

from electorate.check.column import ModelError, Row
from electorate.check.progress import LimitReached
from electorate.check.renaming import Masks, Renaming
from electorate.check.table.array import Growing, WordMap
from electorate.check.table.kernel import (
    AGE_CHANNEL,
    AGE_LOCAL,
    AGE_WATCH,
    APPEND,
    BUDGETS_MAX,
    CHANNEL,
    CODE_BITS,
    CODES_MAX,
    CUT,
    FIRST,
    HEALS,
    LIES,
    LINKS,
    NODE,
    NOTE,
    PLACES_MAX,
    RECOVERIES,
    SEVERED,
    STRIP,
    UNKNOWN,
    VIEW,
    Layout,
    Tables,
    key_of,
    wide_key_of,
)
from electorate.check.table.listing import Listing
from electorate.check.table.rename import CHANNEL_PART, LOCAL_PART, rename_key
from electorate.check.world import World
from electorate.claims import Kind
from electorate.trace import Connections, Ties

TOO_LARGE = "more different parts than the tables can name; use --engine python"


class TooLarge(LimitReached):
    """The model has more different parts than the tables can name."""


class Book:
    """All tables of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._listing = Listing(world)
        self._appends = WordMap()
        self._up = Growing((), np.uint8)
        self._local_aged = Growing((), np.int32, UNKNOWN)
        self._channel_aged = Growing((2,), np.int32, UNKNOWN)
        self._watch_aged = Growing((), np.int32, UNKNOWN)
        self._watch_stirs = Growing((), np.uint8)
        self._budget_left = Growing((), np.uint8)
        self._note = Growing((2 * world.n,), np.int32, UNKNOWN)
        self._strip = Growing((world.n,), np.int32, UNKNOWN)
        revives = world.machine.uses_views and world.model.budget.recoveries
        if len(world.channel_columns) > PLACES_MAX or (revives and world.n > 2 * CODE_BITS):
            raise ModelError(TOO_LARGE)
        self._sights = Growing((), np.int32)
        families = () if world.renaming is None else world.renaming.families
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
        world = self.world
        setting = world.model.setting
        column = np.full(world.n * world.n, -1, np.int64)
        link = np.zeros(world.n * world.n, np.int64)
        for (a, b), at in world.column.items():
            column[a * world.n + b] = at
            link[a * world.n + b] = world.link[a, b]
        channel_link = np.zeros(len(world.channel_columns) + 1, np.int64)
        if world.model.has_cuts:
            for (a, b), at in world.column.items():
                channel_link[at - world.n] = world.link[a, b]
        return Layout(
            world.n,
            len(world.channel_columns),
            world.width,
            world.watch_column,
            world.links_column if world.model.has_cuts else -1,
            world.memory_column if world.remembers else -1,
            world.empty,
            world.gone,
            world.detectors.blind,
            world.machine.uses_views,
            world.model.bounded,
            setting.ties is Ties.MESSAGES_FIRST,
            setting.connections is Connections.DIE,
            world.drops_mail,
            world.drops_saved,
            world.model.bounds.blocks,
            world.reduction is not None,
            any(claim.kind is Kind.STEP for claim in world.claims),
            world.shows_mail,
            0 if world.renaming is None else len(world.renaming.families),
            self._family_owners(),
            np.array([to for _, to in world.channel_columns] or [0], np.int64),
            column,
            link,
            channel_link,
            np.array(world.links or [(0, 0)], np.int64),
        )

    def _family_owners(self) -> np.ndarray[Any, Any]:
        """The place of the node whose numbers each family is, -1 for none."""
        renaming, ids = self.world.renaming, self.world.ids
        owners = [f.owner for f in renaming.families] if renaming is not None else [None]
        return np.array([-1 if owner is None else ids.index(owner) for owner in owners], np.int64)

    def tables(self) -> Tables:
        """The tables as they are now."""
        return Tables(
            self._listing.lists.slots,
            self._appends.slots,
            self._listing.effects.data,
            self._listing.deltas.data,
            self._listing.sends.data,
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
        return self._listing.lists.size + self._appends.size

    @property
    def bytes(self) -> int:
        """What the tables take."""
        growing = [self._channel_aged, self._strip, self._local_numbers, self._channel_numbers]
        maps = (self._appends, self._memories, self._pairs, self._renames)
        own = sum(g.data.nbytes for g in growing) + sum(m.slots.nbytes for m in maps)
        return self._listing.bytes + own

    def fill(self, missed: np.ndarray[Any, Any]) -> None:
        """Work out what the kernel missed."""
        for kind, a, b, c in {tuple(map(int, entry)) for entry in missed}:
            self._fill_one(kind, a, b, c)
            self.filled += 1
        self.keep_up()

    def fill_memory(self, key: int, row: Row) -> None:
        """Work out what claims remember after this row, which still holds the memory before."""
        world = self.world
        assert world.recall is not None
        if key not in self._memories:
            memory = world.recall.after(row[world.memory_column], world.observations.key(row))
            self._memories.set(key, memory)

    def fill_renames(self, mark: int, row: Row) -> None:
        """Work out what the parts of a row become if they are renamed as its mark says."""
        world, renaming = self.world, self.world.renaming
        assert renaming is not None
        needed = renaming.needed(row)
        parts = [(LOCAL_PART, code, renaming.local) for code in row[: world.n]]
        columns = [column for column, _ in world.channel_columns]
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
        world = self.world
        if kind in (CHANNEL, SEVERED, NODE, VIEW, LINKS):
            self._listing.fill(kind, a & 0xFFFFFFFFFFFFFFFF)
        elif kind == APPEND:
            code = world.append(a, b)
            key = int(key_of(APPEND, 0, a, b, 0))
            if key not in self._appends:
                self._appends.set(key, int(CUT) if code is None else code)
        elif kind == NOTE:
            noted = world.detectors.note(a, b, up=bool(c))
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
            aged = world.detectors.aged(a)
            self._reserve()
            self._watch_aged.data[a] = aged
        elif kind == FIRST:
            ups = [place for place in range(world.n) if b >> place & 1]
            key = int(wide_key_of(FIRST, a, b))
            if key not in self._appends:
                self._appends.set(key, world.detectors.first(a, ups))
        elif kind == STRIP:
            stripped = world.without_sender(a, world.ids[b])
            self._reserve()
            self._strip.data[a, b] = stripped

    # --- keeping up with the pools ---

    def _reserve(self) -> None:
        world = self.world
        for table in (self._local_aged, self._up, self._sights):
            table.reserve(len(world.locals))
        for table in (self._channel_aged, self._strip):
            table.reserve(len(world.channels))
        for table in (self._watch_aged, self._note):
            table.reserve(len(world.detectors.pool))

    def keep_up(self) -> None:
        """Learn of all parts that were named since."""
        world = self.world
        parts = len(world.locals), len(world.channels), len(world.detectors.pool)
        too_many = max(*parts, len(world.messages)) >= CODES_MAX
        if too_many or len(world.budgets) >= BUDGETS_MAX:
            raise TooLarge(TOO_LARGE)
        self._reserve()
        for code in range(self._budget_left.size, len(world.budgets)):
            left = world.budgets.cards[code]
            kinds = ((left.lies, LIES), (left.recoveries, RECOVERIES), (left.heals, HEALS))
            self._budget_left.append(sum(flag for count, flag in kinds if count))
        for code in range(self._watch_stirs.size, len(world.detectors.pool)):
            self._watch_stirs.append(bool(world.detectors.pool.cards[code].wrong))
        for code in range(self._up.size, len(world.locals)):
            self._up.append(world.locals.cards[code].up)
            self._sights.append(world.observations.sight(code))
        if world.renaming is not None:
            self._keep_up_with_numbers(world.renaming)

    def _keep_up_with_numbers(self, renaming: Renaming) -> None:
        world, counter = self.world, self.world.model.bounds.counter
        for code in range(self._local_counts.size, len(world.locals)):
            self._local_numbers.append(_bits(renaming.of_local(code), len(renaming.families)))
            self._local_counts.append(renaming.can_count(code))
            self._local_far.append(renaming.largest(code) > counter)
        for code in range(self._channel_numbers.size, len(world.channels)):
            masks = renaming.of_channel(code)
            self._channel_numbers.append(_bits(masks, len(renaming.families)))


def _bits(masks: Masks, families: int) -> list[int]:
    """For each family its numbers as bits."""
    known = dict(masks)
    return [known.get(family, 0) for family in range(families)]
