"""The compiled inner loop: successors of many rows at once, by look-ups alone.

Everything that a protocol or the model decides stands in tables (check/table/book.py). A look-up
that misses is noted and its row is done again later; a row counts only when nothing was missed.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
"""No key, and no value."""
UNKNOWN = -1
CUT = np.uint64(1 << 32)
"""In place of a channel: it has no room."""

CHANNEL, NODE, VIEW, APPEND, NOTE, AGE_LOCAL, AGE_CHANNEL, AGE_WATCH, FIRST, STRIP = range(10)

BLOCKS, WAITS = 1, 2
"""Flags of a list: time must wait for it; timers must wait for it."""


class Layout(NamedTuple):
    """What never changes during a search."""

    n: int
    channels: int
    width: int
    watch: int
    empty: int
    blind: int
    uses_views: bool
    bounded: bool
    closed: bool
    dies: bool
    receiver: Any
    """For each channel, the place of its receiver."""
    column: Any
    """The column of the channel from a to b, at a * n + b."""


class Tables(NamedTuple):
    """All tables, as arrays; replaced as a whole when one of them grows."""

    lists: Any
    """A hash table: for a key the packed place, length and flags of a list of effects."""
    appends: Any
    """A hash table: for a channel and messages the channel with them, or CUT."""
    effects: Any
    sends: Any
    local_up: Any
    local_aged: Any
    channel_aged: Any
    watch_aged: Any
    watch_stirs: Any
    """Whether a detector has anything to correct."""
    budget_lies: Any
    note: Any
    first: Any
    strip: Any


class Notes(NamedTuple):
    """Look-ups that failed, and how many there are."""

    missed: Any
    count: Any


# Columns of the effect table.
COLUMN, CODE, PLACE, LOCAL, SEND_FROM, SEND_TO, DOWN, BUDGET, REVIVES, FACTS, CUTS = range(11)
EFFECT_WIDTH = 11


@njit(cache=True, forceinline=True)
def mix(value: Any) -> Any:
    """Scatter the bits of a word (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, forceinline=True)
def word(column: Any, code: Any) -> Any:
    """What one column contributes to a row's fingerprint."""
    key = np.uint64(column + 1) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(code)
    return mix(key + np.uint64(0xD1B54A32D192ED03))


@njit(cache=True)
def fingerprint(row: Any) -> Any:
    """The fingerprint of a row. (That of one in 2^64 is 0, which stands for an empty slot.)"""
    total = np.uint64(0)
    for column in range(row.shape[0]):
        total ^= word(column, row[column])
    return total


@njit(cache=True, forceinline=True)
def look_up(slots: Any, key: Any) -> Any:
    """The word under a key in an open-addressing table, or NOTHING."""
    mask = np.uint64(slots.shape[0] - 1)
    slot = mix(key) & mask
    while True:
        found = slots[slot, 0]
        if found == key:
            return slots[slot, 1]
        if found == NOTHING:
            return NOTHING
        slot = (slot + np.uint64(1)) & mask


@njit(cache=True, forceinline=True)
def key_of(kind: Any, where: Any, first: Any, second: Any, budget: Any) -> Any:
    """Four numbers in one word: 4 bits of kind, 8 of place, 20, 20 and 12 of codes."""
    return (
        (np.uint64(kind) << np.uint64(60))
        | (np.uint64(where) << np.uint64(52))
        | (np.uint64(first) << np.uint64(32))
        | (np.uint64(second) << np.uint64(12))
        | np.uint64(budget)
    )


@njit(cache=True, forceinline=True)
def is_seen(slots: Any, mark: Any) -> Any:
    """Whether a fingerprint is in a table of fingerprints."""
    mask = np.uint64(slots.shape[0] - 1)
    slot = mark & mask
    while True:
        found = slots[slot]
        if found == mark:
            return True
        if found == np.uint64(0):
            return False
        slot = (slot + np.uint64(1)) & mask


@njit(cache=True, forceinline=True)
def miss(notes: Notes, kind: Any, first: Any, second: Any, third: Any) -> None:
    """Note a look-up that failed, while there is room for it."""
    at = notes.count[0]
    if at < notes.missed.shape[0]:
        notes.missed[at, 0] = kind
        notes.missed[at, 1] = np.int64(first)
        notes.missed[at, 2] = second
        notes.missed[at, 3] = third
        notes.count[0] = at + 1


