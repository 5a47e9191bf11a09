"""The scenes that have been judged: of many rows, those that show a new one are found fast."""

from typing import Any

import numpy as np
from numba import njit

from electorate.check.table.kernel import Layout, compiled, inlined, scene, word
from electorate.check.table.slot import rehash, slot_of

NO_NUMBERS = np.empty(0, np.int32)


@inlined
def scene_of(layout: Layout, sights: Any, rows: Any, at: Any) -> Any:
    """One word for all that claims go by."""
    total = scene(layout, sights, rows, at)
    if layout.memory >= 0:
        total ^= word(layout.memory, rows[at, layout.memory])
    return total


@compiled
def find_new(
    layout: Layout, sights: Any, rows: Any, first: Any, slots: Any, room: Any, found: Any
) -> Any:
    """Enter new scenes; how many rows were looked at, and how many of them were entered."""
    count = 0
    for place in range(first, rows.shape[0]):
        if count == room:
            return place, count
        key = scene_of(layout, sights, rows, place)
        slot = slot_of(slots, 0, key)
        if slots[0, slot] == np.uint64(0):
            slots[0, slot] = key
            found[count] = place
            count += 1
    return rows.shape[0], count


@njit(cache=True)
def scenes_of(layout: Layout, sights: Any, rows: Any) -> Any:
    """The scene of each row."""
    keys = np.empty(rows.shape[0], np.uint64)
    for place in range(rows.shape[0]):
        keys[place] = scene_of(layout, sights, rows, place)
    return keys


class Scenery:
    """A set of scenes."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._slots = np.zeros((1, 4096), np.uint64)
        self._size = 0

    def new_among(self, rows: np.ndarray[Any, Any], sights: np.ndarray[Any, Any]) -> list[int]:
        """The places of rows that show a scene which was not in the set; now it is."""
        places: list[int] = []
        first = 0
        while first < len(rows):
            room = self._slots.shape[1] // 2 - self._size
            if room < 1024:
                grown = np.zeros((1, 2 * self._slots.shape[1]), np.uint64)
                rehash(self._slots, NO_NUMBERS, grown, NO_NUMBERS, 0)
                self._slots = grown
                continue
            found = np.empty(room, np.int64)
            first, count = find_new(self._layout, sights, rows, first, self._slots, room, found)
            places += map(int, found[:count])
            self._size += count
        return places
