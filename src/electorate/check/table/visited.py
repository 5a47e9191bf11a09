"""The states that a search has met: their fingerprints, and the way to each of them.

Only the states met last, those of the next level, are kept with their rows. Of the others there
is a fingerprint in the table of slots, and by number the parent and half of the fingerprint: the
way to a state is found again from those, move by move.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from electorate.check.table.kernel import compiled, inlined

LOAD_MAX = 0.75
GROWTH = 1.5
HALF = 0xFFFFFFFF
NO_PARENT = HALF
NOTHING = np.empty(0, np.int64)

Array = np.ndarray[Any, Any]


class Level:
    """States with their rows, in the order of discovery."""

    def __init__(self, width: int, first: int) -> None:
        self.first = first
        self.size = 0
        self._rows = np.empty((1024, width), np.int32)
        self._marks = np.empty(1024, np.uint64)
        self._sources = np.empty(1024, np.int64)

    @property
    def rows(self) -> Array:
        """The row of each state."""
        return self._rows[: self.size]

    @property
    def marks(self) -> Array:
        """The fingerprint of each state."""
        return self._marks[: self.size]

    @property
    def sources(self) -> Array:
        """The state that each was met from."""
        return self._sources[: self.size]

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return self._rows.nbytes + self._marks.nbytes + self._sources.nbytes

    def growth(self, more: int) -> int:
        """How many bytes more room takes while it is made."""
        needed = self.size + more
        return 0 if needed <= len(self._marks) else self.bytes * 3 // 2

    def reserve(self, more: int) -> None:
        """Make room for more states."""
        needed = self.size + more
        if needed > len(self._marks):
            self._rows = _grown(self._rows, needed)
            self._marks = _grown(self._marks, needed)
            self._sources = _grown(self._sources, needed)

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Rows, fingerprints and sources with all the room there is."""
        return self._rows, self._marks, self._sources