@njit(cache=True, forceinline=True)
def fall(layout: Layout, tables: Tables, row: Any, place: Any, down: Any, notes: Notes) -> Any:
    """Let a node crash in this row; says whether everything about it was known."""
    n = layout.n
    row[place] = down
    known = True
    if layout.uses_views:
        row[layout.watch + place] = layout.blind
        for other in range(n):
            if other != place and tables.local_up[row[other]]:
                watch = row[layout.watch + other]
                noted = tables.note[watch, 2 * place]
                if noted == UNKNOWN:
                    miss(notes, NOTE, watch, place, 0)
                    known = False
                row[layout.watch + other] = noted
    if layout.dies:
        for channel in range(layout.channels):
            if layout.receiver[channel] == place:
                row[n + channel] = layout.empty
    return known


@njit(cache=True, forceinline=True)
def revive(layout: Layout, tables: Tables, row: Any, place: Any, notes: Notes) -> Any:
    """Prepare a row for the boot of a node; says whether everything about it was known."""
    n = layout.n
    known = True
    if layout.dies:
        for other in range(n):
            if other != place:
                column = layout.column[place * n + other]
                stripped = tables.strip[row[column], place]
                if stripped == UNKNOWN:
                    miss(notes, STRIP, row[column], place, 0)
                    known = False
                row[column] = stripped
    if layout.uses_views:
        mask = 1 << place
        for other in range(n):
            if other != place and tables.local_up[row[other]]:
                mask |= 1 << other
                watch = row[layout.watch + other]
                noted = tables.note[watch, 2 * place + 1]
                if noted == UNKNOWN:
                    miss(notes, NOTE, watch, place, 1)
                    known = False
                row[layout.watch + other] = noted
        first = tables.first[mask]
        if first == UNKNOWN:
            miss(notes, FIRST, mask, 0, 0)
            known = False
        row[layout.watch + place] = first
    return known


@njit(cache=True, forceinline=True)
def apply(layout: Layout, tables: Tables, e: Any, row: Any, target: Any, notes: Notes) -> Any:
    """Carry out an effect. 1: done, 0: a bound cuts it, -1: something was missed."""
    effects = tables.effects
    for c in range(layout.width):
        target[c] = row[c]
    place = effects[e, PLACE]
    n = layout.n
    known = True
    if effects[e, REVIVES]:
        known = revive(layout, tables, target, place, notes)
        if not known:
            return -1
    if effects[e, COLUMN] >= 0:
        target[effects[e, COLUMN]] = effects[e, CODE]
    for k in range(effects[e, SEND_FROM], effects[e, SEND_TO]):
        to = tables.sends[k, 0]
        if layout.dies and not tables.local_up[row[to]]:
            continue
        column = layout.column[place * n + to]
        items = tables.sends[k, 1]
        key = key_of(APPEND, 0, target[column], items, 0)
        code = look_up(tables.appends, key)
        if code == NOTHING:
            miss(notes, APPEND, target[column], items, 0)
            known = False
        elif code == CUT:
            return 0
        else:
            target[column] = np.int32(code)
    if not known:
        return -1
    if effects[e, LOCAL] >= 0:
        target[place] = effects[e, LOCAL]
    if effects[e, DOWN] >= 0 and not fall(layout, tables, target, place, effects[e, DOWN], notes):
        return -1
    target[layout.width - 1] = effects[e, BUDGET]
    return 1


@njit(cache=True, forceinline=True)
def tick(layout: Layout, tables: Tables, row: Any, target: Any, notes: Notes) -> Any:
    """Let a tick pass; says whether everything about it was known."""
    n = layout.n
    known = True
    for c in range(layout.width):
        target[c] = row[c]
    for place in range(n):
        aged = tables.local_aged[row[place]]
        if aged == UNKNOWN:
            miss(notes, AGE_LOCAL, row[place], 0, 0)
            known = False
        target[place] = aged
        if layout.uses_views:
            watch = row[layout.watch + place]
            aged = tables.watch_aged[watch]
            if aged == UNKNOWN:
                miss(notes, AGE_WATCH, watch, 0, 0)
                known = False
            target[layout.watch + place] = aged
    for channel in range(layout.channels):
        code = row[n + channel]
        if code != layout.empty:
            up = 1 if tables.local_up[row[layout.receiver[channel]]] else 0
            aged = tables.channel_aged[code, up]
            if aged == UNKNOWN:
                miss(notes, AGE_CHANNEL, code, up, 0)
                known = False
            target[n + channel] = aged
    return known
