"""Which lists of effects apply to a row."""

from typing import Any

import numpy as np

from electorate.check.compiler import WAITS
from electorate.check.table.kernel import (
    CHANNEL,
    LIES,
    LINKS,
    NODE,
    NOTHING,
    SEVERED,
    UNKNOWN,
    VIEW,
    Layout,
    Notes,
    Tables,
    inlined,
    is_cut,
    key_of,
    look_up,
    miss,
    wide_key_of,
)


@inlined
def list_of(tables: Tables, lists: Any, found: Any, kind: Any, key: Any, notes: Notes) -> Any:
    """Look a list of effects up; its flags, or UNKNOWN."""
    packed = look_up(tables.lists, key)
    lists[found] = packed
    if packed == NOTHING:
        miss(notes, kind, key, 0, 0)
        return np.int64(UNKNOWN)
    return np.int64(packed & np.uint64(0xFF))


@inlined
def start_of(packed: Any) -> Any:
    """Where a list of effects begins."""
    return np.int64(packed >> np.uint64(32))


@inlined
def end_of(packed: Any) -> Any:
    """Where a list of effects has ended."""
    return start_of(packed) + np.int64(packed >> np.uint64(8) & np.uint64(0xFFFFFF))


@inlined
def gather(layout: Layout, tables: Tables, rows: Any, at: Any, lists: Any, notes: Notes) -> Any:
    """The lists of effects that apply to a row: how many, or -1 if one is missing; and flags."""
    n = layout.n
    budget = rows[at, layout.width - 1]
    flags = np.int64(0)
    found = 0
    known = True
    for channel in range(layout.channels):
        code = rows[at, n + channel]
        if code != layout.empty:
            severed = layout.links >= 0 and is_cut(layout, rows, at, layout.channel_link[channel])
            kind = SEVERED if severed else CHANNEL
            key = key_of(kind, channel, code, rows[at, layout.receiver[channel]], budget)
            got = list_of(tables, lists, found, kind, key, notes)
            known &= got != UNKNOWN
            flags |= got
            found += 1
    waits = 1 if flags & WAITS and layout.closed else 0
    for place in range(n):
        key = key_of(NODE, place, rows[at, place], waits, budget)
        got = list_of(tables, lists, found, NODE, key, notes)
        known &= got != UNKNOWN
        flags |= got
        found += 1
        if layout.uses_views and tables.local_up[rows[at, place]]:
            watch = rows[at, layout.watch + place]
            if tables.watch_stirs[watch] or tables.budget_left[budget] & LIES:
                key = key_of(VIEW, place, rows[at, place], watch, budget)
                got = list_of(tables, lists, found, VIEW, key, notes)
                known &= got != UNKNOWN
                flags |= got
                found += 1
    if layout.links >= 0:
        cut = np.uint64(rows[at, layout.links])
        key = wide_key_of(LINKS, 0, cut) | np.uint64(budget)
        known &= list_of(tables, lists, found, LINKS, key, notes) != UNKNOWN
        found += 1
    return (found if known else -1), flags