class Trail:
    """By number of a state: the state it was met from, and half of its fingerprint."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._parents: list[Array] = []
        self._halves: list[Array] = []

    def add(self, level: Level) -> None:
        """Take down a level."""
        self._firsts.append(level.first)
        # Minus one, for no parent, becomes the largest number.
        self._parents.append(level.sources.astype(np.uint32))
        self._halves.append(level.marks.astype(np.uint32))

    def of(self, number: int) -> tuple[int, int]:
        """The parent of a state, -1 if a run begins there, and half of its fingerprint."""
        at = bisect_right(self._firsts, number) - 1
        place = number - self._firsts[at]
        parent = int(self._parents[at][place])
        return -1 if parent == NO_PARENT else parent, int(self._halves[at][place])

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return sum(each.nbytes for each in (*self._parents, *self._halves))


class Visited:
    """All states, in as many shares as there are owners. Each share counts its states."""

    def __init__(self, width: int, owners: int, *, numbered: bool = False) -> None:
        self.levels = [Level(width, 0) for _ in range(owners)]
        self.trails = [Trail() for _ in range(owners)]
        self.slots = np.zeros((owners, 4096), np.uint64)
        """The tables of fingerprints, for the kernel to look into."""
        self._width = width
        self._numbers = np.zeros(4096 if numbered else 0, np.int32)

    @property
    def size(self) -> int:
        """How many states there are."""
        return sum(level.first + level.size for level in self.levels)

    @property
    def bytes(self) -> int:
        """What the states take, beyond the rows of the present level."""
        trails = sum(trail.bytes for trail in self.trails)
        return self.slots.nbytes + self._numbers.nbytes + trails

    def next_levels(self) -> list[Level]:
        """The states met last, with their rows; from now on others are met."""
        done, self.levels = self.levels, []
        for trail, level in zip(self.trails, done, strict=True):
            trail.add(level)
            self.levels.append(Level(self._width, level.first + level.size))
        return done

    def room_after(self, more: int) -> int:
        """How many slots each owner needs if one of them meets so many more states."""
        needed = more + max(level.first + level.size for level in self.levels)
        room = self.slots.shape[1]
        while needed > LOAD_MAX * room:
            room = int(room * GROWTH)
        return room

    def growth(self, more: int, room: int) -> int:
        """How many bytes that takes while it is done, with so many slots for each owner."""
        slots = (room > self.slots.shape[1]) * room * len(self.levels) * self.slots.itemsize
        return slots + sum(level.growth(more) for level in self.levels)

    def grow(self, room: int, each_owner: Callable[[Callable[[int], None]], None]) -> None:
        """Give each owner so many slots."""
        slots = np.zeros((len(self.levels), room), np.uint64)
        numbers = np.zeros(room if len(self._numbers) else 0, np.int32)
        each_owner(lambda owner: rehash(self.slots, self._numbers, slots, numbers, owner))
        self.slots, self._numbers = slots, numbers

    def forget_slots(self) -> None:
        """Let go of the tables: nothing more is met."""
        self.slots = np.zeros((len(self.levels), 1), np.uint64)
        self._numbers = self._numbers[:0].copy()

    def take_in(
        self, owner: int, rows: Array, marks: Array, sources: Array, places: Array = NOTHING
    ) -> None:
        """Insert candidates, for whom there is room; those that are known are dropped."""
        level = self.levels[owner]
        level.reserve(len(marks))
        level.size = take_in(
            self.slots,
            owner,
            self._numbers,
            *level.arrays,
            level.size,
            level.first,
            rows,
            marks,
            sources,
            places,
        )


def _grown(array: Array, size: int) -> Array:
    """The array with room for at least `size` entries."""
    grown = np.empty((max(size, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


# --- the slots: open addressing, any size, 0 for an empty slot ---
# All owners of states have tables of the same size, one row of an array each.


@inlined
def first_slot(slots: Any, mark: Any) -> Any:
    """Where to look for a fingerprint first; the upper half of it decides (below 2^32 slots)."""
    return ((mark >> np.uint64(32)) * np.uint64(slots.shape[1])) >> np.uint64(32)


@inlined
def slot_of(slots: Any, owner: Any, mark: Any) -> Any:
    """The slot that holds a fingerprint, or the empty one where it belongs."""
    slot = first_slot(slots, mark)
    while slots[owner, slot] != mark and slots[owner, slot] != np.uint64(0):
        slot += np.uint64(1)
        if slot == np.uint64(slots.shape[1]):
            slot = np.uint64(0)
    return slot


@inlined
def is_seen(slots: Any, owner: Any, mark: Any) -> Any:
    """Whether a fingerprint is in a table."""
    return slots[owner, slot_of(slots, owner, mark)] == mark


@compiled
def take_in(
    slots: Any,
    owner: Any,
    slot_numbers: Any,
    kept_rows: Any,
    kept_marks: Any,
    kept_sources: Any,
    kept: Any,
    first: Any,
    rows: Any,
    marks: Any,
    sources: Any,
    places: Any,
) -> Any:
    """Insert what one owner was offered; how many are kept afterwards.

    The first one that is kept has the number `first`. `places`, if it has room, gets the number
    of the state that each offer turned out to be.
    """
    numbered = slot_numbers.shape[0] > 0
    for k in range(marks.shape[0]):
        slot = slot_of(slots, owner, marks[k])
        if slots[owner, slot] == np.uint64(0):
            slots[owner, slot] = marks[k]
            kept_marks[kept] = marks[k]
            kept_sources[kept] = sources[k]
            for column in range(rows.shape[1]):
                kept_rows[kept, column] = rows[k, column]
            if numbered:
                slot_numbers[slot] = first + kept
            kept += 1
        if places.shape[0] > 0:
            places[k] = slot_numbers[slot]
    return kept


@compiled
def rehash(old: Any, old_numbers: Any, new: Any, new_numbers: Any, owner: Any) -> None:
    """Move one owner's table of fingerprints into a larger one."""
    for place in range(old.shape[1]):
        mark = old[owner, place]
        if mark != np.uint64(0):
            slot = slot_of(new, owner, mark)
            new[owner, slot] = mark
            if new_numbers.shape[0] > 0:
                new_numbers[slot] = old_numbers[place]


intrinsic: Any = extending.intrinsic
get_function: Any = cgutils.get_or_insert_function


@intrinsic
def prefetch(_: Any, array: Any, index: Any) -> Any:
    """Have `array[index]` fetched; nothing depends on it but time."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        order = get_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(order, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate
