"""The compiled search step: from rows to their successors, each handed to its owner.

The fingerprint of a successor is worked out first, from that of its row; the successor itself is
written down only if it is new. All fingerprints of a row are known before the first is looked up,
and their slots are on the way from memory by then.
"""

from typing import Any, NamedTuple

import numpy as np

from electorate.check.compiler import AMPLE, BLOCKS, WAITS
from electorate.check.table.kernel import (
    CHANNEL,
    CUTS,
    FACTS,
    IS_SIMPLE,
    LIES,
    LINKS,
    MEMORY,
    NODE,
    NOTHING,
    SEVERED,
    STEP,
    UNKNOWN,
    VIEW,
    Layout,
    Notes,
    Tables,
    compiled,
    inlined,
    is_cut,
    key_of,
    look_up,
    miss,
    mix,
    observation,
    wide_key_of,
    word,
)
from electorate.check.table.move import apply, outgoing, tick, write_down
from electorate.check.table.rename import rename
from electorate.check.table.visited import first_slot, is_seen, prefetch

MISSES_PER_ROW = 256
"""So many misses of one row are noted at the most; the rest is found when it is done again."""

SUCCESSORS = 128
"""So many successors of a row are worked out before any is looked up."""

WRITTEN = -1
"""In place of an effect: the successor has been written down already."""

DONE, MISSING, FULL = 0, 1, 2

TRANSITIONS, SEEN_FACTS, LOOK_UPS, FIRST_CUT = 0, 1, 2, 3
"""What a tally counts: moves, facts seen, lists looked up, and cuts of three kinds."""


# --- which lists of effects apply to a row ---


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


# --- what they make of it ---


class Sink(NamedTuple):
    """Where successors go: one buffer for each owner of states, the rows one after another."""

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


class Scratch(NamedTuple):
    """The successors of one row, before they are offered."""

    rows: Any
    marks: Any
    effects: Any
    ticks: Any
    lists: Any
    tally: Any
    before: Any
    """How full the sink was before this row."""


@inlined
def difference(layout: Layout, mark: Any, rows: Any, at: Any, targets: Any, to: Any) -> Any:
    """The fingerprint of a row that has been written down, from that of its predecessor."""
    for column in range(layout.width):
        old, new = rows[at, column], targets[to, column]
        if old != new:
            mark ^= word(column, old) ^ word(column, new)
    return mark


@compiled
def look_back(
    layout: Layout, tables: Tables, rows: Any, at: Any, targets: Any, to: Any, notes: Notes
) -> Any:
    """Bring memories up to date and judge steps; says whether everything was known."""
    now = observation(layout, tables.sights, targets, to)
    known = True
    if layout.memory >= 0:
        key = mix(now) ^ word(layout.memory, rows[at, layout.memory])
        found = look_up(tables.memories, key)
        if found == NOTHING:
            place = miss(notes, MEMORY, key, 0, 0)
            if place >= 0:
                for column in range(layout.width):
                    notes.rows[place, column] = targets[to, column]
            known = False
        else:
            targets[to, layout.memory] = np.int32(found)
    if layout.steps and known:
        before = observation(layout, tables.sights, rows, at)
        key = mix(before) ^ now
        if before != now and look_up(tables.pairs, key) == NOTHING:
            place = miss(notes, STEP, key, at, 0)
            if place >= 0:
                for column in range(layout.width):
                    notes.rows[place, column] = targets[to, column]
            known = False
    return known


@inlined
def work_out(
    layout: Layout,
    tables: Tables,
    origin: Origin,
    at: Any,
    e: Any,
    scratch: Scratch,
    count: Any,
    notes: Notes,
) -> Any:
    """Work out a successor. 1: done, -1: something was missed, 0 and 2: a bound cuts it."""
    looks_back = layout.memory >= 0 or layout.steps
    if tables.effects[e, IS_SIMPLE] and not looks_back and not layout.families:
        delta, status = outgoing(layout, tables, e, origin.rows, at, notes)
        scratch.marks[count] = origin.marks[at] ^ tables.deltas[e] ^ delta
        scratch.effects[count] = e
        return status
    status = apply(layout, tables, e, origin.rows, at, scratch.rows, count, notes)
    if status == 1 and layout.families:
        status = rename(layout, tables, scratch.rows, count, notes)
    if status == 1 and looks_back:
        known = look_back(layout, tables, origin.rows, at, scratch.rows, count, notes)
        status = 1 if known else -1
    if status == 1:
        mark = origin.marks[at]
        scratch.marks[count] = difference(layout, mark, origin.rows, at, scratch.rows, count)
        scratch.effects[count] = WRITTEN
    return status


@inlined
def foresee(origin: Origin, mark: Any) -> None:
    """Have the slot of a fingerprint fetched from memory."""
    if not origin.keep_all:
        owner = owner_of(mark, origin.owners)
        slot = first_slot(origin.slots, mark)
        prefetch(origin.slots, owner * origin.slots.shape[1] + np.int64(slot))


@inlined
def owner_of(mark: Any, owners: Any) -> Any:
    """Which share of the states a fingerprint belongs to."""
    return np.int64(mark & np.uint64(0xFFF)) % owners


@inlined
def offer(
    layout: Layout,
    tables: Tables,
    origin: Origin,
    at: Any,
    scratch: Scratch,
    count: Any,
    sink: Sink,
    notes: Notes,
) -> Any:
    """Hand successors to their owners, unless they are known; says whether there was room."""
    for k in range(count):
        mark = scratch.marks[k]
        owner = owner_of(mark, origin.owners)
        if not origin.keep_all and is_seen(origin.slots, owner, mark):
            continue
        place = sink.filled[owner]
        if place >= sink.marks.shape[1]:
            return False
        to = owner * sink.marks.shape[1] + place
        if scratch.effects[k] == WRITTEN:
            for column in range(layout.width):
                sink.rows[to, column] = scratch.rows[k, column]
        else:
            effect = scratch.effects[k]
            write_down(layout, tables, effect, origin.rows, at, sink.rows, to, notes)
        sink.marks[owner, place] = mark
        sink.sources[owner, place] = origin.numbers[at]
        sink.ticks[owner, place] = scratch.ticks[k]
        sink.filled[owner] = place + 1
    return True


@inlined
def let_time_pass(
    layout: Layout,
    tables: Tables,
    origin: Origin,
    at: Any,
    scratch: Scratch,
    count: Any,
    notes: Notes,
) -> Any:
    """Work out the successor by a tick, and count it; says what `work_out` says."""
    if not tick(layout, tables, origin.rows, at, scratch.rows, count, notes):
        return -1
    # A tick makes no number larger, but a search may begin beyond a bound: --from normal.
    status = rename(layout, tables, scratch.rows, count, notes) if layout.families else 1
    if status == 1 and (layout.memory >= 0 or layout.steps):
        known = look_back(layout, tables, origin.rows, at, scratch.rows, count, notes)
        status = 1 if known else -1
    mark = origin.marks[at]
    scratch.marks[count] = difference(layout, mark, origin.rows, at, scratch.rows, count)
    scratch.effects[count] = WRITTEN
    scratch.ticks[count] = 1
    if status == 1:
        scratch.tally[TRANSITIONS] += 1
    elif status == 2:
        scratch.tally[FIRST_CUT + 1] += 1
    return status


@inlined
def count_in(tables: Tables, origin: Origin, e: Any, scratch: Scratch, count: Any) -> None:
    """Count a move that has been worked out, and get ready to look its end up."""
    scratch.tally[TRANSITIONS] += 1
    scratch.tally[SEEN_FACTS] |= tables.effects[e, FACTS]
    scratch.ticks[count] = 0
    foresee(origin, scratch.marks[count])


@inlined
def count_cut(layout: Layout, tally: Any, done: Any) -> None:
    """Count a move that a bound cuts; one that waits for room on a channel is none."""
    if done == 2:
        tally[FIRST_CUT + 1] += 1
    elif not layout.blocks:
        tally[FIRST_CUT + 2] += 1


@inlined
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
    lists, tally = scratch.lists, scratch.tally
    found, flags = gather(layout, tables, origin.rows, at, lists, notes)
    if found < 0:
        return MISSING
    tally[LOOK_UPS] = found
    status = DONE
    only_ample = layout.reduces and flags & AMPLE
    k, e, count = 0, start_of(lists[0]), 0
    while True:
        # Work out successors until all are, or no more can be kept.
        while k < found and count < SUCCESSORS - 1:
            last = end_of(lists[k])
            if e == last or (only_ample and not np.int64(lists[k]) & AMPLE):
                k += 1
                if k < found:
                    e = start_of(lists[k])
                elif only_ample and status == DONE and count == 0:
                    # A bound cuts all moves that would do alone.
                    only_ample = False
                    tally[FIRST_CUT + 2] = 0
                    k, e = 0, start_of(lists[0])
                continue
            if tables.effects[e, CUTS] >= 0:
                tally[FIRST_CUT + tables.effects[e, CUTS]] += 1
                e += 1
                continue
            done = work_out(layout, tables, origin, at, e, scratch, count, notes)
            if done < 0:
                status = MISSING
            elif done != 1:
                count_cut(layout, tally, done)
            else:
                count_in(tables, origin, e, scratch, count)
                count += 1
            e += 1
            if only_ample and count == 1:
                k = found
                tally[FIRST_CUT + 2] = 0
        is_last = k >= found
        if is_last and layout.bounded and not flags & BLOCKS:
            done = let_time_pass(layout, tables, origin, at, scratch, count, notes)
            if done < 0:
                status = MISSING
            elif done == 1:
                count += 1
        if status == DONE and not offer(layout, tables, origin, at, scratch, count, sink, notes):
            return FULL
        count = 0
        if is_last:
            return status


@compiled
def expand(
    layout: Layout,
    tables: Tables,
    origin: Origin,
    todo: Any,
    scratch: Scratch,
    sink: Sink,
    notes: Notes,
    redo: Any,
    totals: Any,
    was_cut: Any,
) -> Any:
    """Expand the rows `todo`; how many were looked at, and how many of those are to be redone."""
    tally, before = scratch.tally, scratch.before
    again = 0
    for position in range(todo.shape[0]):
        if notes.count[0] + MISSES_PER_ROW > notes.missed.shape[0]:
            return position, again
        at = todo[position]
        for owner in range(origin.owners):
            before[owner] = sink.filled[owner]
        for kind in range(tally.shape[0]):
            tally[kind] = 0
        status = expand_row(layout, tables, origin, at, scratch, sink, notes)
        if status == DONE:
            facts = totals[SEEN_FACTS] | tally[SEEN_FACTS]
            for kind in range(tally.shape[0]):
                totals[kind] += tally[kind]
            totals[SEEN_FACTS] = facts
            was_cut[at] = tally[FIRST_CUT] + tally[FIRST_CUT + 1] + tally[FIRST_CUT + 2] > 0
            continue
        for owner in range(origin.owners):
            sink.filled[owner] = before[owner]
        if status == FULL:
            return position, again
        redo[again] = at
        again += 1
    return todo.shape[0], again
