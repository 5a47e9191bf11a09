"""The compiled renaming of numbers, as check/renaming.py does it."""

from typing import Any

import numpy as np

from electorate.check.table.kernel import (
    NOTHING,
    RENAME,
    Layout,
    Notes,
    Tables,
    compiled,
    inlined,
    look_up,
    miss,
    mix,
    word,
)

DONE, TOO_FAR, MISSED = 1, 2, -1

LOCAL_PART, CHANNEL_PART = 0, 1


@inlined
def numbers_of(layout: Layout, tables: Tables, rows: Any, at: Any, family: Any) -> Any:
    """All numbers of a family in a row, as bits."""
    mask = np.uint64(0)
    for place in range(layout.n):
        mask |= tables.local_numbers[rows[at, place], family]
    for channel in range(layout.channels):
        mask |= tables.channel_numbers[rows[at, layout.n + channel], family]
    return mask


@inlined
def is_above(one: Any, other: Any) -> Any:
    """Whether the largest of some numbers is above the largest of others."""
    return one > other and (one ^ other) > other


@inlined
def is_due(layout: Layout, tables: Tables, rows: Any, at: Any, family: Any, mask: Any) -> Any:
    """Whether a family is to be renamed in a row."""
    owner = layout.family_owner[family]
    if owner < 0:
        return mask != np.uint64(0) and mask & np.uint64(1) == np.uint64(0)
    if mask & (mask + np.uint64(1)) == np.uint64(0):
        return False
    local = rows[at, owner]
    if not tables.local_counts[local]:
        return True
    return not is_above(mask, tables.local_numbers[local, family])


@inlined
def mark_of(layout: Layout, tables: Tables, rows: Any, at: Any) -> Any:
    """One word for what is to be renamed in a row, 0 for nothing."""
    total = np.uint64(0)
    for family in range(layout.families):
        mask = numbers_of(layout, tables, rows, at, family)
        if is_due(layout, tables, rows, at, family, mask):
            total ^= word(family, mix(mask))
    return total


@compiled
def rename_key(mark: Any, kind: Any, code: Any) -> Any:
    """The key of a part that is renamed so."""
    return mix(mark ^ word(kind, code))


@inlined
def has_numbers(numbers: Any, code: Any) -> Any:
    """Whether there is anything to rename in a part."""
    found = np.uint64(0)
    for family in range(numbers.shape[1]):
        found |= numbers[code, family]
    return found != np.uint64(0)


@inlined
def renamed(tables: Tables, numbers: Any, mark: Any, kind: Any, code: Any) -> Any:
    """The part with its new numbers, or NOTHING if that is not known."""
    if not has_numbers(numbers, code):
        return np.uint64(code)
    return look_up(tables.renames, mix(mark ^ word(kind, code)))


@compiled
def rename(layout: Layout, tables: Tables, rows: Any, at: Any, notes: Notes) -> Any:
    """Rename the numbers in a row; if something is MISSED, the row stays as it is."""
    mark = mark_of(layout, tables, rows, at)
    if mark != np.uint64(0):
        for column in range(layout.n + layout.channels):
            is_node = column < layout.n
            numbers = tables.local_numbers if is_node else tables.channel_numbers
            kind = LOCAL_PART if is_node else CHANNEL_PART
            if renamed(tables, numbers, mark, kind, rows[at, column]) == NOTHING:
                place = miss(notes, RENAME, mark, 0, 0)
                if place >= 0:
                    for each in range(layout.width):
                        notes.rows[place, each] = rows[at, each]
                return MISSED
        for column in range(layout.n + layout.channels):
            is_node = column < layout.n
            numbers = tables.local_numbers if is_node else tables.channel_numbers
            kind = LOCAL_PART if is_node else CHANNEL_PART
            rows[at, column] = np.int32(renamed(tables, numbers, mark, kind, rows[at, column]))
    for place in range(layout.n):
        if tables.local_far[rows[at, place]]:
            return TOO_FAR
    return DONE


@compiled
def rename_all(layout: Layout, tables: Tables, rows: Any, first: Any, notes: Notes) -> Any:
    """Rename the numbers in all rows from `first` on; the row at which something was missed."""
    for at in range(first, rows.shape[0]):
        if rename(layout, tables, rows, at, notes) == MISSED:
            return at
    return rows.shape[0]
