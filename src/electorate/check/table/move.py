"""The compiled moves: what effects, crashes, recoveries and time make of a row."""

from typing import Any

import numpy as np

from electorate.check.table.kernel import (
    AGE_CHANNEL,
    AGE_LOCAL,
    AGE_WATCH,
    APPEND,
    BUDGET,
    CODE,
    COLUMN,
    CUT,
    DOWN,
    FIRST,
    HEALS,
    LINK,
    LOCAL,
    NOTE,
    NOTHING,
    PLACE,
    RECOVERIES,
    REVIVES,
    SEND_FROM,
    SEND_TO,
    STRIP,
    UNKNOWN,
    Layout,
    Notes,
    Tables,
    compiled,
    inlined,
    is_cut,
    key_of,
    look_up,
    miss,
    wide_key_of,
    word,
)


@inlined
def reaches(layout: Layout, rows: Any, at: Any, one: Any, other: Any) -> Any:
    """Whether two nodes are linked now."""
    pair = one * layout.n + other
    return layout.column[pair] >= 0 and not is_cut(layout, rows, at, layout.link[pair])


@inlined
def tell(
    layout: Layout,
    tables: Tables,
    rows: Any,
    at: Any,
    watcher: Any,
    target: Any,
    up: Any,
    notes: Notes,
) -> Any:
    """Let a detector be right or wrong about a change; says whether that was known."""
    watch = rows[at, layout.watch + watcher]
    noted = tables.note[watch, 2 * target + up]
    rows[at, layout.watch + watcher] = noted
    if noted == UNKNOWN:
        miss(notes, NOTE, watch, target, up)
        return False
    return True


@inlined
def fall(
    layout: Layout, tables: Tables, rows: Any, at: Any, place: Any, down: Any, notes: Notes
) -> Any:
    """Let a node crash in this row; says whether everything about it was known."""
    n = layout.n
    rows[at, place] = down
    known = True
    if layout.uses_views:
        rows[at, layout.watch + place] = layout.blind
        for other in range(n):
            up = other != place and tables.local_up[rows[at, other]]
            if up and reaches(layout, rows, at, place, other):
                known &= tell(layout, tables, rows, at, other, place, 0, notes)
    if layout.dies:
        for channel in range(layout.channels):
            if layout.receiver[channel] == place:
                rows[at, n + channel] = layout.empty
    return known


@inlined
def revive(layout: Layout, tables: Tables, rows: Any, at: Any, place: Any, notes: Notes) -> Any:
    """Prepare a row for the boot of a node; says whether everything about it was known."""
    n = layout.n
    known = True
    if layout.dies:
        for other in range(n):
            column = layout.column[place * n + other]
            if other != place and column >= 0:
                stripped = tables.strip[rows[at, column], place]
                if stripped == UNKNOWN:
                    miss(notes, STRIP, rows[at, column], place, 0)
                    known = False
                rows[at, column] = stripped
    if layout.uses_views:
        mask = np.uint64(1) << np.uint64(place)
        for other in range(n):
            up = other != place and tables.local_up[rows[at, other]]
            if up and reaches(layout, rows, at, place, other):
                mask |= np.uint64(1) << np.uint64(other)
                known &= tell(layout, tables, rows, at, other, place, 1, notes)
        first = look_up(tables.appends, wide_key_of(FIRST, place, mask))
        if first == NOTHING:
            miss(notes, FIRST, place, np.int64(mask), 0)
            return False
        rows[at, layout.watch + place] = np.int32(first)
    return known


@inlined
def relink(layout: Layout, tables: Tables, rows: Any, at: Any, change: Any, notes: Notes) -> Any:
    """Cut or heal a link in this row; says whether everything about it was known."""
    n, link, up = layout.n, change >> 1, change & 1
    one, other = layout.ends[link, 0], layout.ends[link, 1]
    rows[at, layout.links] ^= np.int32(1) << np.int32(link)
    known = True
    if layout.uses_views and tables.local_up[rows[at, one]] and tables.local_up[rows[at, other]]:
        known &= tell(layout, tables, rows, at, one, other, up, notes)
        known &= tell(layout, tables, rows, at, other, one, up, notes)
    if layout.dies and not up:
        rows[at, layout.column[one * n + other]] = layout.empty
        rows[at, layout.column[other * n + one]] = layout.empty
    return known


@inlined
def forget_lost(
    layout: Layout, tables: Tables, rows: Any, at: Any, budget: Any, boots: Any
) -> None:
    """Drop what can never matter again, as `StateSpace.drop_lost` does."""
    n, left = layout.n, tables.budget_left[budget]
    lost = not left & RECOVERIES
    if layout.drops_mail and (lost or (layout.links >= 0 and not left & HEALS)):
        for channel in range(layout.channels):
            to = layout.receiver[channel]
            gone = lost and to != boots and not tables.local_up[rows[at, to]]
            if not gone and not left & HEALS:
                gone = is_cut(layout, rows, at, layout.channel_link[channel])
            if gone:
                rows[at, n + channel] = layout.empty
    if layout.drops_saved and lost:
        for place in range(n):
            if place != boots and not tables.local_up[rows[at, place]]:
                rows[at, place] = layout.gone


