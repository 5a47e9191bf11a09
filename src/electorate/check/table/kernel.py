"""What all compiled code shares: the shape of the tables, hashing, and look-ups that may miss.

Everything that a protocol or the model decides stands in tables (check/table/tables.py). A look-up
that misses is noted and its row is done again later; a row counts only when nothing was missed.

Compiled code makes no arrays and counts no references: counting took most of its time, and made
threads wait for one another.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

_any_njit: Any = njit  # The option below is not in its signature.
inlined = _any_njit(cache=True, forceinline=True, _nrt=False)
compiled = _any_njit(cache=True, nogil=True, _nrt=False)

NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
"""No key, and no value."""
UNKNOWN = -1
CUT = np.uint64(1 << 32)
"""In place of a channel: it has no room."""

(
    CHANNEL,
    SEVERED,
    NODE,
    VIEW,
    LINKS,
    APPEND,
    NOTE,
    AGE_LOCAL,
    AGE_CHANNEL,
    AGE_WATCH,
    FIRST,
    STRIP,
    MEMORY,
    STEP,
    RENAME,
) = range(15)
"""The kinds of look-ups; the first five find lists of effects."""

CODE_BITS, BUDGET_BITS = 19, 10
CODES_MAX, BUDGETS_MAX, INDEXES_MAX = 1 << CODE_BITS, 1 << BUDGET_BITS, 1 << 12
WHERE = 2 * CODE_BITS + BUDGET_BITS
KIND = WHERE + 12
"""A key: 4 bits of kind, 12 of place, two codes, and a budget."""

LIES, RECOVERIES, HEALS = 1, 2, 4
"""What a budget may have left that moves of other kinds depend on."""


class Layout(NamedTuple):
    """What never changes during a search."""

    n: int
    channels: int
    width: int
    watch: int
    links: int
    """The column of the links that are cut, or -1."""
    memory: int
    """The column of what claims remember, or -1."""
    empty: int
    gone: int
    """A node that will never boot again."""
    blind: int
    uses_views: bool
    bounded: bool
    closed: bool
    dies: bool
    drops_mail: bool
    drops_saved: bool
    blocks: bool
    reduces: bool
    steps: bool
    """Whether claims about two rows are judged."""
    shows_mail: bool
    """Whether claims see messages on their way."""
    families: int
    """How many families of numbers are renamed; 0 if none is."""
    family_owner: Any
    """The place of the node whose numbers a family is, -1 if they are compared by size."""
    receiver: Any
    """For each channel, the place of its receiver."""
    column: Any
    """The column of the channel from a to b, at a * n + b; -1 if there is no link."""
    link: Any
    """The number of the link between a and b, at a * n + b."""
    channel_link: Any
    """For each channel, the number of its link."""
    ends: Any
    """The two ends of each link."""


class Tables(NamedTuple):
    """All tables, as arrays; replaced as a whole when one of them grows."""

    lists: Any
    """A hash table: for a key the packed place, length and flags of a list of effects."""
    appends: Any
    """A hash table: for a channel and messages the channel with them, or CUT; and for a node and
    those that are up, its first detector."""
    effects: Any
    deltas: Any
    """What each effect changes of a fingerprint, but for what it sends."""
    sends: Any
    local_up: Any
    local_aged: Any
    channel_aged: Any
    watch_aged: Any
    watch_stirs: Any
    """Whether a detector has anything to correct."""
    budget_left: Any
    """Whether a budget has LIES, RECOVERIES or HEALS left."""
    note: Any
    strip: Any
    sights: Any
    """What claims see of each node."""
    memories: Any
    """A hash table: for a memory and an observation the memory afterwards."""
    pairs: Any
    """A hash table of pairs of observations that have been judged."""
    local_numbers: Any
    """The numbers of each family that a node holds, as bits."""
    local_counts: Any
    """Whether a node may ever make another number."""
    local_far: Any
    """Whether a node holds a number beyond the bound."""
    channel_numbers: Any
    renames: Any
    """A hash table: for a part, and what is renamed in its row, the part with its new numbers."""


class Notes(NamedTuple):
    """Look-ups that failed, how many there are, and the rows they were for where that matters."""

    missed: Any
    count: Any
    rows: Any


# Columns of the effect table.
(
    COLUMN,
    CODE,
    PLACE,
    LOCAL,
    SEND_FROM,
    SEND_TO,
    DOWN,
    BUDGET,
    REVIVES,
    LINK,
    IS_SIMPLE,
    FACTS,
    CUTS,
) = range(13)
EFFECT_WIDTH = 13


@inlined
def mix(value: Any) -> Any:
    """Scatter the bits of a word (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@inlined
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


@njit(cache=True)
def fingerprints(rows: Any) -> Any:
    """The fingerprint of each row."""
    marks = np.empty(rows.shape[0], np.uint64)
    for place in range(rows.shape[0]):
        marks[place] = fingerprint(rows[place])
    return marks


@inlined
def observation(layout: Layout, sights: Any, rows: Any, at: Any) -> Any:
    """One word for what claims see of a row, memories apart."""
    total = np.uint64(0)
    for place in range(layout.n):
        total ^= word(place, sights[rows[at, place]])
    if layout.links >= 0:
        total ^= word(layout.links, rows[at, layout.links])
    if layout.shows_mail:
        for column in range(layout.n, layout.n + layout.channels):
            total ^= word(column, rows[at, column])
    return total


@inlined
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


@inlined
def key_of(kind: Any, where: Any, first: Any, second: Any, budget: Any) -> Any:
    """Five numbers in one word."""
    return (
        (np.uint64(kind) << np.uint64(KIND))
        | (np.uint64(where) << np.uint64(WHERE))
        | (np.uint64(first) << np.uint64(CODE_BITS + BUDGET_BITS))
        | (np.uint64(second) << np.uint64(BUDGET_BITS))
        | np.uint64(budget)
    )


@inlined
def wide_key_of(kind: Any, where: Any, bits: Any) -> Any:
    """A key with a number that is as long as two codes."""
    high = np.uint64(bits) >> np.uint64(CODE_BITS)
    return key_of(kind, where, high, np.uint64(bits) & np.uint64(CODES_MAX - 1), 0)


@inlined
def miss(notes: Notes, kind: Any, first: Any, second: Any, third: Any) -> Any:
    """Note a look-up that failed, while there is room for it; where it stands, or -1."""
    at = notes.count[0]
    if at >= notes.missed.shape[0]:
        return np.int64(-1)
    notes.missed[at, 0] = kind
    notes.missed[at, 1] = np.int64(first)
    notes.missed[at, 2] = second
    notes.missed[at, 3] = third
    notes.count[0] = at + 1
    return np.int64(at)


@inlined
def is_cut(layout: Layout, rows: Any, at: Any, link: Any) -> Any:
    """Whether a link has been cut."""
    return layout.links >= 0 and (rows[at, layout.links] >> link) & 1 == 1
