"""The compiled search step: expand rows into candidates, and take new ones in."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from electorate.check.table.kernel import (
    BLOCKS,
    CHANNEL,
    CUTS,
    FACTS,
    NODE,
    NOTHING,
    UNKNOWN,
    VIEW,
    WAITS,
    Layout,
    Notes,
    Tables,
    apply,
    fingerprint,
    is_seen,
    key_of,
    look_up,
    miss,
    tick,
    word,
)

MISSES_PER_ROW = 256
"""So many misses of one row are noted at the most; the rest is found when it is done again."""

SUCCESSORS = 64
"""So many successors of a row are worked out before any is looked up: the look-ups overlap."""

DONE, MISSING, FULL = 0, 1, 2

TRANSITIONS, SEEN_FACTS, FIRST_CUT = 0, 1, 2
"""What a tally counts: moves, facts seen, and cuts of three kinds."""


class Sink(NamedTuple):
    """Where successors go: one buffer for each owner of states."""

    rows: Any
    marks: Any
    sources: Any
    ticks: Any
    filled: Any


class Origin(NamedTuple):
    """Where successors come from, and which of them are wanted."""

    rows: Any
    marks: Any
    numbers: Any
    slots: Any
    owners: int
    keep_all: bool


@njit(cache=True, forceinline=True)
def list_of(tables: Tables, lists: Any, found: Any, kind: Any, key: Any, notes: Notes) -> Any:
    """Look a list of effects up; its flags, or UNKNOWN."""
    packed = look_up(tables.lists, key)
    lists[found] = packed
    if packed == NOTHING:
        miss(notes, kind, key, 0, 0)
        return np.int64(UNKNOWN)
    return np.int64(packed & np.uint64(0xFF))


@njit(cache=True, forceinline=True)
def gather(layout: Layout, tables: Tables, row: Any, lists: Any, notes: Notes) -> Any:
    """The lists of effects that apply to a row: how many, or -1 if one is missing; and flags."""
    n = layout.n
    budget = row[layout.width - 1]
    flags = np.int64(0)
    found = 0
    known = True
    for channel in range(layout.channels):
        code = row[n + channel]
        if code != layout.empty:
            key = key_of(CHANNEL, channel, code, row[layout.receiver[channel]], budget)
            got = list_of(tables, lists, found, CHANNEL, key, notes)
            known &= got != UNKNOWN
            flags |= got
            found += 1
    waits = 1 if flags & WAITS and layout.closed else 0
    for place in range(n):
        key = key_of(NODE, place, row[place], waits, budget)
        got = list_of(tables, lists, found, NODE, key, notes)
        known &= got != UNKNOWN
        flags |= got
        found += 1
        if layout.uses_views and tables.local_up[row[place]]:
            watch = row[layout.watch + place]
            if tables.watch_stirs[watch] or tables.budget_lies[budget]:
                key = key_of(VIEW, place, row[place], watch, budget)
                got = list_of(tables, lists, found, VIEW, key, notes)
                known &= got != UNKNOWN
                flags |= got
                found += 1
    return (found if known else -1), flags


class Scratch(NamedTuple):
    """The successors of one row, before they are offered."""

    rows: Any
    marks: Any
    ticks: Any
    lists: Any
    tally: Any


@njit(cache=True, forceinline=True)
def remember(origin: Origin, at: Any, scratch: Scratch, count: Any, ticked: Any) -> None:
    """Work out the fingerprint of a successor from that of its row."""
    mark = origin.marks[at]
    for column in range(scratch.rows.shape[1]):
        old, new = origin.rows[at, column], scratch.rows[count, column]
        if old != new:
            mark ^= word(column, old) ^ word(column, new)
    scratch.marks[count] = mark
    scratch.ticks[count] = ticked


@njit(cache=True, forceinline=True)
def offer(origin: Origin, at: Any, scratch: Scratch, count: Any, sink: Sink) -> Any:
    """Hand successors to their owners, unless they are known; says whether there was room."""
    for k in range(count):
        mark = scratch.marks[k]
        owner = np.int64(mark >> np.uint64(60)) % origin.owners
        if not origin.keep_all and is_seen(origin.slots[owner], mark):
            continue
        place = sink.filled[owner]
        if place >= sink.marks.shape[1]:
            return False
        for column in range(scratch.rows.shape[1]):
            sink.rows[owner, place, column] = scratch.rows[k, column]
        sink.marks[owner, place] = mark
        sink.sources[owner, place] = origin.numbers[at]
        sink.ticks[owner, place] = scratch.ticks[k]
        sink.filled[owner] = place + 1
    return True


@njit(cache=True, forceinline=True)
def expand_row(
    layout: Layout,
    tables: Tables,
    origin: Origin,
    at: Any,
    scratch: Scratch,
    sink: Sink,
    notes: Notes,
) -> Any:
    """Offer every successor of one row; DONE, MISSING something, or the sink is FULL."""
    row = origin.rows[at]
    lists, tally = scratch.lists, scratch.tally
    found, flags = gather(layout, tables, row, lists, notes)
    if found < 0:
        return MISSING
    status = DONE
    count = 0
    for k in range(found):
        start = np.int64(lists[k] >> np.uint64(32))
        for e in range(start, start + np.int64(lists[k] >> np.uint64(8) & np.uint64(0xFFFFFF))):
            if tables.effects[e, CUTS] >= 0:
                tally[FIRST_CUT + tables.effects[e, CUTS]] += 1
                continue
            done = apply(layout, tables, e, row, scratch.rows[count], notes)
            if done < 0:
                status = MISSING
            elif done == 0:
                tally[FIRST_CUT + 2] += 1
            else:
                tally[TRANSITIONS] += 1
                tally[SEEN_FACTS] |= tables.effects[e, FACTS]
                remember(origin, at, scratch, count, 0)
                count += 1
                if count == scratch.marks.shape[0]:
                    if not offer(origin, at, scratch, count, sink):
                        return FULL
                    count = 0
    if layout.bounded and not flags & BLOCKS:
        if not tick(layout, tables, row, scratch.rows[count], notes):
            return MISSING
        tally[TRANSITIONS] += 1
        remember(origin, at, scratch, count, 1)
        count += 1
    return status if offer(origin, at, scratch, count, sink) else FULL


@njit(cache=True, nogil=True)
def expand(
    layout: Layout,
    tables: Tables,
    origin: Origin,
    todo: Any,
    sink: Sink,
    notes: Notes,
    redo: Any,
    totals: Any,
    was_cut: Any,
) -> Any:
    """Expand the rows `todo`; how many were looked at, and how many of those are to be redone."""
    scratch = Scratch(
        np.empty((SUCCESSORS, layout.width), np.int32),
        np.empty(SUCCESSORS, np.uint64),
        np.empty(SUCCESSORS, np.uint8),
        np.empty(layout.channels + 2 * layout.n, np.uint64),
        np.zeros(totals.shape[0], np.int64),
    )
    tally = scratch.tally
    before = np.empty(origin.owners, np.int64)
    again = 0
    for position in range(todo.shape[0]):
        if notes.count[0] + MISSES_PER_ROW > notes.missed.shape[0]:
            return position, again
        at = todo[position]
        before[:] = sink.filled
        tally[:] = 0
        status = expand_row(layout, tables, origin, at, scratch, sink, notes)
        if status == DONE:
            facts = totals[SEEN_FACTS] | tally[SEEN_FACTS]
            totals += tally
            totals[SEEN_FACTS] = facts
            was_cut[at] = tally[FIRST_CUT] + tally[FIRST_CUT + 1] + tally[FIRST_CUT + 2] > 0
            continue
        sink.filled[:] = before
        if status == FULL:
            return position, again
        redo[again] = at
        again += 1
    return todo.shape[0], again


@njit(cache=True, nogil=True)
def take_in(
    slots: Any,
    slot_numbers: Any,
    marks: Any,
    parents: Any,
    kept: Any,
    size: Any,
    kept_from: Any,
    rows: Any,
    row_marks: Any,
    sources: Any,
    places: Any,
) -> Any:
    """Insert what one owner was offered; how many states it has afterwards.

    `places`, if it has room, gets the number of the state that each offer turned out to be.
    """
    mask = np.uint64(slots.shape[0] - 1)
    numbered = slot_numbers.shape[0] > 0
    for k in range(row_marks.shape[0]):
        mark = row_marks[k]
        slot = mark & mask
        while slots[slot] != np.uint64(0) and slots[slot] != mark:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == np.uint64(0):
            slots[slot] = mark
            marks[size] = mark
            parents[size] = sources[k]
            kept[size - kept_from, :] = rows[k]
            if numbered:
                slot_numbers[slot] = size
            size += 1
        if places.shape[0] > 0:
            places[k] = slot_numbers[slot]
    return size


@njit(cache=True)
def fingerprints(rows: Any) -> Any:
    """The fingerprint of each row."""
    marks = np.empty(rows.shape[0], np.uint64)
    for place in range(rows.shape[0]):
        marks[place] = fingerprint(rows[place])
    return marks


@njit(cache=True)
def rehash(old: Any, old_numbers: Any, new: Any, new_numbers: Any) -> None:
    """Move a table of fingerprints into a larger one."""
    mask = np.uint64(new.shape[0] - 1)
    for place in range(old.shape[0]):
        mark = old[place]
        if mark == np.uint64(0):
            continue
        slot = mark & mask
        while new[slot] != np.uint64(0):
            slot = (slot + np.uint64(1)) & mask
        new[slot] = mark
        if new_numbers.shape[0] > 0:
            new_numbers[slot] = old_numbers[place]
