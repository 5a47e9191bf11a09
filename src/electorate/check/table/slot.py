"""Compiled tables of fingerprints: open addressing, any size, 0 for an empty slot.

All owners of states have tables of the same size, one row of an array each.
"""

from typing import Any

import numpy as np

from electorate.check.table.kernel import compiled, inlined


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