@inlined
def receiving(
    layout: Layout, tables: Tables, rows: Any, at: Any, place: Any, to: Any, budget: Any
) -> Any:
    """The column that a message goes to, or -1 if it is lost at once."""
    pair = place * layout.n + to
    column = layout.column[pair]
    if column < 0 or is_cut(layout, rows, at, layout.link[pair]):
        return np.int64(-1)
    if not tables.local_up[rows[at, to]]:
        lost = layout.drops_mail and not tables.budget_left[budget] & RECOVERIES
        if layout.dies or lost:
            return np.int64(-1)
    return column


@inlined
def outgoing(layout: Layout, tables: Tables, e: Any, rows: Any, at: Any, notes: Notes) -> Any:
    """What an effect's messages change of the fingerprint; and 1: done, 0: cut, -1: missed."""
    delta = np.uint64(0)
    status = 1
    place, budget = tables.effects[e, PLACE], tables.effects[e, BUDGET]
    for k in range(tables.effects[e, SEND_FROM], tables.effects[e, SEND_TO]):
        column = receiving(layout, tables, rows, at, place, tables.sends[k, 0], budget)
        if column < 0:
            continue
        items, old = tables.sends[k, 1], rows[at, column]
        code = look_up(tables.appends, key_of(APPEND, 0, old, items, 0))
        if code == NOTHING:
            miss(notes, APPEND, old, items, 0)
            status = -1
        elif code == CUT:
            return np.uint64(0), 0
        else:
            delta ^= word(column, old) ^ word(column, code)
    return delta, status


@inlined
def send(layout: Layout, tables: Tables, e: Any, rows: Any, at: Any, notes: Notes) -> Any:
    """Put an effect's messages on their channels. 1: done, 0: cut, -1: missed."""
    status = 1
    place, budget = tables.effects[e, PLACE], tables.effects[e, BUDGET]
    for k in range(tables.effects[e, SEND_FROM], tables.effects[e, SEND_TO]):
        column = receiving(layout, tables, rows, at, place, tables.sends[k, 0], budget)
        if column < 0:
            continue
        items, old = tables.sends[k, 1], rows[at, column]
        code = look_up(tables.appends, key_of(APPEND, 0, old, items, 0))
        if code == NOTHING:
            miss(notes, APPEND, old, items, 0)
            status = -1
        elif code == CUT:
            return 0
        else:
            rows[at, column] = np.int32(code)
    return status


@compiled
def apply(
    layout: Layout, tables: Tables, e: Any, rows: Any, at: Any, targets: Any, to: Any, notes: Notes
) -> Any:
    """Carry out an effect. 1: done, 0: a bound cuts it, -1: something was missed."""
    effects = tables.effects
    for c in range(layout.width):
        targets[to, c] = rows[at, c]
    place = effects[e, PLACE]
    budget = effects[e, BUDGET]
    if effects[e, REVIVES]:
        if not revive(layout, tables, targets, to, place, notes):
            return -1
        forget_lost(layout, tables, targets, to, budget, place)
    if effects[e, COLUMN] >= 0:
        targets[to, effects[e, COLUMN]] = effects[e, CODE]
    status = send(layout, tables, e, targets, to, notes)
    if status != 1:
        return status
    if effects[e, LOCAL] >= 0:
        targets[to, place] = effects[e, LOCAL]
    down, link = effects[e, DOWN], effects[e, LINK]
    if down >= 0 and not fall(layout, tables, targets, to, place, down, notes):
        return -1
    if link >= 0 and not relink(layout, tables, targets, to, link, notes):
        return -1
    targets[to, layout.width - 1] = budget
    if down >= 0 or link >= 0:
        forget_lost(layout, tables, targets, to, budget, -1)
    return 1


@inlined
def write_down(
    layout: Layout, tables: Tables, e: Any, rows: Any, at: Any, targets: Any, to: Any, notes: Notes
) -> None:
    """Carry out a simple effect of which everything is known."""
    for column in range(layout.width):
        targets[to, column] = rows[at, column]
    if tables.effects[e, COLUMN] >= 0:
        targets[to, tables.effects[e, COLUMN]] = tables.effects[e, CODE]
    send(layout, tables, e, targets, to, notes)
    if tables.effects[e, LOCAL] >= 0:
        targets[to, tables.effects[e, PLACE]] = tables.effects[e, LOCAL]
    targets[to, layout.width - 1] = tables.effects[e, BUDGET]


@compiled
def tick(
    layout: Layout, tables: Tables, rows: Any, at: Any, targets: Any, to: Any, notes: Notes
) -> Any:
    """Let a tick pass; says whether everything about it was known."""
    n = layout.n
    known = True
    for c in range(layout.width):
        targets[to, c] = rows[at, c]
    for place in range(n):
        aged = tables.local_aged[rows[at, place]]
        if aged == UNKNOWN:
            miss(notes, AGE_LOCAL, rows[at, place], 0, 0)
            known = False
        targets[to, place] = aged
        if layout.uses_views:
            watch = rows[at, layout.watch + place]
            aged = tables.watch_aged[watch]
            if aged == UNKNOWN:
                miss(notes, AGE_WATCH, watch, 0, 0)
                known = False
            targets[to, layout.watch + place] = aged
    for channel in range(layout.channels):
        code = rows[at, n + channel]
        if code != layout.empty:
            there = tables.local_up[rows[at, layout.receiver[channel]]]
            up = 1 if there and not is_cut(layout, rows, at, layout.channel_link[channel]) else 0
            aged = tables.channel_aged[code, up]
            if aged == UNKNOWN:
                miss(notes, AGE_CHANNEL, code, up, 0)
                known = False
            targets[to, n + channel] = aged
    return known
